"""The encoders of L3 against a port that was written from the specification."""

import pathlib

import l3_port
import numpy as np
import tensorflow as tf
from absl.testing import parameterized

from liquid_tf import codecs


def _image(random: np.random.Generator, channels: int, dtype, kind: str) -> np.ndarray:
  height, width = random.integers(1, 100, 2)
  shape = (height, width, channels)
  top = np.iinfo(dtype).max
  match kind:
    case "random":
      return random.integers(0, top + 1, shape, dtype)
    case "constant":
      return np.full(shape, random.integers(0, top + 1), dtype)
    case "gradient":
      y, x = np.mgrid[:height, :width]
      return np.stack([x * 3 + y * (5 + c) for c in range(channels)], -1).astype(dtype)
    case "extreme":
      return (random.integers(0, 2, shape) * top).astype(dtype)
    case "flat":
      colours = random.integers(0, top + 1, (random.integers(1, 9), channels), dtype)
      return colours[np.cumsum(random.integers(0, 9, shape[:2]) == 0, 1) % len(colours)]
    case "calm":
      noise = random.integers(0, 1 + random.integers(1, 60), shape)
      return (np.arange(width)[:, np.newaxis] * 2 + noise).astype(dtype)
  raise ValueError(kind)


_KINDS = ("random", "constant", "gradient", "extreme", "calm", "flat")
_PAGE = (pathlib.Path(__file__).parents[3] / "docs/formats/l3.md").read_text()


class L3PortTest(tf.test.TestCase, parameterized.TestCase):
  @parameterized.product(kind=_KINDS, side=(1, 7, 32, 255))
  def test_version_1_is_equal_to_the_byte(self, kind: str, side: int):
    random = np.random.default_rng([_KINDS.index(kind), side])
    for _ in range(4):
      pixels = _image(random, 3, np.uint8, kind)
      file = codecs.encode_l3(pixels, version=1, patch=side).numpy()
      self.assertEqual(file, l3_port.encode_v1(pixels, side))

  @parameterized.product(
    kind=_KINDS,
    channels=(1, 2, 3, 4),
    dtype=(np.uint8, np.uint16),
    profile=("fast", "compact"),
  )
  def test_version_2_reads_as_specified(
    self, kind: str, channels: int, dtype, profile: str
  ):
    random = np.random.default_rng([_KINDS.index(kind), channels])
    pixels = _image(random, channels, dtype, kind)
    file = codecs.encode_l3(pixels, profile=profile).numpy()
    decoded = l3_port.decode_v2(file, _PAGE)
    self.assertEqual(decoded.dtype, pixels.dtype)
    self.assertAllEqual(decoded, pixels)


if __name__ == "__main__":
  tf.test.main()
