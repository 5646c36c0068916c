"""Image codecs as TensorFlow ops: decode, encode and peek for every format.

Each format has three functions, for instance `decode_png`, `encode_png` and
`peek_png`; `decode_image` and `peek_image` find the format by a file's first bytes,
and `decode_image_batch` decodes images of one size in parallel into one tensor. All
work eagerly, in a `tf.function` and in a `tf.data` map.

An image is a [height, width, channels] tensor of dtype uint8 or uint16; 1 channel is
gray, 2 gray and alpha, 3 RGB and 4 RGBA. What each format stores without loss:

| format | channels   | bits  |
| ------ | ---------- | ----- |
| raw    | 1, 2, 3, 4 | 8, 16 |
| png    | 1, 2, 3, 4 | 8, 16 |
| bmp    | 1, 3, 4    | 8     |
| webp   | 3, 4       | 8     |
| jpeg   | (lossy) 1, 3 | 8   |

The decoders trust no header: damaged, cut or lying bytes raise
`tf.errors.DataLossError`, a valid file that uses an unsupported feature raises
`tf.errors.UnimplementedError`, and an image of more than `max_pixels` pixels raises
`tf.errors.ResourceExhaustedError` before any memory is taken for it.
"""

from collections.abc import Sequence
from typing import NamedTuple

import tensorflow as tf

from liquid_tf import _ops

MAX_PIXELS = 1 << 28

_WHOLE = (0, 0, 0, 0)

Window = tf.Tensor | Sequence[int]


class ImageInfo(NamedTuple):
  """What an image's header says.

  Attributes:
    shape: int64 [3], height, width and channels of the decoded image.
    bits: int32 scalar, 8 or 16 per channel.
    format: string scalar, such as "png".
  """

  shape: tf.Tensor
  bits: tf.Tensor
  format: tf.Tensor


def decode_image(
  contents: tf.Tensor | bytes,
  *,
  channels: int = 0,
  dtype: tf.DType = tf.uint8,
  window: Window | None = None,
  max_pixels: int = MAX_PIXELS,
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
    max_pixels: the largest height * width of a whole image that is decoded.
    format: "raw", "png", "jpeg", "webp" or "bmp"; "" goes by the first bytes.

  Returns:
    A [height, width, channels] tensor of `dtype`.

  Raises:
    tf.errors.DataLossError: the bytes are damaged, cut off or lie about their size.
    tf.errors.InvalidArgumentError: no image of a known format, a window that is not
      inside it, or channels that cannot be had without loss.
    tf.errors.ResourceExhaustedError: more than `max_pixels` pixels.
    tf.errors.UnimplementedError: a valid file of an unsupported kind.
  """
  return _ops.lib().liquid_decode_image(
    contents,
    _WHOLE if window is None else window,
    format=format,
    channels=channels,
    dtype=dtype,
    max_pixels=max_pixels,
  )


def decode_image_batch(
  contents: tf.Tensor | Sequence[bytes],
  *,
  channels: int = 0,
  dtype: tf.DType = tf.uint8,
  windows: tf.Tensor | Sequence[Sequence[int]] | None = None,
  max_pixels: int = MAX_PIXELS,
  format: str = "",  # noqa: A002
) -> tf.Tensor:
  """Decodes n images, or a window of each, in parallel into one tensor.

  Args:
    contents: string [n], the bytes of the files.
    channels: as in `decode_image`.
    dtype: as in `decode_image`.
    windows: int32 [n, 4], a (y, x, height, width) in pixels for each image; None
      for all of each.
    max_pixels: as in `decode_image`, for each image.
    format: as in `decode_image`, for all images.

  Returns:
    A [n, height, width, channels] tensor of `dtype`.

  Raises:
    tf.errors.InvalidArgumentError: the images or windows are not of one size; and
      as in `decode_image`. The message names the image by its number.
    tf.errors.DataLossError: as in `decode_image`.
    tf.errors.ResourceExhaustedError: as in `decode_image`.
    tf.errors.UnimplementedError: as in `decode_image`.
  """
  if windows is None:
    windows = tf.zeros([tf.size(contents), 4], tf.int32)
  return _ops.lib().liquid_decode_image_batch(
    contents,
    windows,
    format=format,
    channels=channels,
    dtype=dtype,
    max_pixels=max_pixels,
  )


def peek_image(
  contents: tf.Tensor | bytes,
  *,
  max_pixels: int = MAX_PIXELS,
  format: str = "",  # noqa: A002
) -> ImageInfo:
  """Reads the size, channels, bits and format of an image without decoding it.

  Args:
    contents: string scalar, the bytes of the file.
    max_pixels: the largest height * width that is accepted.
    format: the format to expect; "" goes by the first bytes.

  Returns:
    An `ImageInfo`.

  Raises:
    tf.errors.DataLossError: the header is damaged or cut off.
    tf.errors.InvalidArgumentError: no image of a known format.
    tf.errors.ResourceExhaustedError: more than `max_pixels` pixels.
    tf.errors.UnimplementedError: a valid file of an unsupported kind.
  """
  shape, bits, found = _ops.lib().liquid_peek_image(
    contents, format=format, max_pixels=max_pixels
  )
  return ImageInfo(shape, bits, found)


def _encode(image: tf.Tensor, format: str, **options: int) -> tf.Tensor:  # noqa: A002
  return _ops.lib().liquid_encode_image(image, format=format, **options)


def decode_raw(
  contents: tf.Tensor | bytes,
  *,
  channels: int = 0,
  dtype: tf.DType = tf.uint8,
  window: Window | None = None,
  max_pixels: int = MAX_PIXELS,
) -> tf.Tensor:
  """Decodes a raw image, or a window of it.

  A header of 16 bytes and dense pixels: the fastest to decode and the largest.

  The layout is in docs/formats/liquid.md.

  Args:
    contents: string scalar, the bytes of the file.
    channels: channels of the result, 0 as stored; see `decode_image`.
    dtype: tf.uint8 or tf.uint16; see `decode_image`.
    window: (y, x, height, width) in pixels, the part to decode; None for all.
    max_pixels: the largest height * width that is decoded.

  Returns:
    A [height, width, channels] tensor of `dtype`.

  Raises:
    tf.errors.OpError: as in `decode_image`; bytes of another format raise
      `tf.errors.DataLossError`.
  """
  return decode_image(
    contents,
    channels=channels,
    dtype=dtype,
    window=window,
    max_pixels=max_pixels,
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
  return _encode(image, "raw")


def peek_raw(contents: tf.Tensor | bytes, *, max_pixels: int = MAX_PIXELS) -> ImageInfo:
  """Reads the header of a raw image; see `peek_image`.

  Args:
    contents: string scalar, the bytes of the file.
    max_pixels: the largest height * width that is accepted.

  Returns:
    An `ImageInfo`.

  Raises:
    tf.errors.OpError: as in `peek_image`; bytes of another format raise
      `tf.errors.DataLossError`.
  """
  return peek_image(contents, max_pixels=max_pixels, format="raw")


def decode_png(
  contents: tf.Tensor | bytes,
  *,
  channels: int = 0,
  dtype: tf.DType = tf.uint8,
  window: Window | None = None,
  max_pixels: int = MAX_PIXELS,
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
    max_pixels: the largest height * width that is decoded.

  Returns:
    A [height, width, channels] tensor of `dtype`.

  Raises:
    tf.errors.OpError: as in `decode_image`; bytes of another format raise
      `tf.errors.DataLossError`.
  """
  return decode_image(
    contents,
    channels=channels,
    dtype=dtype,
    window=window,
    max_pixels=max_pixels,
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
  return _encode(image, "png", png_level=level)


def peek_png(contents: tf.Tensor | bytes, *, max_pixels: int = MAX_PIXELS) -> ImageInfo:
  """Reads the header of a PNG image; see `peek_image`.

  Args:
    contents: string scalar, the bytes of the file.
    max_pixels: the largest height * width that is accepted.

  Returns:
    An `ImageInfo`.

  Raises:
    tf.errors.OpError: as in `peek_image`; bytes of another format raise
      `tf.errors.DataLossError`.
  """
  return peek_image(contents, max_pixels=max_pixels, format="png")


def decode_jpeg(
  contents: tf.Tensor | bytes,
  *,
  channels: int = 0,
  dtype: tf.DType = tf.uint8,
  window: Window | None = None,
  max_pixels: int = MAX_PIXELS,
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
    max_pixels: the largest height * width that is decoded.

  Returns:
    A [height, width, channels] tensor of `dtype`.

  Raises:
    tf.errors.OpError: as in `decode_image`; bytes of another format raise
      `tf.errors.DataLossError`.
  """
  return decode_image(
    contents,
    channels=channels,
    dtype=dtype,
    window=window,
    max_pixels=max_pixels,
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
  return _encode(image, "jpeg", jpeg_quality=quality)


def peek_jpeg(
  contents: tf.Tensor | bytes, *, max_pixels: int = MAX_PIXELS
) -> ImageInfo:
  """Reads the header of a JPEG image; see `peek_image`.

  Args:
    contents: string scalar, the bytes of the file.
    max_pixels: the largest height * width that is accepted.

  Returns:
    An `ImageInfo`.

  Raises:
    tf.errors.OpError: as in `peek_image`; bytes of another format raise
      `tf.errors.DataLossError`.
  """
  return peek_image(contents, max_pixels=max_pixels, format="jpeg")


def decode_webp(
  contents: tf.Tensor | bytes,
  *,
  channels: int = 0,
  dtype: tf.DType = tf.uint8,
  window: Window | None = None,
  max_pixels: int = MAX_PIXELS,
) -> tf.Tensor:
  """Decodes a WebP image, or a window of it.

  Lossy and lossless still images; RGBA where the file says that it has alpha.
  Animations are unimplemented.

  Args:
    contents: string scalar, the bytes of the file.
    channels: channels of the result, 0 as stored; see `decode_image`.
    dtype: tf.uint8 or tf.uint16; see `decode_image`.
    window: (y, x, height, width) in pixels, the part to decode; None for all.
    max_pixels: the largest height * width that is decoded.

  Returns:
    A [height, width, channels] tensor of `dtype`.

  Raises:
    tf.errors.OpError: as in `decode_image`; bytes of another format raise
      `tf.errors.DataLossError`.
  """
  return decode_image(
    contents,
    channels=channels,
    dtype=dtype,
    window=window,
    max_pixels=max_pixels,
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
  return _encode(image, "webp", webp_lossless=lossless, webp_quality=quality)


def peek_webp(
  contents: tf.Tensor | bytes, *, max_pixels: int = MAX_PIXELS
) -> ImageInfo:
  """Reads the header of a WebP image; see `peek_image`.

  Args:
    contents: string scalar, the bytes of the file.
    max_pixels: the largest height * width that is accepted.

  Returns:
    An `ImageInfo`.

  Raises:
    tf.errors.OpError: as in `peek_image`; bytes of another format raise
      `tf.errors.DataLossError`.
  """
  return peek_image(contents, max_pixels=max_pixels, format="webp")


def decode_bmp(
  contents: tf.Tensor | bytes,
  *,
  channels: int = 0,
  dtype: tf.DType = tf.uint8,
  window: Window | None = None,
  max_pixels: int = MAX_PIXELS,
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
    max_pixels: the largest height * width that is decoded.

  Returns:
    A [height, width, channels] tensor of `dtype`.

  Raises:
    tf.errors.OpError: as in `decode_image`; bytes of another format raise
      `tf.errors.DataLossError`.
  """
  return decode_image(
    contents,
    channels=channels,
    dtype=dtype,
    window=window,
    max_pixels=max_pixels,
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
  return _encode(image, "bmp")


def peek_bmp(contents: tf.Tensor | bytes, *, max_pixels: int = MAX_PIXELS) -> ImageInfo:
  """Reads the header of a BMP image; see `peek_image`.

  Args:
    contents: string scalar, the bytes of the file.
    max_pixels: the largest height * width that is accepted.

  Returns:
    An `ImageInfo`.

  Raises:
    tf.errors.OpError: as in `peek_image`; bytes of another format raise
      `tf.errors.DataLossError`.
  """
  return peek_image(contents, max_pixels=max_pixels, format="bmp")
