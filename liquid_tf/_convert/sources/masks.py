"""Segmentation masks: class numbers as gray images."""

import functools
import io

import numpy as np
from PIL import Image, UnidentifiedImageError

from liquid_tf._convert.pillow import raw_file
from liquid_tf._native import ops
from liquid_tf._native.limits import Limits
from liquid_tf._words import said

# Feature of a record's tf.train.Example.
FEATURE = "mask"

# A mask is stored in the one that makes it smaller, at a tie the first.
FORMATS = ("l3-compact", "png")

# Pillow's names of formats that store class numbers, and of those that may change them.
# No others: Pillow's readers of some start programs.
_LOSSLESS = ("PNG", "TIFF", "BMP", "GIF", "PPM")
_LOSSY = ("AVIF", "JPEG", "JPEG2000", "WEBP")
_TIFF_LOSSLESS = (
  "raw",
  "tiff_ccitt",
  "group3",
  "group4",
  "tiff_lzw",
  "tiff_adobe_deflate",
  "tiff_deflate",
  "tiff_raw_16",
  "packbits",
  "lzma",
  "zstd",
)
_AMBIGUOUS = "save it as PNG, so that it is clear which number is which"
_AS_FILE = (
  "give the file's path or bytes, or its numpy.asarray if these numbers are right"
)
# What is left of samples of 4 and of 2 bits that were made to reach 255: multiples.
_WIDENED = 255 // 15
# Where files say how many bits a sample has: offsets, and tags of TIFF.
_PNG_DEPTH, _BMP_DEPTH, _BMP_DEPTH_OS2 = 24, 28, 24
_BITS_PER_SAMPLE, _PHOTOMETRIC = 258, 262


class _NoMask(Exception):
  """The reason why a file holds no class numbers."""


def decode_mask(
  data: bytes, lossy: bool = False, advice: str | None = None
) -> tuple[bytes, str]:
  """Decodes a mask file to the raw encoding of a gray image.

  Class numbers are the samples that the file stores. A palette's colours are for
  people, and so is the white that Pillow makes of the largest number of few bits. So
  this cannot use the codecs, which decode to what is seen.

  Args:
    data: a file of one of the formats that Pillow reads for images, with one channel or
      a palette.
    lossy: whether a format is taken that may have changed the numbers.
    advice: how to have it taken; None for an argument of `Source`.

  Returns:
    (raw encoding, ""), or (b"", why it is not a mask).
  """
  try:
    with Image.open(io.BytesIO(data), formats=_formats()) as image:
      return raw_file(_numbers(image, data, lossy, advice)), ""
  except _NoMask as error:
    return b"", f"mask {error}"
  except UnidentifiedImageError:
    return (
      b"",
      f"mask cannot be decoded: it is none of {', '.join(_LOSSLESS)} that Pillow reads",
    )
  except Exception as error:  # Pillow raises whatever its decoders meet.
    return b"", f"mask cannot be decoded: {error}"


def numbers_of(image: Image.Image) -> np.ndarray:
  """The class numbers of an image of Pillow, uint8 or uint16 [height, width].

  Those that it has; of one that Pillow opened, they must be those of its file.

  Raises:
    ValueError: it has none, or its file may have others.
    OSError: its file cannot be read.
  """
  try:
    if image.format not in (None, "PNG"):
      raise _NoMask(f"was opened from a file of {image.format}: {_AS_FILE}")
    found = _samples(image, None)
  except _NoMask as error:
    raise ValueError(error) from error
  # Pillow makes 255 of the largest number of 2 or 4 bits.
  is_sure = (found % _WIDENED).any() or not found.any()
  if image.format is not None and image.mode == "L" and not is_sure:
    raise ValueError(f"may have other numbers than its file: {_AS_FILE}")
  return found


@functools.cache
def _formats() -> list[str]:
  """The formats that this Pillow has been built with."""
  Image.init()
  return [name for name in (*_LOSSLESS, *_LOSSY) if name in Image.OPEN]


def _numbers(
  image: Image.Image, data: bytes, lossy: bool, advice: str | None
) -> np.ndarray:
  """The samples that a file stores, uint8 or uint16 [height, width].

  Raises:
    _NoMask: it stores none, or does not say which.
  """
  _check_mode(image)
  changed_by = _lossy(image)
  if changed_by and not lossy:
    raise _NoMask(
      f"is of {changed_by}, which may have changed its class numbers: save masks as "
      f"PNG when they are made, or {advice or _take_as_they_are()}"
    )
  return _samples(image, _largest(image, data))


def _take_as_they_are() -> str:
  return f"take the numbers as they are with {said('lossy_masks=True')}"


def _check_mode(image: Image.Image) -> None:
  if image.mode not in ("1", "P", "L") and not image.mode.startswith("I"):
    raise _NoMask(f"must be gray or have a palette, but is {image.mode}")


def _samples(image: Image.Image, largest: int | None) -> np.ndarray:
  """The samples of an image whose largest number Pillow made white; see `_largest`."""
  _check_mode(image)
  shown = np.asarray(image)
  if image.mode in ("1", "P"):
    return shown.astype(np.uint8)
  if image.mode == "L" or largest is not None:
    white = 0xFF if image.mode == "L" else 0xFFFF
    largest = white if largest is None else largest
    numbers = (shown.astype(np.int64) * largest + white // 2) // white
    return numbers.astype("<u2" if largest > 0xFF else np.uint8)
  if shown.min() < 0 or shown.max() > 0xFFFF:
    raise _NoMask("has values outside 0..65535")
  return shown.astype("<u2")


def _lossy(image: Image.Image) -> str:
  """Names the encoding of an image if it need not keep samples, else ""."""
  if image.format not in _LOSSLESS:
    return image.format
  compression = image.info.get("compression", "raw")
  if image.format == "TIFF" and compression not in _TIFF_LOSSLESS:
    return f"TIFF of the compression {compression}"
  return ""


def _largest(image: Image.Image, data: bytes) -> int | None:
  """The number that Pillow makes white of; None where it keeps the numbers.

  Raises:
    _NoMask: either of two numbers may be meant, or Pillow misreads them.
  """
  if image.format == "PNG":
    return (1 << data[_PNG_DEPTH]) - 1 if image.mode == "L" else None
  if image.format == "TIFF":
    if image.tag_v2.get(_PHOTOMETRIC) == 0:
      raise _NoMask(f"is a TIFF in which 0 is white (WhiteIsZero): {_AMBIGUOUS}")
    bits = image.tag_v2.get(_BITS_PER_SAMPLE, (1,))[0]
    return (1 << bits) - 1 if image.mode == "L" else None
  if image.format == "PPM":
    if image.mode == "1":
      raise _NoMask(f"is a bitmap of PBM, in which 0 is white: {_AMBIGUOUS}")
    arguments = image.tile[0].args
    return None if isinstance(arguments, str) else arguments[1]
  if image.format == "BMP" and image.mode != "P":
    # By its few gray colours, Pillow takes it for one of fewer bits.
    header = int.from_bytes(data[14:18], "little")
    bits = data[_BMP_DEPTH if header > 12 else _BMP_DEPTH_OS2]
    if bits != (1 if image.mode == "1" else 8):
      raise _NoMask(f"is a BMP of {bits} bits with a palette of grays: {_AMBIGUOUS}")
  if image.format == "GIF" and image.mode == "P":
    colours = np.array(image.getpalette()).reshape(-1, 3)
    if (colours == colours[:, :1]).all():
      raise _NoMask(f"is a GIF with a palette of grays: {_AMBIGUOUS}")
  return None


def example_with_png(example: bytes, name: str, limits: Limits) -> tuple[bytes, str]:
  """Puts the mask of a serialized tf.train.Example as PNG, which others read.

  Args:
    example: serialized, with a mask of any of FORMATS.
    name: of the mask's feature.
    limits: the largest mask.

  Returns:
    (serialized, ""), or (as it was, why the mask cannot be read).
  """
  import tensorflow as tf

  message = tf.train.Example.FromString(example)
  masks = message.features.feature[name].bytes_list.value
  stored = ops.lib().liquid_transcode_image(
    contents=masks[0], target="png", orientation=1, **limits.attributes()
  )
  error = stored.error.numpy().decode(errors="replace")
  if error:
    return example, f"its mask: {error}"
  masks[0] = stored.encoded.numpy()
  return message.SerializeToString(deterministic=True), ""


def mask_example(mask: bytes) -> bytes:
  """Serializes the tf.train.Example that holds a mask."""
  import tensorflow as tf

  feature = tf.train.Feature(bytes_list=tf.train.BytesList(value=[mask]))
  example = tf.train.Example(features=tf.train.Features(feature={FEATURE: feature}))
  return example.SerializeToString(deterministic=True)
