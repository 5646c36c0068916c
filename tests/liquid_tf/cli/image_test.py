"""`liquid-tf image`: any format to any other, L3 above all."""

import json
import pathlib

import commands
import numpy as np
from absl.testing import absltest
from PIL import Image

from liquid_tf import codecs


def _convert(*arguments: str) -> commands.Done:
  return commands.run("image", *arguments)


class ConvertImageTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.root = pathlib.Path(self.create_tempdir().full_path)
    random = np.random.default_rng(0)
    self.pixels = random.integers(0, 256, (45, 67, 3), np.uint8)
    self.png = self.root / "x.png"
    Image.fromarray(self.pixels).save(self.png)

  def _run(self, source: pathlib.Path, output: str, *more: str) -> dict:
    done = _convert(
      f"--input={source}", f"--output={self.root / output}", "--json", *more
    )
    self.assertEqual(done.returncode, 0, done.stderr)
    return json.loads(done.stdout)

  def test_to_l3_and_back(self):
    report = self._run(self.png, "x.l3")
    contents = (self.root / "x.l3").read_bytes()
    np.testing.assert_array_equal(codecs.decode(contents), self.pixels)
    self.assertEqual(report["format"], "l3")
    self.assertEqual(report["shape"], [45, 67, 3])
    self.assertEqual(report["bytes"], len(contents))
    self.assertEqual(report["pixel_bytes"], 45 * 67 * 3)
    self._run(self.root / "x.l3", "y.PNG")
    with Image.open(self.root / "y.PNG") as image:
      np.testing.assert_array_equal(np.asarray(image), self.pixels)

  def test_an_orientation_that_has_no_room(self):
    exif = Image.Exif()
    exif[274] = 6
    source = self.root / "turned.jpg"
    Image.fromarray(self.pixels).save(source, exif=exif)
    done = _convert(f"--input={source}", f"--output={self.root / 'x.bmp'}")
    self.assertEqual(done.returncode, 0, done.stderr)
    self.assertIn("bmp has no room for the EXIF orientation of", done.stderr)
    with Image.open(self.root / "x.bmp") as image:
      self.assertEqual(image.size, (67, 45))

  def test_version_and_patch(self):
    self._run(self.png, "x.l3", "--l3_version=1", "--l3_patch=16")
    info = codecs.peek_l3((self.root / "x.l3").read_bytes())
    self.assertEqual((int(info.version), int(info.patch)), (1, 16))
    # From L3 to L3 the version still counts.
    self._run(self.root / "x.l3", "z.l3")
    contents = (self.root / "z.l3").read_bytes()
    info = codecs.peek_l3(contents)
    self.assertEqual((int(info.version), int(info.patch)), (2, 64))
    np.testing.assert_array_equal(codecs.decode(contents), self.pixels)

  def test_sixteen_bits(self):
    pixels = np.arange(45 * 67, dtype=np.uint16).reshape(45, 67, 1) * 21
    deep = self.root / "deep.png"
    deep.write_bytes(codecs.encode(pixels, "png").numpy())
    self.assertEqual(self._run(deep, "deep.l3")["bits"], 16)
    contents = (self.root / "deep.l3").read_bytes()
    np.testing.assert_array_equal(codecs.decode(contents, dtype="uint16"), pixels)

  def test_convert_names_this_command(self):
    output = self.root / "x.l3"
    done = commands.run("convert", f"--input={self.png}", f"--output={output}")
    self.assertEqual(done.returncode, 2)
    self.assertIn("is one image: `liquid-tf image` converts it", done.stderr)

  def test_does_not_replace_unasked(self):
    output = self.root / "x.l3"
    output.write_text("precious")
    done = _convert(f"--input={self.png}", f"--output={output}")
    self.assertEqual(done.returncode, 1)
    self.assertIn("--existing=replace", done.stderr)
    self.assertEqual(output.read_text(), "precious")
    self._run(self.png, "x.l3", "--existing=replace")
    np.testing.assert_array_equal(codecs.decode(output.read_bytes()), self.pixels)

  def test_says_what_is_wrong(self):
    bad = self.root / "bad.png"
    bad.write_text("no image")
    empty = self.root / "empty.png"
    empty.touch()
    alpha = self.root / "alpha.png"
    Image.fromarray(self.pixels).convert("RGBA").save(alpha)
    for source, output, flags, code, message in (
      (self.png, "x.gif", [], 2, "must end with one of"),
      (self.png, "x.l3", ["--mix=png:1"], 2, "--mix is a flag of `liquid-tf convert`"),
      (self.png, "x.l3", ["--l3_version=3"], 2, "--l3_version (3) must be 1 or 2"),
      (self.png, "x.l3", ["--l3_patch=-1"], 1, "patch"),
      (bad, "x.l3", [], 1, "no raw, png"),
      (empty, "x.l3", [], 1, "cannot be stored as l3: the file is empty"),
      (self.root / "no.png", "x.l3", [], 2, "no.png) does not exist"),
      (self.png, "no/x.l3", [], 1, "is of a folder that does not exist"),
      (alpha, "x.l3", ["--l3_version=1"], 1, "channels (4) must"),
      (self.root, "x.l3", [], 2, "is a folder: `liquid-tf convert` makes a dataset"),
    ):
      done = _convert(f"--input={source}", f"--output={self.root / output}", *flags)
      self.assertEqual(done.returncode, code, done.stderr)
      self.assertIn(message, done.stderr)
      self.assertNotIn("Traceback", done.stderr)
      self.assertFalse((self.root / output).exists())


if __name__ == "__main__":
  absltest.main()
