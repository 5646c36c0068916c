"""Bytes of a dataset's files, as Python has them read (ops/direct/direct_store.h)."""

import ctypes
import functools
from typing import NamedTuple

import numpy as np

from liquid_tf._native import direct
from liquid_tf._native.limits import Limits

# In the order of LiquidKind: the lists of a tf.train.Feature.
KINDS = (None, "bytes_list", "float_list", "int64_list")


class _PcrIndex(ctypes.Structure):
  _fields_ = [
    *((name, ctypes.c_uint64) for name in ("records", "name_bytes")),
    *((name, ctypes.c_uint64) for name in ("parts", "checksums")),
    *((name, ctypes.c_void_p) for name in ("names", "name_ends", "part_ends")),
    *((name, ctypes.c_void_p) for name in ("checksum_ends", "lengths", "crc32cs")),
  ]


class _Feature(ctypes.Structure):
  _fields_ = [
    ("bytes", direct.Bytes),
    ("offsets", ctypes.c_void_p),
    ("examples", ctypes.c_uint64),
    ("name", direct.Bytes),
    *((name, ctypes.c_void_p) for name in ("kinds", "counts")),
    *((name, ctypes.c_void_p) for name in ("floats", "int64s", "places")),
  ]


class Header(NamedTuple):
  """Properties that an image's first bytes state.

  Attributes:
    shape: height, width and channels.
    bits: of a value.
  """

  shape: tuple[int, int, int]
  bits: int


class PcrRow(NamedTuple):
  """A row of an index of progressive compressed records.

  Attributes:
    name: of the record.
    lengths: int64, bytes of the metadata and of each scan group.
    crc32cs: int64, of each of these, or none.
  """

  name: str
  lengths: np.ndarray
  crc32cs: np.ndarray


class Values(NamedTuple):
  """Values of one feature of several Examples.

  Attributes:
    kinds: uint8 [examples], positions in KINDS.
    counts: int64 [examples], values of each.
    numbers: shape [values], float32 or int64, one Example after another; None of byte
      strings.
    places: shape [values, 2], uint64, where byte strings begin, and their sizes; None
      of numbers.
  """

  kinds: np.ndarray
  counts: np.ndarray
  numbers: np.ndarray | None
  places: np.ndarray | None


class WrongExample(ValueError):
  """Bytes are no tf.train.Example.

  Args:
    problem: a sentence.
    number: position of the one that is wrong.
  """

  def __init__(self, problem: str, number: int):
    super().__init__(problem)
    self.number = number


@functools.cache
def _functions() -> ctypes.CDLL:
  functions = direct.functions()
  pointer = ctypes.c_void_p
  for name, arguments in (
    ("peek", [direct.Bytes, pointer]),
    ("pcr_index", [direct.Bytes, pointer]),
    ("examples", [pointer, pointer]),
  ):
    function = getattr(functions, f"liquid_direct_{name}")
    function.argtypes = [*arguments, direct.Problem]
    function.restype = ctypes.c_bool
  return functions


def peek(file: bytes, limits: Limits) -> Header:
  """Reads what an image of any format states of itself.

  Raises:
    ValueError: it is damaged, or over the limits; one sentence.
  """
  image = direct.Image(max_pixels=limits.pixels, max_scans=limits.scans)
  done, problem = direct.call(
    _functions().liquid_direct_peek, direct.bytes_of(file), ctypes.addressof(image)
  )
  if not done:
    raise ValueError(problem)
  return Header((image.height, image.width, image.channels), image.bits)


def pcr_index(contents: bytes) -> list[PcrRow]:
  """Reads an index of progressive compressed records.

  Raises:
    ValueError: it is damaged; one sentence with the offset.
  """
  index = _PcrIndex()

  def read() -> None:
    done, problem = direct.call(
      _functions().liquid_direct_pcr_index,
      direct.bytes_of(contents),
      ctypes.addressof(index),
    )
    if not done:
      raise ValueError(problem)

  read()
  arrays = {
    "names": np.empty(index.name_bytes, np.uint8),
    "lengths": np.empty(index.parts, np.uint32),
    "crc32cs": np.empty(index.checksums, np.uint32),
    **{
      name: np.zeros(index.records, np.uint64)
      for name in ("name_ends", "part_ends", "checksum_ends")
    },
  }
  for name, array in arrays.items():
    setattr(index, name, array.ctypes.data)
  read()

  def parts(values: np.ndarray, ends: str) -> list[np.ndarray]:
    return np.split(values, arrays[ends][:-1].astype(np.int64))

  rows = zip(
    parts(arrays["names"], "name_ends"),
    parts(arrays["lengths"].astype(np.int64), "part_ends"),
    parts(arrays["crc32cs"].astype(np.int64), "checksum_ends"),
  )
  return [
    PcrRow(name.tobytes().decode(errors="surrogateescape"), lengths, crc32cs)
    for name, lengths, crc32cs in rows
  ][: index.records]


def examples(data: np.ndarray, offsets: np.ndarray, name: str, kind: str) -> Values:
  """Reads one feature of serialized tf.train.Examples.

  Args:
    data: shape [bytes], uint8, one Example after another.
    offsets: shape [examples + 1], uint64, where each begins, then their end.
    name: of the feature, as the Examples have it.
    kind: of KINDS, whose values are wanted. Those of another kind are not read.

  Raises:
    WrongExample: one is none; a sentence.
  """
  count = len(offsets) - 1
  kinds, counts = np.empty(count, np.int32), np.empty(count, np.uint64)
  key = name.encode()
  feature = _Feature(
    direct.Bytes(data.ctypes.data, data.size),
    offsets.ctypes.data,
    count,
    direct.bytes_of(key),
    kinds.ctypes.data,
    counts.ctypes.data,
  )
  wrong = ctypes.c_uint64()

  def read() -> None:
    done, problem = direct.call(
      _functions().liquid_direct_examples,
      ctypes.addressof(feature),
      ctypes.addressof(wrong),
    )
    if not done:
      raise WrongExample(problem, wrong.value)

  read()
  total = int(counts.sum())
  numbers = places = None
  if kind == "bytes_list":
    places = np.zeros((total, 2), np.uint64)
    feature.places = places.ctypes.data
  elif kind == "float_list":
    numbers = np.zeros(total, np.float32)
    feature.floats = numbers.ctypes.data
  else:
    numbers = np.zeros(total, np.int64)
    feature.int64s = numbers.ctypes.data
  read()
  return Values(kinds, counts.astype(np.int64), numbers, places)
