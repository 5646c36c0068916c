"""The codec ops that know every format; `liquid_tf.codecs` makes them public."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from liquid_tf._native import ops
from liquid_tf._native.limits import Limits
from liquid_tf._tensorflow import tf

_WHOLE = (0, 0, 0, 0)

Contents = tf.Tensor | bytes
Pixels = tf.Tensor | np.ndarray
Window = tf.Tensor | Sequence[int]


class ImageInfo(NamedTuple):
  """Contents of an image's header.

  Attributes:
    shape: int64 [3], height, width and channels of the decoded image.
    bits: int32 scalar, 8 or 16 per channel.
    format: string scalar, such as "png".
  """

  shape: tf.Tensor
  bits: tf.Tensor
  format: tf.Tensor


def decode(
  contents: Contents,
  *,
  channels: int = 0,
  dtype: tf.DType = tf.uint8,
  window: Window | None = None,
  limits: Limits = Limits(),
  format: str = "",  # noqa: A002
) -> tf.Tensor:
  """Decodes an image of any format, or a window of it.

  Args:
    contents: string scalar, the bytes of the file.
    channels: channels of the result; 0 as stored. A conversion loses nothing: gray
      is repeated, an added alpha is opaque, and dropping alpha that is not opaque
      or colour that is not gray is an error.
    dtype: tf.uint8 or tf.uint16. Images of 8 bits become uint16 multiplied by 257;
      of images of 16 bits uint8 keeps the upper 8, as `tf.io.decode_png` does.
    window: (y, x, height, width) in pixels, the part to decode; None for all. What
      lies outside is decoded only as far as the format needs it.
    limits: the largest whole image, and most scans of a JPEG, that are decoded.
    format: name of a format, such as "png"; "" goes by the first bytes.

  Returns:
    A [height, width, channels] tensor of `dtype`.

  Raises:
    tf.errors.DataLossError: the bytes are damaged, cut off or lie about their size.
    tf.errors.InvalidArgumentError: no image of a known format, a window that is not
      inside it, or channels that cannot be had without loss.
    tf.errors.ResourceExhaustedError: an image over one of `limits`.
    tf.errors.UnimplementedError: a valid file of an unsupported kind.
  """
  return ops.lib().liquid_decode_image(
    contents,
    _WHOLE if window is None else window,
    format=format,
    channels=channels,
    dtype=dtype,
    **limits.attributes(),
  )


def decode_batch(
  contents: tf.Tensor | Sequence[bytes],
  *,
  channels: int = 0,
  dtype: tf.DType = tf.uint8,
  windows: tf.Tensor | Sequence[Sequence[int]] | None = None,
  limits: Limits = Limits(),
  format: str = "",  # noqa: A002
) -> tf.Tensor:
  """Decodes n images, or a window of each, in parallel into one tensor.

  Args:
    contents: string [n], the bytes of the files.
    channels: as in `decode`.
    dtype: as in `decode`.
    windows: int32 [n, 4], a (y, x, height, width) in pixels for each image; None
      for all of each.
    limits: as in `decode`, for each image.
    format: as in `decode`, for all images.

  Returns:
    A [n, height, width, channels] tensor of `dtype`.

  Raises:
    tf.errors.InvalidArgumentError: the images or windows are not of one size; and
      as in `decode`. The message names the image by its number.
    tf.errors.DataLossError: as in `decode`.
    tf.errors.ResourceExhaustedError: as in `decode`.
    tf.errors.UnimplementedError: as in `decode`.
  """
  if windows is None:
    windows = tf.zeros([tf.size(contents), 4], tf.int32)
  return ops.lib().liquid_decode_image_batch(
    contents,
    windows,
    format=format,
    channels=channels,
    dtype=dtype,
    **limits.attributes(),
  )


def peek(
  contents: Contents,
  *,
  limits: Limits = Limits(),
  format: str = "",  # noqa: A002
) -> ImageInfo:
  """Reads the size, channels, bits and format of an image without decoding it.

  Args:
    contents: string scalar, the bytes of the file.
    limits: as in `decode`.
    format: the format to expect; "" goes by the first bytes.

  Returns:
    An `ImageInfo`.

  Raises:
    tf.errors.DataLossError: the header is damaged or cut off.
    tf.errors.InvalidArgumentError: no image of a known format.
    tf.errors.ResourceExhaustedError: an image over one of `limits`.
    tf.errors.UnimplementedError: a valid file of an unsupported kind.
  """
  shape, bits, found = ops.lib().liquid_peek_image(
    contents, format=format, **limits.attributes()
  )
  return ImageInfo(shape, bits, found)


def encode(
  image: Pixels,
  format: str,  # noqa: A002
  *,
  png_level: int = 6,
  jpeg_quality: int = 95,
  webp_lossless: bool = True,
  webp_quality: int = 90,
  l3_effort: str = "default",
) -> tf.Tensor:
  """Encodes an image in the format of that name.

  Args:
    image: uint8 or uint16 [height, width, channels].
    format: its name, such as "png".
    png_level: effort of PNG's compression, 0 (store) to 12; 6 is about zlib's 6.
    jpeg_quality: 1 to 100, as libjpeg scales it; chroma is never subsampled.
    webp_lossless: whether WebP keeps every pixel.
    webp_quality: 0 to 100, for lossy WebP.
    l3_effort: "fast", "default" or "best", of "l3-compact".

  Returns:
    A string scalar, the bytes of the file.

  Raises:
    tf.errors.InvalidArgumentError: an image or an option that the format cannot have.
  """
  return ops.lib().liquid_encode_image(
    image,
    format=format,
    png_level=png_level,
    jpeg_quality=jpeg_quality,
    webp_lossless=webp_lossless,
    webp_quality=webp_quality,
    l3_effort=l3_effort,
  )
