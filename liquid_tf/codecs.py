"""Image codecs as TensorFlow ops: decode, encode and peek for every format.

Each format has three functions, such as `decode_png`, `encode_png` and `peek_png`;
`decode_image` and `peek_image` find the format by a file's first bytes. All work
eagerly, in a `tf.function` and in a `tf.data` map.

An image is a [height, width, channels] tensor of dtype uint8 or uint16; 1 channel is
gray, 2 gray and alpha, 3 RGB and 4 RGBA. What each format stores without loss:

| format   | channels   | bits  |
| -------- | ---------- | ----- |
| raw, png | 1, 2, 3, 4 | 8, 16 |
| l3       | 1, 2, 3, 4 | 8, 16 |
| bmp      | 1, 3, 4    | 8     |
| webp     | 3, 4       | 8     |

JPEG stores 1 or 3 channels of 8 bits, always with loss.

The decoders trust no header: damaged, cut or lying bytes, and those of another format,
raise `tf.errors.DataLossError`, a valid file that uses an unsupported feature raises
`tf.errors.UnimplementedError`, and an image over one of the `liquid_tf.Limits`
raises `tf.errors.ResourceExhaustedError` before any memory is taken for it.
"""

import tensorflow as tf

from liquid_tf._native.image_ops import (
  Contents,
  ImageInfo,
  Window,
  decode_image,
  decode_image_batch,
  encode_image,
  peek_image,
)
from liquid_tf._native.l3_ops import (
  L3Info,
  decode_l3,
  decode_l3_batch,
  encode_l3,
  peek_l3,
)
from liquid_tf._native.limits import Limits

__all__ = [
  "ImageInfo",
  "L3Info",
  "decode_bmp",
  "decode_image",
  "decode_image_batch",
  "decode_jpeg",
  "decode_l3",
  "decode_l3_batch",
  "decode_png",
  "decode_raw",
  "decode_webp",
  "encode_bmp",
  "encode_image",
  "encode_jpeg",
  "encode_l3",
  "encode_png",
  "encode_raw",
  "encode_webp",
  "peek_bmp",
  "peek_image",
  "peek_jpeg",
  "peek_l3",
  "peek_png",
  "peek_raw",
  "peek_webp",
]


def decode_raw(
  contents: Contents,
  *,
  channels: int = 0,
  dtype: tf.DType = tf.uint8,
  window: Window | None = None,
  limits: Limits = Limits(),
) -> tf.Tensor:
  """Decodes a raw image, or a window of it.

  A header of 16 bytes and dense pixels: the fastest to decode and the largest.
  Its layout is in docs/formats/liquid.md.

  Args:
    contents: string scalar, the bytes of the file.
    channels: channels of the result, 0 as stored; see `decode_image`.
    dtype: tf.uint8 or tf.uint16; see `decode_image`.
    window: (y, x, height, width) in pixels, the part to decode; None for all.
    limits: the largest image, and most scans, that are decoded.

  Returns:
    A [height, width, channels] tensor of `dtype`.

  Raises:
    tf.errors.OpError: as in `decode_image`.
  """
  return decode_image(
    contents,
    channels=channels,
    dtype=dtype,
    window=window,
    limits=limits,
    format="raw",
  )


def encode_raw(image: tf.Tensor) -> tf.Tensor:
  """Encodes an image as raw bytes: 16 of header, then the pixels.

  Args:
    image: uint8 or uint16 [height, width, 1 to 4].

  Returns:
    A string scalar, the bytes of the file.

  Raises:
    tf.errors.InvalidArgumentError: an image or an option that the format cannot have.
  """
  return encode_image(image, "raw")


def peek_raw(contents: Contents, *, limits: Limits = Limits()) -> ImageInfo:
  """Reads the header of a raw image; see `peek_image`.

  Args:
    contents: string scalar, the bytes of the file.
    limits: the largest image, and most scans, that are accepted.

  Returns:
    An `ImageInfo`.

  Raises:
    tf.errors.OpError: as in `peek_image`.
  """
  return peek_image(contents, limits=limits, format="raw")


def decode_png(
  contents: Contents,
  *,
  channels: int = 0,
  dtype: tf.DType = tf.uint8,
  window: Window | None = None,
  limits: Limits = Limits(),
) -> tf.Tensor:
  """Decodes a PNG image, or a window of it.

  A palette becomes RGB, or RGBA where it has transparent entries; a transparent
  colour of a gray or RGB image becomes an alpha channel; gray of 1, 2 or 4 bits is
  scaled to 8. Gamma and colour profiles are not applied.

  Args:
    contents: string scalar, the bytes of the file.
    channels: channels of the result, 0 as stored; see `decode_image`.
    dtype: tf.uint8 or tf.uint16; see `decode_image`.
    window: (y, x, height, width) in pixels, the part to decode; None for all.
    limits: the largest image, and most scans, that are decoded.

  Returns:
    A [height, width, channels] tensor of `dtype`.

  Raises:
    tf.errors.OpError: as in `decode_image`.
  """
  return decode_image(
    contents,
    channels=channels,
    dtype=dtype,
    window=window,
    limits=limits,
    format="png",
  )


def encode_png(image: tf.Tensor, *, level: int = 6) -> tf.Tensor:
  """Encodes an image as PNG, with a filter chosen per row.

  Args:
    image: uint8 or uint16 [height, width, 1 to 4].
    level: effort of the compression, 0 (store) to 12; 6 is about zlib's 6.

  Returns:
    A string scalar, the bytes of the file.

  Raises:
    tf.errors.InvalidArgumentError: an image or an option that the format cannot have.
  """
  return encode_image(image, "png", png_level=level)


def peek_png(contents: Contents, *, limits: Limits = Limits()) -> ImageInfo:
  """Reads the header of a PNG image; see `peek_image`.

  Args:
    contents: string scalar, the bytes of the file.
    limits: the largest image, and most scans, that are accepted.

  Returns:
    An `ImageInfo`.

  Raises:
    tf.errors.OpError: as in `peek_image`.
  """
  return peek_image(contents, limits=limits, format="png")


def decode_jpeg(
  contents: Contents,
  *,
  channels: int = 0,
  dtype: tf.DType = tf.uint8,
  window: Window | None = None,
  limits: Limits = Limits(),
) -> tf.Tensor:
  """Decodes a JPEG image, or a window of it.

  In libjpeg-turbo's accurate mode, equal to Pillow's pixels. CMYK, 12-bit and
  lossless files are unimplemented. EXIF orientation is not applied. Rows below a
  window are not decoded.

  Args:
    contents: string scalar, the bytes of the file.
    channels: channels of the result, 0 as stored; see `decode_image`.
    dtype: tf.uint8 or tf.uint16; see `decode_image`.
    window: (y, x, height, width) in pixels, the part to decode; None for all.
    limits: the largest image, and most scans, that are decoded.

  Returns:
    A [height, width, channels] tensor of `dtype`.

  Raises:
    tf.errors.OpError: as in `decode_image`.
  """
  return decode_image(
    contents,
    channels=channels,
    dtype=dtype,
    window=window,
    limits=limits,
    format="jpeg",
  )


def encode_jpeg(image: tf.Tensor, *, quality: int = 95) -> tf.Tensor:
  """Encodes an image as JPEG without chroma subsampling (4:4:4).

  Args:
    image: uint8 [height, width, 1 or 3].
    quality: 1 to 100, as libjpeg scales it.

  Returns:
    A string scalar, the bytes of the file.

  Raises:
    tf.errors.InvalidArgumentError: an image or an option that the format cannot have.
  """
  return encode_image(image, "jpeg", jpeg_quality=quality)


def peek_jpeg(contents: Contents, *, limits: Limits = Limits()) -> ImageInfo:
  """Reads the header of a JPEG image; see `peek_image`.

  Args:
    contents: string scalar, the bytes of the file.
    limits: the largest image, and most scans, that are accepted.

  Returns:
    An `ImageInfo`.

  Raises:
    tf.errors.OpError: as in `peek_image`.
  """
  return peek_image(contents, limits=limits, format="jpeg")


def decode_webp(
  contents: Contents,
  *,
  channels: int = 0,
  dtype: tf.DType = tf.uint8,
  window: Window | None = None,
  limits: Limits = Limits(),
) -> tf.Tensor:
  """Decodes a WebP image, or a window of it.

  Lossy and lossless still images; RGBA where the file says that it has alpha.
  Animations are unimplemented.

  Args:
    contents: string scalar, the bytes of the file.
    channels: channels of the result, 0 as stored; see `decode_image`.
    dtype: tf.uint8 or tf.uint16; see `decode_image`.
    window: (y, x, height, width) in pixels, the part to decode; None for all.
    limits: the largest image, and most scans, that are decoded.

  Returns:
    A [height, width, channels] tensor of `dtype`.

  Raises:
    tf.errors.OpError: as in `decode_image`.
  """
  return decode_image(
    contents,
    channels=channels,
    dtype=dtype,
    window=window,
    limits=limits,
    format="webp",
  )


def encode_webp(
  image: tf.Tensor, *, lossless: bool = True, quality: int = 90
) -> tf.Tensor:
  """Encodes an image as WebP.

  Args:
    image: uint8 [height, width, 3 or 4], at most 16383 high and wide.
    lossless: whether every pixel is kept, the colour of transparent ones included.
    quality: 0 to 100, used where `lossless` is False.

  Returns:
    A string scalar, the bytes of the file.

  Raises:
    tf.errors.InvalidArgumentError: an image or an option that the format cannot have.
  """
  return encode_image(image, "webp", webp_lossless=lossless, webp_quality=quality)


def peek_webp(contents: Contents, *, limits: Limits = Limits()) -> ImageInfo:
  """Reads the header of a WebP image; see `peek_image`.

  Args:
    contents: string scalar, the bytes of the file.
    limits: the largest image, and most scans, that are accepted.

  Returns:
    An `ImageInfo`.

  Raises:
    tf.errors.OpError: as in `peek_image`.
  """
  return peek_image(contents, limits=limits, format="webp")


def decode_bmp(
  contents: Contents,
  *,
  channels: int = 0,
  dtype: tf.DType = tf.uint8,
  window: Window | None = None,
  limits: Limits = Limits(),
) -> tf.Tensor:
  """Decodes a BMP image, or a window of it.

  Uncompressed images of 8, 24 and 32 bits. A palette of the 256 grays gives one
  channel, any other RGB. Images of 32 bits have alpha only if their header has a
  mask for it.

  Args:
    contents: string scalar, the bytes of the file.
    channels: channels of the result, 0 as stored; see `decode_image`.
    dtype: tf.uint8 or tf.uint16; see `decode_image`.
    window: (y, x, height, width) in pixels, the part to decode; None for all.
    limits: the largest image, and most scans, that are decoded.

  Returns:
    A [height, width, channels] tensor of `dtype`.

  Raises:
    tf.errors.OpError: as in `decode_image`.
  """
  return decode_image(
    contents,
    channels=channels,
    dtype=dtype,
    window=window,
    limits=limits,
    format="bmp",
  )


def encode_bmp(image: tf.Tensor) -> tf.Tensor:
  """Encodes an image as uncompressed BMP.

  Args:
    image: uint8 [height, width, 1, 3 or 4].

  Returns:
    A string scalar, the bytes of the file.

  Raises:
    tf.errors.InvalidArgumentError: an image or an option that the format cannot have.
  """
  return encode_image(image, "bmp")


def peek_bmp(contents: Contents, *, limits: Limits = Limits()) -> ImageInfo:
  """Reads the header of a BMP image; see `peek_image`.

  Args:
    contents: string scalar, the bytes of the file.
    limits: the largest image, and most scans, that are accepted.

  Returns:
    An `ImageInfo`.

  Raises:
    tf.errors.OpError: as in `peek_image`.
  """
  return peek_image(contents, limits=limits, format="bmp")
