"""L3 by itself, as TensorFlow ops: what no other format has."""

from typing import NamedTuple

from liquid_tf._native import ops
from liquid_tf._native.image_ops import Contents, Pixels
from liquid_tf._native.limits import Limits
from liquid_tf._tensorflow import tf


class L3Info(NamedTuple):
  """Header of an L3 image.

  Attributes:
    shape: int64 [3], height, width and channels of the decoded image.
    bits: int32 scalar, 8 or 16 per channel.
    version: int32 scalar, 1 or 2.
    patch: int32 scalar, side of a patch in pixels.
    profile: int32 scalar, 0 (fast) or 1 (compact).
  """

  shape: tf.Tensor
  bits: tf.Tensor
  version: tf.Tensor
  patch: tf.Tensor
  profile: tf.Tensor


def peek_l3(contents: Contents, *, limits: Limits = Limits()) -> L3Info:
  """Reads the header of an L3 image.

  Args:
    contents: string scalar, the bytes of the file.
    limits: the largest whole image that is accepted.

  Returns:
    An `L3Info`.

  Raises:
    tf.errors.OpError: as in `peek`.
  """
  return L3Info(*ops.lib().liquid_peek_l3(contents, max_pixels=limits.pixels))


def encode_l3(
  image: Pixels,
  *,
  version: int = 2,
  patch: int = 0,
  profile: str = "fast",
  effort: str = "default",
) -> tf.Tensor:
  """Encodes an image as L3, without loss; see `encode`.

  docs/formats/l3.md describes both versions; version 1 is the format of the paper
  (L3, ECCV '22).

  Args:
    image: uint8 or uint16 [height, width, 1 to 4]; for version 1 uint8
      [height, width, 3].
    version: 1 or 2.
    patch: side of a patch in pixels: 1 to 255, or 0 for the paper's choice by the
      image's size, in version 1; 64, or 0, in version 2.
    profile: of version 2: `"fast"` decodes at the speed of memory; `"compact"` is
      about as small as lossless WebP, and decodes more slowly. In a dataset it is
      the format `l3-compact`.
    effort: `"fast"`, `"default"` or `"best"`: what the compact profile spends on
      finding the smallest file. Decoding is not slower for it.
  """
  return ops.lib().liquid_encode_l3(
    image, version=version, patch=patch, profile=profile, effort=effort
  )
