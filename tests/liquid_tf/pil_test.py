"""Pillow opens, looks at and saves L3 files."""

import io
import os
import signal
from collections.abc import Callable

import numpy as np
import photos
import runs
import tensorflow as tf
from absl.testing import absltest, parameterized
from PIL import Image, UnidentifiedImageError

from liquid_tf import codecs, pil


def _pixels(channels: int, dtype=np.uint8) -> np.ndarray:
  random = np.random.default_rng(channels)
  top = np.iinfo(dtype).max
  return random.integers(0, top, (70, 91, channels), dtype, endpoint=True)


def _image(pixels: np.ndarray) -> Image.Image:
  return Image.fromarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels)


def _forked(work: Callable[[], bool]) -> int:
  """Exit status of a forked child that does some work; 0 where it returned True."""
  child = os.fork()
  if child == 0:
    signal.alarm(60)  # ends a child that waits for threads that it has not
    os._exit(0 if work() else 1)
  return os.waitpid(child, 0)[1]


def _decode_in_child_alone(path: str) -> int:
  tf.zeros([2]).numpy()  # TensorFlow starts its threads.

  def decode() -> bool:
    with Image.open(path) as image:
      return not np.asarray(image).any()

  return _forked(decode)


class PillowTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.root = self.create_tempdir().full_path

  def _file(self, contents: bytes) -> str:
    path = os.path.join(self.root, "x.l3")
    with open(path, "wb") as file:
      file.write(contents)
    return path

  @parameterized.parameters((1, "L"), (2, "LA"), (3, "RGB"), (4, "RGBA"))
  def test_opens_every_mode(self, channels, mode):
    pixels = _pixels(channels)
    with Image.open(self._file(codecs.encode_l3(pixels).numpy())) as image:
      self.assertIsInstance(image, pil.L3ImageFile)
      self.assertEqual(image.format, "L3")
      self.assertEqual(image.mode, mode)
      self.assertEqual(image.size, (91, 70))
      np.testing.assert_array_equal(np.asarray(image), np.asarray(_image(pixels)))

  def test_opens_version_one(self):
    pixels = photos.photo("chelsea")
    contents = codecs.encode_l3(pixels, version=1, patch=64).numpy()
    with Image.open(io.BytesIO(contents)) as image:
      self.assertEqual(image.info, {"version": 1, "patch": 64, "bits": 8})
      np.testing.assert_array_equal(np.asarray(image), pixels)

  def test_saves_the_compact_profile(self):
    pixels = photos.photo("chelsea")
    sizes = {}
    for profile in ("fast", "compact"):
      file = io.BytesIO()
      _image(pixels).save(file, "L3", profile=profile, effort="best")
      with Image.open(file) as image:
        self.assertEqual(image.info["profile"], profile)
        np.testing.assert_array_equal(np.asarray(image), pixels)
      sizes[profile] = len(file.getvalue())
    self.assertLess(sizes["compact"], 0.95 * sizes["fast"])

  def test_sixteen_bits(self):
    gray = _pixels(1, np.uint16)
    with Image.open(self._file(codecs.encode_l3(gray).numpy())) as image:
      self.assertEqual(image.mode, "I;16")
      np.testing.assert_array_equal(np.asarray(image), gray[..., 0])
    colour = _pixels(3, np.uint16)
    with Image.open(self._file(codecs.encode_l3(colour).numpy())) as image:
      self.assertEqual(image.info["bits"], 16)
      np.testing.assert_array_equal(np.asarray(image), colour >> 8)

  @parameterized.parameters(
    (1, np.uint8), (2, np.uint8), (3, np.uint8), (4, np.uint8), (1, np.uint16)
  )
  def test_saves_what_it_opens(self, channels, dtype):
    pixels = _pixels(channels, dtype)
    path = os.path.join(self.root, "saved.l3")
    _image(pixels).save(path)
    with open(path, "rb") as file:
      contents = file.read()
    np.testing.assert_array_equal(codecs.decode(contents, dtype=dtype), pixels)
    with Image.open(path) as image:
      np.testing.assert_array_equal(np.asarray(image), np.asarray(_image(pixels)))

  def test_saves_version_one(self):
    pixels = _pixels(3)
    path = os.path.join(self.root, "saved.l3")
    _image(pixels).save(path, version=1, patch=16)
    with Image.open(path) as image:
      self.assertEqual(image.info, {"version": 1, "patch": 16, "bits": 8})
      np.testing.assert_array_equal(np.asarray(image), pixels)

  def test_decodes_only_when_pixels_are_wanted(self):
    contents = bytearray(codecs.encode_l3(_pixels(3)).numpy())
    contents[-1] ^= 0xFF
    with Image.open(self._file(bytes(contents))) as image:
      self.assertEqual(image.size, (91, 70))
      with self.assertRaisesRegex(OSError, "l3"):
        image.load()

  def test_works_with_the_rest_of_pillow(self):
    pixels = photos.photo("astronaut")
    with Image.open(self._file(codecs.encode_l3(pixels).numpy())) as image:
      np.testing.assert_array_equal(
        np.asarray(image.crop((10, 20, 110, 90))), pixels[20:90, 10:110]
      )
      image.thumbnail((64, 64))
      self.assertEqual(image.size, (64, 64))

  def test_damage_and_modes_that_do_not_fit(self):
    contents = codecs.encode_l3(_pixels(3)).numpy()
    for cut in (2, 5, 12):
      with self.assertRaises(UnidentifiedImageError):
        Image.open(io.BytesIO(contents[:cut]))
    with self.assertRaisesRegex(OSError, r"mode \(P\) must be one of"):
      _image(_pixels(3)).convert("P").save(os.path.join(self.root, "p.l3"))
    with self.assertRaisesRegex(OSError, "channels"):
      _image(_pixels(4)).save(os.path.join(self.root, "a.l3"), version=1)

  def test_a_forked_process_decodes_a_large_image(self):
    pixels = np.tile(photos.photo("chelsea"), (7, 7, 1))[:2000, :3000]
    contents = codecs.encode_l3(pixels).numpy()

    def decode() -> bool:
      with Image.open(io.BytesIO(contents)) as image:
        one = np.array_equal(np.asarray(image), pixels)
      both = codecs.decode_batch([contents, contents]).numpy()
      return one and all(np.array_equal(image, pixels) for image in both)

    # So that this process has its threads.
    self.assertTrue(decode())
    self.assertEqual(_forked(decode), 0)

  def test_a_forked_process_loads_the_library_by_itself(self):
    path = self._file(codecs.encode_l3(np.zeros([2000, 300, 3], np.uint8)).numpy())
    status, _ = runs.in_new_process(_decode_in_child_alone, path=path)
    self.assertEqual(status, 0)


if __name__ == "__main__":
  absltest.main()
