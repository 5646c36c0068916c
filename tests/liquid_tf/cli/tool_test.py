"""Messages of the package in the words of a command line."""

import pathlib
import pickle

from absl.testing import absltest, parameterized

from liquid_tf import _words
from liquid_tf._words import Shown, argument, said, setting
from liquid_tf.cli import tool
from liquid_tf.errors import WrongArgument

_KNOWN = frozenset(
  (
    "bits",
    "channels",
    "existing",
    "image_size",
    "input",
    "jpeg_quality",
    "lossy_masks",
    "max_pixels",
    "max_skipped",
    "mix",
    "on_error",
    "seed",
    "split",
  )
)


class WordsTest(parameterized.TestCase):
  @parameterized.parameters(
    (("seed", -1, "must be whole"), "seed (-1) must be whole", "--seed (-1) must be"),
    (("Channels", 7, "must be 1"), "Channels (7) must be 1", "--channels (7) must"),
    (("mix: format", "x", "is"), 'mix: format ("x") is', '--mix: format ("x") is'),
    (("split", "x", ": is"), 'split ("x"): is', '--split ("x"): is'),
    (("source", "", "must"), 'source ("") must', '--input ("") must'),
    (("step", 0, "must"), "step (0) must", "--seed (0) must"),
    (("workers", 0, "must"), "workers (0) must", "workers (0) must"),
    (("path", Shown("/a"), "must"), "path (/a) must", "path (/a) must"),
    (
      ('encoders["jpeg"]["quality"]', 0, "is"),
      'encoders["jpeg"]["quality"] (0) is',
      "--jpeg_quality (0) is",
    ),
  )
  def test_a_wrong_argument(self, given, python, command):
    error = WrongArgument(*given)
    self.assertIsInstance(error, ValueError)
    self.assertEqual(str(error), python)
    with _words.worded(tool.Words(_KNOWN, {"step": "seed"})):
      self.assertStartsWith(str(error), command)
    self.assertEqual(str(pickle.loads(pickle.dumps(error))), python)

  @parameterized.parameters(
    ('existing="resume"', "--existing=resume"),
    ("lossy_masks=True", "--lossy_masks"),
    ('transforms=[Channels(N), Bits("skip")]', "--channels=N --bits=skip"),
    ('on_error="skip"', "--on_error=skip"),
    ('on_error="skip:1.5%"', "--on_error=skip --max_skipped=1.5%"),
    ("limits=Limits(pixels=N)", "--max_pixels=N"),
    ("limits=Limits(scans=N)", "limits=Limits(scans=N)"),
    ('decode="gpu"', 'decode="gpu"'),
    (
      "transforms must have a crop, Resize((height, width)), Pad, or Ragged() for "
      "batches of unequal images",
      "give --crop=HEIGHT,WIDTH or --image_size=HEIGHT,WIDTH",
    ),
    ("workers=[…]", "workers=[…]"),
  )
  def test_advice(self, python, command):
    self.assertEqual(said(python), python)
    with _words.worded(tool.Words(_KNOWN, {})):
      self.assertEqual(said(python), command)
    with _words.worded(_words.marked):
      text = f"give {said(python)} or not"
    self.assertEqual(_words.reworded(text), f"give {python} or not")
    words = pickle.loads(pickle.dumps(tool.Words(_KNOWN, {})))
    with _words.worded(words):
      self.assertEqual(_words.reworded(text), f"give {command} or not")

  def test_values(self):
    self.assertEqual(setting("existing", "resume"), 'existing="resume"')
    self.assertEqual(argument("output", pathlib.Path("/a")), 'output ("/a")')


if __name__ == "__main__":
  absltest.main()
