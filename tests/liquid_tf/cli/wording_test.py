"""Messages of the package in the words of a command line."""

from absl.testing import absltest, parameterized

from liquid_tf.cli import wording

_KNOWN = (
  "bits",
  "channels",
  "existing",
  "image_size",
  "input",
  "jpeg_quality",
  "max_pixels",
  "max_skipped",
  "mix",
  "output",
  "seed",
)


class WordingTest(parameterized.TestCase):
  @parameterized.parameters(
    ("seed (-1) must be whole", "--seed (-1) must be whole"),
    ("Channels (7) must be 1", "--channels (7) must be 1"),
    ("mix: format (x) is none", "--mix: format (x) is none"),
    ('encoders["jpeg"]["quality"] (0) is', "--jpeg_quality (0) is"),
    ('source ("") must', '--input ("") must'),
    ("workers (0) must", "workers (0) must"),
    ('"/data/output (1)" is full', '"/data/output (1)" is full'),
  )
  def test_arguments(self, text, wanted):
    self.assertEqual(wording.argument(text, _KNOWN), wanted)

  @parameterized.parameters(
    ('again with existing="resume"', "again with --existing=resume"),
    ('transforms=[Channels(N), Bits("skip")]', "--channels=N --bits=skip"),
    ('on_error="skip:1.5%"', "--on_error=skip --max_skipped=1.5%"),
    ("limits=Limits(pixels=N)", "--max_pixels=N"),
    ("a mix (of formats)", "a mix (of formats)"),
    ('decode="none"', 'decode="none"'),
    (
      "images differ in size: transforms must have a crop, Resize((height, width)), "
      "Pad, or Ragged() for batches of unequal images",
      "images differ in size: give --crop=HEIGHT,WIDTH or --image_size=HEIGHT,WIDTH",
    ),
    ("workers=[…] needs", "workers=[…] needs"),
  )
  def test_advice(self, text, wanted):
    self.assertEqual(wording.advice(text, _KNOWN), wanted)


if __name__ == "__main__":
  absltest.main()
