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
`tf.errors.UnimplementedError`, and an image over one of the `liquid_tf.codecs.Limits`
raises `tf.errors.ResourceExhaustedError` before any memory is taken for it.
"""

from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeVar

from liquid_tf._native import ops
from liquid_tf._native.image_ops import (
  Contents,
  ImageInfo,
  Pixels,
  Window,
  decode_image,
  decode_image_batch,
  encode_image,
  peek_image,
)
from liquid_tf._native.limits import Limits
from liquid_tf._tensorflow import tf

__all__ = [
  "ImageInfo",
  "L3Info",
  "Limits",
  "decode_bmp",
  "decode_image",
  "decode_image_batch",
  "decode_jpeg",
  "decode_l3",
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


class L3Info(NamedTuple):
  """What the header of an L3 image says.

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


class _Decode(Protocol):
  def __call__(
    self,
    contents: Contents,
    *,
    channels: int = 0,
    dtype: tf.DType = tf.uint8,
    window: Window | None = None,
    limits: Limits = Limits(),
  ) -> tf.Tensor: ...


class _Peek(Protocol):
  def __call__(self, contents: Contents, *, limits: Limits = Limits()) -> ImageInfo: ...


_Function = TypeVar("_Function", bound=Callable[..., object])


def _decoder(name: str, title: str, notes: str) -> _Decode:
  """The decode function of a format; `notes` say what is peculiar to it."""

  def decode(
    contents: Contents,
    *,
    channels: int = 0,
    dtype: tf.DType = tf.uint8,
    window: Window | None = None,
    limits: Limits = Limits(),
  ) -> tf.Tensor:
    return decode_image(
      contents,
      channels=channels,
      dtype=dtype,
      window=window,
      limits=limits,
      format=name,
    )

  return _named(
    decode,
    f"decode_{name}",
    f"""Decodes {title} image, or a window of it.

  {notes}

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
  """,
  )


def _peeker(name: str, title: str) -> _Peek:
  """The peek function of a format."""

  def peek(contents: Contents, *, limits: Limits = Limits()) -> ImageInfo:
    return peek_image(contents, limits=limits, format=name)

  return _named(
    peek,
    f"peek_{name}",
    f"""Reads the header of {title} image; see `peek_image`.

  Args:
    contents: string scalar, the bytes of the file.
    limits: the largest image, and most scans, that are accepted.

  Returns:
    An `ImageInfo`.

  Raises:
    tf.errors.OpError: as in `peek_image`.
  """,
  )


def _named(function: _Function, name: str, doc: str) -> _Function:
  function.__name__ = function.__qualname__ = name
  function.__doc__ = doc
  return function


decode_raw = _decoder(
  "raw",
  "a raw",
  """A header of 16 bytes and dense pixels: the fastest to decode and the largest.
  Its layout is in docs/formats/liquid.md.""",
)
decode_png = _decoder(
  "png",
  "a PNG",
  """A palette becomes RGB, or RGBA where it has transparent entries; a transparent
  colour of a gray or RGB image becomes an alpha channel; gray of 1, 2 or 4 bits is
  scaled to 8. Gamma and colour profiles are not applied.""",
)
decode_jpeg = _decoder(
  "jpeg",
  "a JPEG",
  """In libjpeg-turbo's accurate mode, equal to Pillow's pixels. CMYK, 12-bit and
  lossless files are unimplemented. EXIF orientation is not applied. Rows below a
  window are not decoded.""",
)
decode_webp = _decoder(
  "webp",
  "a WebP",
  """Lossy and lossless still images; RGBA where the file says that it has alpha.
  Animations are unimplemented.""",
)
decode_bmp = _decoder(
  "bmp",
  "a BMP",
  """Uncompressed images of 8, 24 and 32 bits. A palette of the 256 grays gives one
  channel, any other RGB. Images of 32 bits have alpha only if their header has a
  mask for it.""",
)
decode_l3 = _decoder(
  "l3",
  "an L3",
  """Either version. Of the image, only the patches that the window meets are read.
  Rows of patches are decoded in parallel on the threads of the TensorFlow runtime.""",
)

peek_raw = _peeker("raw", "a raw")
peek_png = _peeker("png", "a PNG")
peek_jpeg = _peeker("jpeg", "a JPEG")
peek_webp = _peeker("webp", "a WebP")
peek_bmp = _peeker("bmp", "a BMP")


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


def encode_raw(image: Pixels) -> tf.Tensor:
  """Encodes a uint8 or uint16 image of 1 to 4 channels as raw; see `encode_image`."""
  return encode_image(image, "raw")


def encode_png(image: Pixels, *, level: int = 6) -> tf.Tensor:
  """Encodes an image as PNG, with a filter chosen per row; see `encode_image`.

  Args:
    image: uint8 or uint16 [height, width, 1 to 4].
    level: effort of the compression, 0 (store) to 12; 6 is about zlib's 6.
  """
  return encode_image(image, "png", png_level=level)


def encode_jpeg(image: Pixels, *, quality: int = 95) -> tf.Tensor:
  """Encodes an image as JPEG without chroma subsampling (4:4:4); see `encode_image`.

  Args:
    image: uint8 [height, width, 1 or 3].
    quality: 1 to 100, as libjpeg scales it.
  """
  return encode_image(image, "jpeg", jpeg_quality=quality)


def encode_webp(
  image: Pixels, *, lossless: bool = True, quality: int = 90
) -> tf.Tensor:
  """Encodes an image as WebP; see `encode_image`.

  Args:
    image: uint8 [height, width, 3 or 4], at most 16383 high and wide.
    lossless: whether every pixel is kept, the colour of transparent ones included.
    quality: 0 to 100, used where `lossless` is False.
  """
  return encode_image(image, "webp", webp_lossless=lossless, webp_quality=quality)


def encode_bmp(image: Pixels) -> tf.Tensor:
  """Encodes a uint8 image of 1, 3 or 4 channels as uncompressed BMP; see
  `encode_image`."""
  return encode_image(image, "bmp")


def encode_l3(
  image: Pixels,
  *,
  version: int = 2,
  patch: int = 0,
  profile: str = "fast",
  effort: str = "default",
) -> tf.Tensor:
  """Encodes an image as L3, without loss; see `encode_image`.

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
