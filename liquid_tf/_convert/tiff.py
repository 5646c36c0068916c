"""TIFF of 16 bits and several channels, of which Pillow keeps 8: read by tifffile."""

import io
import math
import zlib
from typing import TYPE_CHECKING

import numpy as np

from liquid_tf import _extras
from liquid_tf._native.limits import Limits

if TYPE_CHECKING:
  import tifffile

_BEGINS = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
# By the names of TIFF's numbers; JPEG and others may have changed the pixels.
_NONE, _DEFLATE = (1,), (8, 32946)
_COMPRESSIONS = (*_NONE, 5, *_DEFLATE, 32773)
_GRAY, _RGB = 1, 2
_UNASSOCIATED = 2  # alpha, by which the colours are not multiplied
_ORIENTATION = 274
# Quarter turns, counter-clockwise, after a mirror from left to right, if there is one.
_TURNED = {3: 2, 4: 2, 5: 1, 6: 3, 7: 3, 8: 1}
_MIRRORED = (2, 4, 5, 7)


def begins_so(contents: bytes) -> bool:
  """Whether a file begins as TIFF does."""
  return contents.startswith(_BEGINS)


def pixels(contents: bytes, limits: Limits) -> np.ndarray:
  """The first image's pixels, turned by its orientation: uint16, [h, w, 1 to 4].

  Raises:
    ImportError: tifffile is not installed.
    ValueError: they are of another kind, damaged, or too many.
  """
  with _extras.explained():
    import tifffile
  with tifffile.TiffFile(io.BytesIO(contents)) as file:
    page = file.pages[0]
    _check(page, limits)
    found = _assembled(page, contents)
    tag = page.tags.get(_ORIENTATION)
  return _turned(found, 1 if tag is None else int(tag.value))


def _check(page: "tifffile.TiffPage", limits: Limits) -> None:
  """Raises ValueError unless pixels can be had without loss."""
  if page.bitspersample != 16 or page.sampleformat != 1:
    raise ValueError(
      f"its numbers are {page.dtype or 'of mixed kinds'}, and must be uint8 or uint16"
    )
  samples = page.samplesperpixel
  alpha = tuple(map(int, page.extrasamples))
  colours = {_GRAY: 1, _RGB: 3}.get(int(page.photometric))
  if colours is None or samples - colours not in (0, 1) or page.imagedepth != 1:
    raise ValueError(
      f"its {samples} channels are {page.photometric.name}, and must be gray or RGB, "
      "with or without alpha"
    )
  if samples > colours and alpha != (_UNASSOCIATED,):
    raise ValueError(
      "its colours are multiplied by its alpha, or its last channel is something else"
    )
  if int(page.compression) not in _COMPRESSIONS:
    raise ValueError(f"its compression is {page.compression.name}")
  most = max(page.imagelength * page.imagewidth, math.prod(page.chunks) // samples)
  if most > limits.pixels:
    raise ValueError(f"it takes {most} pixels, over the limit of {limits.pixels}")


def _assembled(page: "tifffile.TiffPage", contents: bytes) -> np.ndarray:
  """The pixels of all strips or tiles."""
  planes, _, height, width, samples = page.shaped
  result = np.empty((planes, height, width, samples), np.uint16)
  seen = 0
  for number, (begin, size) in enumerate(zip(page.dataoffsets, page.databytecounts)):
    data = contents[begin : begin + size]
    if not size or len(data) < size:
      raise ValueError(f"it is cut off: part {number} is at offset {begin}")
    if int(page.compression) in _DEFLATE:
      _check_inflated(data, 2 * math.prod(page.chunks), number)
    part, (plane, _, top, left, _), shape = page.decode(data, number)
    if part.size < math.prod(shape):
      raise ValueError(f"part {number} has {part.size} values, not {math.prod(shape)}")
    place = result[plane, top : top + shape[1], left : left + shape[2]]
    place[...] = part[0, : place.shape[0], : place.shape[1]]
    seen += place.size
  if seen != result.size:
    raise ValueError(f"it has {seen} values, and its size says {result.size}")
  return np.moveaxis(result[..., 0], 0, -1) if planes > 1 else result[0]


def _check_inflated(data: bytes, most: int, number: int) -> None:
  """Raises ValueError if a part takes more bytes than it has values, inflated."""
  reader = zlib.decompressobj()
  try:
    reader.decompress(data, most + 1)
  except zlib.error as error:
    raise ValueError(f"part {number} is damaged: {error}") from error
  if not reader.eof and reader.unconsumed_tail:
    raise ValueError(f"part {number} takes more than {most} bytes")


def _turned(found: np.ndarray, orientation: int) -> np.ndarray:
  """Pixels as the orientation says."""
  if orientation in _MIRRORED:
    found = found[:, ::-1]
  return np.ascontiguousarray(np.rot90(found, _TURNED.get(orientation, 0)))
