"""The L3 codec as ops; `liquid_tf.codecs` makes them public."""

from collections.abc import Sequence
from typing import NamedTuple

import tensorflow as tf

from liquid_tf._native import ops
from liquid_tf._native.image_ops import Contents, Window
from liquid_tf._native.limits import Limits

_WHOLE = (0, 0, 0, 0)


class L3Info(NamedTuple):
  """What the header of an L3 image says.

  Attributes:
    shape: int64 [3], height, width and channels of the decoded image.
    bits: int32 scalar, 8 or 16 per channel.
    version: int32 scalar, 1 or 2.
    patch: int32 scalar, side of a patch in pixels.
  """

  shape: tf.Tensor
  bits: tf.Tensor
  version: tf.Tensor
  patch: tf.Tensor


def decode_l3(
  contents: Contents,
  *,
  channels: int = 0,
  dtype: tf.DType = tf.uint8,
  window: Window | None = None,
  limits: Limits = Limits(),
) -> tf.Tensor:
  """Decodes an L3 image of either version, or a window of it.

  Of the image, only the patches that the window meets are read. Rows of patches are
  decoded in parallel on the threads of the TensorFlow runtime.

  Args:
    contents: string scalar, the bytes of the file.
    channels: channels of the result, 0 as stored; see `decode_image`.
    dtype: tf.uint8 or tf.uint16; see `decode_image`.
    window: (y, x, height, width) in pixels, the part to decode; None for all.
    limits: the largest whole image that is decoded.

  Returns:
    A [height, width, channels] tensor of `dtype`.

  Raises:
    tf.errors.OpError: as in `decode_image`.
  """
  return ops.lib().liquid_decode_l3(
    contents,
    _WHOLE if window is None else window,
    channels=channels,
    dtype=dtype,
    max_pixels=limits.pixels,
  )


def decode_l3_batch(
  contents: tf.Tensor | Sequence[bytes],
  *,
  channels: int = 0,
  dtype: tf.DType = tf.uint8,
  windows: tf.Tensor | Sequence[Sequence[int]] | None = None,
  limits: Limits = Limits(),
) -> tf.Tensor:
  """Decodes n L3 images, or a window of each, in parallel into one tensor.

  Args:
    contents: string [n], the bytes of the files.
    channels: as in `decode_image`.
    dtype: as in `decode_image`.
    windows: int32 [n, 4], a (y, x, height, width) in pixels for each image; None
      for all of each.
    limits: the largest whole image that is decoded.

  Returns:
    A [n, height, width, channels] tensor of `dtype`.

  Raises:
    tf.errors.OpError: as in `decode_image_batch`.
  """
  if windows is None:
    windows = tf.zeros([tf.size(contents), 4], tf.int32)
  return ops.lib().liquid_decode_l3_batch(
    contents, windows, channels=channels, dtype=dtype, max_pixels=limits.pixels
  )


def encode_l3(image: tf.Tensor, *, version: int = 2, patch: int = 0) -> tf.Tensor:
  """Encodes an image as L3, without loss.

  docs/formats/l3.md describes both versions; version 1 is the format of the paper
  (L3, ECCV '22).

  Args:
    image: uint8 or uint16 [height, width, 1 to 4]; for version 1 uint8
      [height, width, 3].
    version: 1 or 2.
    patch: side of a patch in pixels: 1 to 255, or 0 for the paper's choice by the
      image's size, in version 1; 64, or 0, in version 2.

  Returns:
    A string scalar, the bytes of the file.

  Raises:
    tf.errors.InvalidArgumentError: an image or an option that the format cannot have.
  """
  return ops.lib().liquid_encode_l3(image, version=version, patch=patch)


def peek_l3(contents: Contents, *, limits: Limits = Limits()) -> L3Info:
  """Reads the header of an L3 image.

  Args:
    contents: string scalar, the bytes of the file.
    limits: the largest whole image that is accepted.

  Returns:
    An `L3Info`.

  Raises:
    tf.errors.OpError: as in `peek_image`.
  """
  return L3Info(*ops.lib().liquid_peek_l3(contents, max_pixels=limits.pixels))
