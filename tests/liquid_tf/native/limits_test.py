"""Images that cost more than they are worth are refused before they cost it."""

import os
import pathlib
import resource
import struct

import numpy as np
import photos
import stored
import tensorflow as tf
from PIL import Image

import liquid_tf
from liquid_tf import codecs, transforms
from liquid_tf._convert.convert import convert
from liquid_tf._view import inspection
from liquid_tf.errors import ConvertError


def _scans(path: str, count: int) -> bytes:
  """Makes the second scan of a gray progressive JPEG stand there so often."""
  photos.save(path, photos.photo("camera")[:64, :64], progressive=True)
  file = pathlib.Path(path).read_bytes()
  starts = [i for i in range(len(file)) if file[i : i + 2] == b"\xff\xda"]
  begin, end = (file.index(b"\xff\xc4", start) for start in starts[:2])
  file = file[:end] + file[begin:end] * (count - len(starts)) + file[end:]
  pathlib.Path(path).write_bytes(file)
  return file


def _webp(path: str, side: int) -> bytes:
  """A WebP without pixels that states a size."""
  head = (side - 1) | (side - 1) << 14
  data = b"\x2f" + struct.pack("<I", head) + b"\0" * 9
  chunk = b"WEBPVP8L" + struct.pack("<I", len(data)) + data
  file = b"RIFF" + struct.pack("<I", len(chunk)) + chunk
  pathlib.Path(path).write_bytes(file)
  return file


class LimitsTest(tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self.root = self.create_tempdir().full_path
    self.source = os.path.join(self.root, "source")
    self.output = os.path.join(self.root, "dataset")
    os.makedirs(f"{self.source}/a")
    for i in range(3):
      photos.save(f"{self.source}/a/{i}.jpg", photos.photo("camera")[:64, i : i + 64])

  def _convert(self, mix="jpeg", **options):
    return convert(self.source, self.output, mix, progress=False, **options)

  def test_values_and_types_are_checked(self):
    self.assertEqual(codecs.Limits(), codecs.Limits(pixels=1 << 28, scans=100))
    self.assertEqual(codecs.Limits(np.int64(5)).pixels, 5)
    for options, message in (
      ({"pixels": 0}, r"limits: pixels \(0\) must be a number of at least 1"),
      ({"scans": 1.5}, r"limits: scans \(1.5\) must be"),
    ):
      with self.assertRaisesRegex(ValueError, message):
        codecs.Limits(**options)
    with self.assertRaisesRegex(
      ValueError, r"limits \(7\) must be a liquid_tf.codecs.Limits"
    ):
      self._convert(limits=7)
    self._convert()
    with self.assertRaisesRegex(
      ValueError, r"limits \(7\) must be a liquid_tf.codecs.Limits"
    ):
      liquid_tf.dataset(self.output, limits=7)

  def test_scans(self):
    file = _scans(f"{self.source}/a/scans.jpg", 150)
    reason = "jpeg: 150 scans are over the limit of 100: raise it with limits=Limits"
    for call in (codecs.peek, codecs.decode):
      with self.assertRaisesRegex(tf.errors.ResourceExhaustedError, reason):
        call(file)
    many = codecs.Limits(scans=150)
    self.assertAllEqual(codecs.peek(file, limits=many).shape, [64, 64, 1])

    report = self._convert(on_error="skip:100%")
    self.assertEqual(report.samples, 3)
    self.assertEqual([one["path"] for one in report.skipped], ["a/scans.jpg"])
    self.assertStartsWith(report.skipped[0]["reason"], reason)
    with self.assertRaisesRegex(
      ConvertError, f"1 cannot be read, as a/scans.jpg: {reason}"
    ):
      self._convert(existing="replace")

    report = stored.sound(self._convert(existing="replace", limits=many), limits=many)
    self.assertEqual(report.samples, 4)
    self.assertRegex(inspection.verify(self.output)["problems"][0], reason)
    self.assertEqual(inspection.verify(self.output, limits=many)["problems"], [])
    options = {"batch_size": 2, "features": ["id", "image"]}
    with self.assertRaisesRegex(
      tf.errors.OpError, rf"jpeg-.*\(sample 3, offset [0-9]+\).*{reason}"
    ):
      list(liquid_tf.dataset(self.output, **options))
    with self.assertRaisesRegex(tf.errors.OpError, reason):
      list(
        liquid_tf.dataset(self.output, transforms=[transforms.RandomCrop(8)], **options)
      )
    ds = liquid_tf.dataset(self.output, on_error="skip", **options)
    ids = [sample for batch in ds for sample in batch["id"].numpy()]
    self.assertCountEqual(ids, [0, 1, 2])
    ds = liquid_tf.dataset(self.output, limits=many, **options)
    self.assertEqual(sum(len(batch["id"]) for batch in ds), 4)

  def test_scans_of_a_pcr_and_of_what_becomes_one(self):
    _scans(f"{self.source}/a/scans.jpg", 150)
    self.assertEqual(self._convert("pcr", on_error="skip:100%").samples, 3)
    report = stored.sound(
      self._convert("pcr", existing="replace", limits=codecs.Limits(scans=150)),
      limits=codecs.Limits(scans=150),
    )
    self.assertEqual(report.samples, 4)
    # The transform has given it the usual ten scans.
    self.assertLen(list(liquid_tf.dataset(self.output, 1)), 4)
    with self.assertRaisesRegex(tf.errors.OpError, "6 scans are over the limit of 5"):
      list(liquid_tf.dataset(self.output, 1, limits=codecs.Limits(scans=5)))

  def test_pixels(self):
    for i in range(4):
      _webp(f"{self.source}/a/{i}.webp", 1 << 13)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    report = self._convert(
      "png", limits=codecs.Limits(pixels=1 << 20), on_error="skip:100%"
    )
    self.assertEqual(report.samples, 3)
    self.assertLen(report.skipped, 4)
    reason = (
      "webp: 8192 x 8192 pixels are over the limit of 1048576: raise it with "
      "limits=Limits(pixels=N)"
    )
    self.assertEqual([one["reason"] for one in report.skipped], [reason] * 4)
    # In KiB; the four would take 768 MiB.
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    self.assertLess(after - before, 300 << 10)

  def test_other_limits_do_not_go_on_with_a_conversion(self):
    self._convert()
    with Image.open(f"{self.source}/a/0.jpg") as image:
      self.assertEqual(image.size, (64, 64))
    with self.assertRaisesRegex(ConvertError, "3 of 3 samples cannot be stored"):
      self._convert(existing="replace", limits=codecs.Limits(pixels=4095))
    with self.assertRaisesRegex(ConvertError, r"limits .*4096.* was .*4095"):
      self._convert(existing="resume", limits=codecs.Limits(pixels=4096))


if __name__ == "__main__":
  tf.test.main()
