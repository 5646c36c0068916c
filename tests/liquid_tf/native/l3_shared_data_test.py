"""Other people's images through L3, where this machine has them: every pixel."""

import os
import pathlib

import numpy as np
import photos
import tensorflow as tf
from PIL import Image

from liquid_tf import codecs

_EXTENSIONS = (".png", ".bmp", ".webp", ".ppm", ".pgm", ".pnm", ".tif", ".tiff")
_MAX_PIXELS = 1 << 25
_WINDOWS = 200


def _bits_of_png(contents: bytes) -> int:
  return contents[24] if contents[:4] == b"\x89PNG" and len(contents) > 24 else 8


def _pixels(path: pathlib.Path) -> np.ndarray | None:
  """What TensorFlow, or else Pillow, sees in a file that loses nothing; or None."""
  contents = path.read_bytes()
  try:
    with Image.open(path) as image:
      if image.width * image.height > _MAX_PIXELS or image.format == "JPEG":
        return None
      if image.format == "PNG":
        if getattr(image, "is_animated", False):
          return None
        dtype = tf.uint16 if _bits_of_png(contents) == 16 else tf.uint8
        return tf.io.decode_png(contents, dtype=dtype).numpy()
      if image.mode not in ("L", "LA", "RGB", "RGBA"):
        image = image.convert("RGBA" if image.mode == "PA" else "RGB")
      array = np.asarray(image)
      return array[..., np.newaxis] if array.ndim == 2 else array
  except Exception:  # Damaged on purpose: neither of them opens it.
    return None


class L3SharedDataTest(tf.test.TestCase):
  def _check(self, pixels: np.ndarray, random: np.random.Generator) -> None:
    contents = codecs.encode_l3(pixels)
    decoded = codecs.decode(contents, dtype=pixels.dtype).numpy()
    self.assertEqual(decoded.dtype, pixels.dtype)
    self.assertTrue(np.array_equal(decoded, pixels), "whole")
    height, width = pixels.shape[:2]
    contents = tf.constant(contents)
    for _ in range(_WINDOWS):
      y, x = int(random.integers(height)), int(random.integers(width))
      window = (
        y,
        x,
        int(random.integers(1, height - y + 1)),
        int(random.integers(1, width - x + 1)),
      )
      part = codecs.decode(contents, dtype=pixels.dtype, window=window).numpy()
      expected = pixels[y : y + window[2], x : x + window[3]]
      self.assertTrue(np.array_equal(part, expected), f"window {window}")

  def _check_folder(self, folder: str, at_least: int) -> None:
    root = photos.shared_data(*folder.split("/"))
    if root is None:
      self.skipTest(f"no {folder} on this machine")
    random = np.random.default_rng(0)
    checked = 0
    for path in sorted(pathlib.Path(root).rglob("*")):
      if path.suffix.lower() not in _EXTENSIONS or "bombs" in path.parts:
        continue
      pixels = _pixels(path)
      if pixels is None:
        continue
      with self.subTest(os.fspath(path.relative_to(root))):
        self._check(pixels, random)
        checked += 1
    print(f"{folder}: {checked} images, whole and in {_WINDOWS} windows each")
    self.assertGreaterEqual(checked, at_least)

  def test_photographs(self):
    self._check_folder("open/png_highres", 40)

  def test_sixteen_bits(self):
    self._check_folder("open/png_16bit", 20)

  def test_dali_extra(self):
    self._check_folder("open/dali_extra", 20)

  def test_driving(self):
    self._check_folder("limited/driving", 60)

  def test_conformance(self):
    self._check_folder("open/conformance", 400)

  def test_limited_conformance(self):
    self._check_folder("limited/conformance", 1)


if __name__ == "__main__":
  tf.test.main()
