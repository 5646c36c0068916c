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
- jpeg: the pixels of libjpeg-turbo's accurate mode, which are Pillow's. CMYK, 12-bit
  and lossless files are unimplemented. EXIF orientation is not applied. Rows below a
  window are not decoded.
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

from typing import TYPE_CHECKING

import lazy_loader

from liquid_tf import _extras
from liquid_tf._native.limits import Limits

if TYPE_CHECKING:
  from liquid_tf._native.image_ops import (
    ImageInfo,
    decode,
    decode_batch,
    encode,
    peek,
  )
  from liquid_tf._native.l3_ops import L3Info, encode_l3, peek_l3

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

# `Limits` needs no TensorFlow.
_attribute, __dir__, _ = lazy_loader.attach(
  "liquid_tf",
  submod_attrs={
    "_native.image_ops": ["ImageInfo", "decode", "decode_batch", "encode", "peek"],
    "_native.l3_ops": ["L3Info", "encode_l3", "peek_l3"],
    "_native.limits": ["Limits"],
  },
)


def __getattr__(name: str) -> object:
  with _extras.explained():
    return _attribute(name)
