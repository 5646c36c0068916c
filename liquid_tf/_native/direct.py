"""Native functions that are called without an op (ops/direct/direct.h).

A call costs a microsecond or two, runs on the calling thread alone, and lets other
threads of Python run meanwhile.
"""

import ctypes
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from liquid_tf._native import engine
from liquid_tf._native.limits import Limits
from liquid_tf._words import Shown
from liquid_tf.errors import WrongArgument

# Bytes of a sentence about what is wrong; a longer one is cut off.
_PROBLEM = 4096
# The format of a file that goes by its first bytes.
ANY = -1

NO_INDEX = np.empty(0, np.uint8)


class Image(ctypes.Structure):
  _fields_ = [
    ("format", ctypes.c_int32),
    ("height", ctypes.c_uint32),
    ("width", ctypes.c_uint32),
    ("channels", ctypes.c_uint32),
    ("bits", ctypes.c_uint32),
    ("max_pixels", ctypes.c_uint64),
    ("max_scans", ctypes.c_uint64),
  ]


class Bytes(ctypes.Structure):
  _fields_ = [("data", ctypes.c_void_p), ("size", ctypes.c_uint64)]


class Problem(ctypes.Structure):
  _fields_ = [("text", ctypes.c_void_p), ("size", ctypes.c_uint64)]


def bytes_of(data: bytes) -> Bytes:
  """Shows C the bytes of an object, which must outlive the call."""
  return Bytes(ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p), len(data))


class _Pcr(ctypes.Structure):
  _fields_ = [
    ("record", Bytes),
    ("lengths", ctypes.c_void_p),
    ("crc32cs", ctypes.c_void_p),
    ("parts", ctypes.c_uint64),
    ("images", ctypes.c_uint64),
  ]


class _PcrPlaces(ctypes.Structure):
  _fields_ = [
    ("chunks", ctypes.c_void_p),
    ("examples", ctypes.c_void_p),
    ("labels", ctypes.c_void_p),
  ]


class PcrPlaces(NamedTuple):
  """Where the parts of a progressive compressed record's images stand in its file.

  Attributes:
    chunks: shape [groups, images, 2], uint64, offset and bytes.
    examples: shape [images, 2], uint64, likewise; 0 bytes for none.
    labels: shape [images], int32; -1 for none.
  """

  chunks: np.ndarray
  examples: np.ndarray
  labels: np.ndarray


@functools.cache
def functions() -> ctypes.CDLL:
  """The engine, by whose C functions Python calls it.

  Raises:
    ImportError: there is none.
  """
  direct = engine.load()
  pointer = ctypes.c_void_p
  direct.liquid_direct_crc32c.argtypes = [Bytes, ctypes.c_uint32]
  direct.liquid_direct_crc32c.restype = ctypes.c_uint32
  direct.liquid_direct_decode.argtypes = [Bytes, Bytes, pointer, pointer, Problem]
  direct.liquid_direct_decode.restype = ctypes.c_bool
  direct.liquid_direct_pcr.argtypes = [pointer, pointer, Problem]
  direct.liquid_direct_pcr.restype = ctypes.c_bool
  return direct


def call(function: Callable[..., int], *arguments: Any) -> tuple[int, str]:
  """Calls a function whose last argument is room for a sentence.

  Returns:
    Its result, and the sentence.
  """
  text = ctypes.create_string_buffer(_PROBLEM)
  end = function(*arguments, Problem(ctypes.addressof(text), _PROBLEM))
  return end, text.value.decode(errors="replace")


def crc32c(data: np.ndarray, crc: int = 0) -> int:
  """CRC-32C of an array of uint8, extending `crc`."""
  return functions().liquid_direct_crc32c(Bytes(data.ctypes.data, data.size), crc)


def decode(
  file: np.ndarray,
  shape: tuple[int, int, int],
  dtype: np.dtype,
  limits: Limits,
  format_number: int = ANY,
  index: np.ndarray = NO_INDEX,
) -> np.ndarray:
  """Decodes a whole image.

  Args:
    file: shape [bytes], uint8.
    shape: height, width and channels that the image must have.
    dtype: uint8 or uint16, that it must have.
    limits: the largest image, and most scans of a JPEG, that are decoded.
    format_number: position in the store's FORMATS, or ANY.
    index: shape [bytes], uint8, the entry points of a JPEG; empty for none.

  Returns:
    The pixels, of that shape and dtype.

  Raises:
    ValueError: the file or its index is damaged or holds something else; one sentence.
  """
  height, width, channels = shape
  if height * width > limits.pixels:
    raise ValueError(
      f"an image of {height} x {width} pixels has more than the limit of "
      f"{limits.pixels}"
    )
  pixels = np.empty(shape, dtype)
  image = Image(
    format_number,
    height,
    width,
    channels,
    8 * pixels.itemsize,
    limits.pixels,
    limits.scans,
  )
  done, problem = call(
    functions().liquid_direct_decode,
    Bytes(file.ctypes.data, file.size),
    Bytes(index.ctypes.data, index.size),
    ctypes.addressof(image),
    pixels.ctypes.data,
  )
  if not done:
    raise ValueError(problem)
  return pixels


def pcr_places(
  record: np.ndarray, lengths: np.ndarray, crc32cs: np.ndarray, images: int
) -> PcrPlaces:
  """Checks a progressive compressed record and finds its parts.

  Args:
    record: shape [bytes], uint8, the whole file.
    lengths: shape [1 + groups], bytes of the metadata and of each scan group.
    crc32cs: shape [1 + groups], CRC-32C of each of these.
    images: that it must have.

  Raises:
    ValueError: it is damaged; one sentence with the offset.
  """
  parts = len(lengths)
  places = PcrPlaces(
    np.empty([parts - 1, images, 2], np.uint64),
    np.empty([images, 2], np.uint64),
    np.empty([images], np.int32),
  )
  words = [np.ascontiguousarray(values, np.uint32) for values in (lengths, crc32cs)]
  if len(words[1]) != parts:
    raise WrongArgument(
      "crc32cs", Shown(f"{len(words[1])} of them"), "must be as many as lengths"
    )
  pcr = _Pcr(
    Bytes(record.ctypes.data, record.size),
    *(values.ctypes.data for values in words),
    parts,
    images,
  )
  found = _PcrPlaces(*(array.ctypes.data for array in places))
  done, problem = call(
    functions().liquid_direct_pcr, ctypes.addressof(pcr), ctypes.addressof(found)
  )
  if not done:
    raise ValueError(problem)
  return places
