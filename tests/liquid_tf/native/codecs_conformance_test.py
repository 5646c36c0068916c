"""Public conformance sets, where the machine has them: skipped elsewhere.

The sets lie under the folder that LIQUID_TEST_DATA names, or under shared/data beside
the checkout: open/conformance/{png,jpeg,webp,bmp,fuzz} and limited/conformance.
"""

import io
import pathlib
import struct

import numpy as np
import photos
import tensorflow as tf
from absl.testing import parameterized
from PIL import Image

from liquid_tf import codecs

# Files that Pillow or TensorFlow read although they are damaged.
_DAMAGED = {
  "badcrc.png": "wrong CRC",
  "huge_IDAT.png": "past the end",
  "xcsn0g01.png": "wrong CRC",
  "xhdn0g08.png": "wrong CRC",
  "dc-predictor-overflow.jpg": "premature end",
  "partial_progressive.jpg": "premature end",
  "subtract-with-overflow.jpg": "bad Huffman code",
  "badplanes.bmp": "planes",
}


def _pillow(contents: bytes) -> np.ndarray | None:
  """Pillow's pixels as HWC; None where it reads none or has no such mode."""
  try:
    with Image.open(io.BytesIO(contents)) as image:
      image.load()
      if image.mode == "P":
        image = image.convert("RGBA" if "transparency" in image.info else "RGB")
      elif image.mode == "1":
        image = image.convert("L")
      elif image.mode.startswith("I"):
        return np.asarray(image).astype(np.uint16)[..., np.newaxis]
      elif image.mode not in ("L", "LA", "RGB", "RGBA"):
        return None
      array = np.asarray(image)
  except Exception:  # whatever a damaged file makes of it
    return None
  return array[..., np.newaxis] if array.ndim == 2 else array


def _chunk(contents: bytes, name: bytes) -> bytes | None:
  """The data of a PNG's first chunk of that name before the pixels."""
  at = 8
  while at + 8 <= len(contents):
    (size,) = struct.unpack_from(">I", contents, at)
    kind = contents[at + 4 : at + 8]
    if kind == name:
      return contents[at + 8 : at + 8 + size]
    if kind == b"IDAT":
      return None
    at += 12 + size
  return None


def _with_color_key(contents: bytes, colors: np.ndarray) -> np.ndarray:
  """Adds the alpha channel that a tRNS chunk of a gray or RGB image asks for."""
  depth, color = contents[24], contents[25]
  key = _chunk(contents, b"tRNS")
  if key is None or color not in (0, 2):
    return colors
  key = np.frombuffer(key, ">u2").astype(np.int64)
  if depth < 8:
    key = key * 255 // (2**depth - 1)
  opaque = np.iinfo(colors.dtype).max
  alpha = np.where((colors == key).all(-1, keepdims=True), 0, opaque)
  return np.concatenate([colors, alpha.astype(colors.dtype)], -1)


class ConformanceTest(parameterized.TestCase, tf.test.TestCase):
  def setUp(self):
    super().setUp()
    if photos.shared_data("open", "conformance") is None:
      self.skipTest("no conformance sets on this machine")
    self.root = pathlib.Path(photos.shared_data())

  def _files(self, folder: str, *, magic: bytes = b"") -> list[pathlib.Path]:
    paths = sorted(p for p in (self.root / folder).rglob("*") if p.is_file())
    files = [p for p in paths if p.read_bytes()[: len(magic)] == magic]
    self.assertNotEmpty(files, f"{folder} holds no file that begins with {magic}")
    return files

  def _decode(self, contents: bytes) -> np.ndarray | tf.errors.OpError:
    try:
      info = codecs.peek(contents)
      dtype = tf.uint16 if info.bits == 16 else tf.uint8
      return codecs.decode(contents, dtype=dtype).numpy()
    except (
      tf.errors.DataLossError,
      tf.errors.InvalidArgumentError,
      tf.errors.ResourceExhaustedError,
      tf.errors.UnimplementedError,
    ) as error:
      return error

  def _check_refusal(self, path: pathlib.Path, error: tf.errors.OpError):
    """A refused file is one that others cannot read, or is known to be damaged."""
    if isinstance(error, tf.errors.UnimplementedError):
      return
    if path.name in _DAMAGED:
      self.assertIn(_DAMAGED[path.name], error.message)
    elif "imagetestsuite" not in path.parts:  # a collection of damaged files
      self.assertIsNone(_pillow(path.read_bytes()), f"{path.name}: {error.message}")

  def test_png_equals_tf(self):
    compared = 0
    for path in self._files("open/conformance/png", magic=b"\x89PNG"):
      contents = path.read_bytes()
      ours = self._decode(contents)
      if isinstance(ours, tf.errors.OpError):
        self._check_refusal(path, ours)
        continue
      with self.subTest(path.name):
        theirs = tf.io.decode_png(contents, dtype=ours.dtype).numpy()
        self.assertAllEqual(ours, _with_color_key(contents, theirs))
        compared += 1
        window = (ours.shape[0] // 3, ours.shape[1] // 2, 1, ours.shape[1] // 2)
        if window[3] > 0:
          y, x, height, width = window
          self.assertAllEqual(
            codecs.decode(contents, window=window, dtype=ours.dtype),
            ours[y : y + height, x : x + width],
          )
    self.assertGreater(compared, 250)

  def _compare_with_pillow(self, folder: str, magic: bytes, at_least: int):
    compared = 0
    for path in self._files(folder, magic=magic):
      contents = path.read_bytes()
      ours = self._decode(contents)
      if isinstance(ours, tf.errors.OpError):
        self._check_refusal(path, ours)
        continue
      theirs = _pillow(contents)
      if theirs is None:
        continue
      with self.subTest(path.name):
        self.assertAllEqual(ours, theirs)
        compared += 1
    self.assertGreaterEqual(compared, at_least)

  def test_jpeg_equals_pillow(self):
    self._compare_with_pillow("open/conformance/jpeg", b"\xff\xd8", 100)

  def test_webp_equals_pillow(self):
    self._compare_with_pillow("open/conformance/webp", b"RIFF", 100)

  def test_bmp_equals_pillow(self):
    self._compare_with_pillow("open/conformance/bmp", b"BM", 30)

  @parameterized.parameters("open/conformance/fuzz", "limited/conformance")
  def test_damage_does_no_harm(self, folder):
    if not (self.root / folder).is_dir():
      self.skipTest(f"no {folder} on this machine")
    for path in self._files(folder):
      contents = path.read_bytes()
      try:
        shape = codecs.peek(contents, limits=codecs.Limits(pixels=1 << 24)).shape
        decoded = codecs.decode(contents, limits=codecs.Limits(pixels=1 << 24))
        self.assertAllEqual(decoded.shape, shape)
      except (
        tf.errors.DataLossError,
        tf.errors.InvalidArgumentError,
        tf.errors.ResourceExhaustedError,
        tf.errors.UnimplementedError,
      ) as error:
        self.assertNotEmpty(error.message)


if __name__ == "__main__":
  tf.test.main()
