"""What a dry run says is what the conversion makes."""

import os
import pathlib
from unittest import mock

import numpy as np
import photos
from absl.testing import absltest, parameterized

from liquid_tf._convert import dry_run
from liquid_tf._convert.convert import convert
from liquid_tf._convert.source import Source
from liquid_tf._store import manifest
from liquid_tf.errors import ConvertError

_QUICK = {"progress": False, "workers": 2}
_NAMES = photos.COLOUR


def _make(root: str, count: int, seed: int) -> None:
  """Makes photographs of many sizes: JPEG of some qualities, and PNG."""
  random = np.random.default_rng(seed)
  pixels = [photos.photo(name) for name in _NAMES]
  for i in range(count):
    sides = tuple(random.integers(16, 96, 2).tolist())
    image = photos.crop(pixels[random.integers(len(pixels))], sides, random)
    path = f"{root}/{_NAMES[i % len(_NAMES)]}/{i:05}"
    if random.random() < 0.3:
      photos.save(f"{path}.png", image)
    else:
      quality = int(random.integers(60, 98))
      photos.save(f"{path}.jpg", image, quality=quality)


class DryRunTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.root = self.create_tempdir().full_path
    self.source, self.output = f"{self.root}/source", f"{self.root}/dataset"
    # However busy the machine is.
    self.enter_context(mock.patch.object(dry_run, "_SECONDS", 1e6))

  def _look(self, mix, source=None, **options):
    source = source or self.source
    return convert(source, self.output, mix, dry_run=True, **_QUICK, **options)

  def test_bytes_of_copies_are_exact(self):
    photos.class_folders(self.source, per_class=9, sides=(24, 32), extension="jpg")
    before = photos.tree(self.root)
    options = {"splits": "train:.9,val:.1", "encoders": {"jpeg": {"index": "none"}}}
    with mock.patch.object(dry_run, "_IMAGES", 20):
      found = self._look("jpeg", **options)
      indexed = self._look("jpeg")
    self.assertEqual(photos.tree(self.root), before)
    self.assertEqual(found.checked, 20)
    made = convert(self.source, self.output, "jpeg", **options, **_QUICK)
    # Of the entry points alone it is an estimate.
    other = convert(self.source, f"{self.root}/other", "jpeg", **_QUICK)
    self.assertGreater(other.jpeg_index["bytes"], 0)
    self.assertBetween(
      indexed.total.high - indexed.total.low, 1, other.jpeg_index["bytes"]
    )
    self.assertBetween(
      other.formats["jpeg"]["bytes"], indexed.total.low, indexed.total.high
    )
    size = made.formats["jpeg"]["bytes"]
    exact = dry_run.Estimate(made.samples, size, size, size)
    self.assertEqual((found.formats, found.total), ({"jpeg": exact}, exact))
    self.assertEqual((found.splits, found.classes), (made.splits, made.classes))
    self.assertEqual((found.bad, found.skipped), ([], []))
    self.assertEqual(found.kinds, {"3 channels, 8 bits": 20})
    self.assertGreater(found.seconds, 0)

  def test_bytes_of_all_images_are_exact(self):
    _make(self.source, 12, 1)
    mix = "png:1,l3:1,pcr:1"
    found = self._look(mix, replicate=True)
    made = convert(self.source, self.output, mix, replicate=True, **_QUICK)
    for name, one in found.formats.items():
      size = made.formats[name]["bytes"]
      self.assertEqual((one.samples, one.low, one.high), (12, size, size))
    sizes = [entry["bytes"] for entry in made.formats.values()]
    self.assertEqual((found.total.samples, found.total.bytes), (36, sum(sizes)))

  def test_bad_files_of_the_sample_are_named(self):
    _make(self.source, 12, 1)
    path = pathlib.Path(self.source, "notes.txt")
    path.write_bytes(b"no image")
    [file, *_] = sorted(pathlib.Path(self.source).rglob("*.jpg"))
    file.write_bytes(file.read_bytes()[:-20])
    found = self._look("png")
    self.assertEqual((found.samples, found.checked, found.bad_count), (12, 12, 1))
    [bad] = found.bad
    self.assertEqual(bad["path"], str(file.relative_to(self.source)))
    self.assertEqual([one["path"] for one in found.skipped], ["notes.txt"])
    self.assertEqual(found.formats["png"].samples, 11)

  def test_headers_alone_tell_formats(self):
    _make(self.source, 12, 1)
    found = self._look("png:1,jpeg:9", check="headers")
    made = convert(self.source, self.output, "png:1,jpeg:9", check="headers", **_QUICK)
    for name, entry in made.formats.items():
      self.assertEqual(found.formats[name].samples, entry["samples"])
      self.assertEqual(found.formats[name].bytes, entry["bytes"])
    found = self._look("jpeg", check="headers")
    self.assertEqual(found.bad_count, made.formats["png"]["samples"])
    self.assertIn("is in the format png", found.bad[0]["reason"])

  def test_an_output_that_is_there_stays(self):
    _make(self.source, 6, 1)
    convert(self.source, self.output, "png", **_QUICK)
    before = photos.files(self.output)
    self.assertEqual(self._look("jpeg:1,webp:1", existing="replace").samples, 6)
    self.assertEqual(photos.files(self.output), before)
    # Of another dataset, a copy is not decoded.
    other = convert(self.output, f"{self.root}/other", "png", dry_run=True, **_QUICK)
    size = manifest.load(self.output)["formats"]["png"]["bytes"]
    self.assertEqual((other.total.bytes, other.total.high), (size, size))

  def test_what_cannot_be_looked_at_says_so(self):
    item = {"image": np.zeros((8, 8, 3), np.uint8)}
    source = Source.from_iterable(lambda: iter([item]))
    with self.assertRaisesRegex(ValueError, r"dry_run \(True\) must be False"):
      self._look("png", source)
    photos.save(f"{self.source}/a/1.png", np.zeros((8, 8, 3), np.uint8))
    file = pathlib.Path(self.source, "a/1.png")
    file.write_bytes(file.read_bytes()[:40])
    with self.assertRaisesRegex(ConvertError, "none of 1 samples of .*a/1.png"):
      self._look("png")

  def test_intervals_hold(self):
    """They hold 95 % of the time; at night in many sets."""
    sets = int(os.environ.get("LIQUID_TEST_SETS", "1"))
    count, wanted = (600, 200) if sets > 1 else (90, 40)
    self.enter_context(mock.patch.object(dry_run, "_IMAGES", wanted))
    held = 0
    for seed in range(sets):
      source, output = f"{self.root}/source{seed}", f"{self.root}/dataset{seed}"
      _make(source, count, seed)
      options = {"mix": "jpeg:1,l3:1,png:2", "seed": seed} | _QUICK
      found = convert(source, output, dry_run=True, **options)
      made = convert(source, output, **options)
      size = sum(entry["bytes"] for entry in made.formats.values())
      self.assertEqual(found.checked, wanted)
      self.assertBetween(found.total.high - found.total.low, 1, size // 3)
      held += found.total.low <= size <= found.total.high
    self.assertGreaterEqual(held, sets - sets // 10)


if __name__ == "__main__":
  absltest.main()
