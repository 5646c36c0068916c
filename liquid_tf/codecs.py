"""Image codecs as TensorFlow ops: decode, encode and peek for every format.

`decode`, `decode_batch` and `peek` find the format by a file's first bytes, unless
`format` names the only one that they are to take; `encode` takes its name. All work
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

What is peculiar to a format:

- raw: a header of 16 bytes and dense pixels, as docs/formats/liquid.md has it: the
  fastest to decode and the largest.
- png: a palette becomes RGB, or RGBA where it has transparent entries; a transparent
  colour of a gray or RGB image becomes an alpha channel; gray of 1, 2 or 4 bits is
  scaled to 8. Gamma and colour profiles are not applied.
- jpeg: libjpeg-turbo's accurate mode, equal to Pillow's pixels. CMYK, 12-bit and
  lossless files are unimplemented. EXIF orientation is not applied. Rows below a window
  are not decoded.
- webp: lossy and lossless still images, of at most 16383 pixels a side; RGBA where the
  file says that it has alpha. Animations are unimplemented.
- bmp: uncompressed images of 8, 24 and 32 bits. A palette of the 256 grays gives one
  channel, any other RGB. Images of 32 bits have alpha only if their header has a mask
  for it.
- l3: either version. Only the patches that a window meets are read; rows of patches are
  decoded in parallel on the threads of the TensorFlow runtime. `encode_l3` takes
  options of its own, and `peek_l3` tells what only its headers have.

The decoders trust no header: damaged, cut or lying bytes, and those of another format,
raise `tf.errors.DataLossError`, a valid file that uses an unsupported feature raises
`tf.errors.UnimplementedError`, and an image over one of the `Limits`
raises `tf.errors.ResourceExhaustedError` before any memory is taken for it.
"""

from typing import NamedTuple

from liquid_tf._native import ops
from liquid_tf._native.image_ops import (
  Contents,
  ImageInfo,
  Pixels,
  decode,
  decode_batch,
  encode,
  peek,
)
from liquid_tf._native.limits import Limits
from liquid_tf._tensorflow import tf

__all__ = [
  "ImageInfo",
  "L3Info",
  "Limits",
  "decode",
  "decode_batch",
  "encode",
  "encode_l3",
  "peek",
  "peek_l3",
]


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
