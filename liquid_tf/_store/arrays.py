"""NumPy files of a dataset: mapped, and of the same bytes whatever the NumPy."""

import math
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from liquid_tf._native import ops
from liquid_tf._store.files import AtomicFile
from liquid_tf._store.storage import crc32c, map_right, wrong_crc
from liquid_tf.errors import ManifestError

# Arrays of millions of rows are written and checked in parts, each small beside them.
_CHUNK = 16 << 20


def header(dtype: np.dtype, shape: tuple[int, ...]) -> bytes:
  """Header of a file of NumPy's format 1.0, in C order."""
  descr = dtype.descr if dtype.names else dtype.str
  text = f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {shape!r}, }}"
  text += " " * (63 - (10 + len(text)) % 64) + "\n"
  return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


def size(dtype: np.dtype, shape: tuple[int, ...]) -> int:
  """Bytes of the file of such an array."""
  return len(header(dtype, shape)) + math.prod(shape) * dtype.itemsize


def changed(values: Sequence[float] | np.ndarray, dtype: type) -> np.ndarray:
  """Finds the numbers that a float type does not hold: whole ones, and those too large.

  Of a fraction it has the nearest one, as any type has.

  Args:
    values: as they are given; integers are exact, whatever their size.
    dtype: of floats.

  Raises:
    TypeError: one is no number.
    ValueError: likewise, or they make no array.
    OverflowError: one is larger than any float.
  """
  # As objects, integers stay exact beside fractions.
  given = np.asarray(values, object)
  with np.errstate(over="ignore", invalid="ignore"):
    held = given.astype(dtype)
    cut = np.isinf(held) | np.equal(given % 1, 0).astype(bool)
  return np.not_equal(held.astype(object), given).astype(bool) & cut


class Checked:
  """Writes bytes and knows the CRC-32C of all.

  Args:
    put: takes the bytes.

  Attributes:
    size: bytes so far.
    crc32c: of these.
  """

  def __init__(self, put: Callable[[bytes], object]):
    self._put = put
    self.size = self.crc32c = 0

  def write(self, data: bytes) -> None:
    self._put(data)
    self.size += len(data)
    self.crc32c = crc32c(data, self.crc32c)


def write(directory: str, name: str, values: np.ndarray) -> dict[str, Any]:
  """Writes a file, which appears whole; returns the manifest's entry of it.

  Args:
    directory: of the dataset.
    name: of the file.
    values: of a little-endian type.

  Raises:
    OSError: it cannot be written.
  """
  packed = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
  with AtomicFile(os.path.join(directory, name)) as file:
    checked = Checked(file.write)
    checked.write(header(values.dtype, values.shape))
    for begin in range(0, len(packed), _CHUNK):
      checked.write(packed[begin : begin + _CHUNK].tobytes())
    file.commit()
  return {"path": name, "crc32c": checked.crc32c}


def load(
  path: str,
  dtype: np.dtype,
  shape: tuple[int, ...],
  crc: int,
  says: tuple[str, str],
) -> np.ndarray:
  """Reads a file and checks every byte of it.

  Args:
    path: of the file, or its URL.
    dtype: of the values.
    shape: of the array.
    crc: CRC-32C that the file must have.
    says: what tells the number of rows and the CRC-32C, for errors.

  Returns:
    The array, read-only. Of a local dataset it is mapped.

  Raises:
    ManifestError: it is missing, damaged, or another array.
  """
  data = mapped(path, crc)
  begins = header(dtype, shape)
  if len(data) != size(dtype, shape) or bytes(data[: len(begins)]) != begins:
    raise ManifestError(
      f"{path} is damaged: it does not hold the {shape[0]} rows that {says[0]} says"
    )
  check_crc(data, path, crc, says[1])
  return np.frombuffer(data, dtype, offset=len(begins)).reshape(shape)


def mapped(path: str, crc: int) -> np.ndarray:
  """The bytes of a file, right or not; see `storage.map_right`.

  Raises:
    ManifestError: it cannot be read.
  """
  try:
    return map_right(path, crc)
  except OSError as error:
    reason = ops.reason(error, path)
    raise ManifestError(f"{path} cannot be read: {reason}") from error


def check_crc(data: np.ndarray, path: str, wanted: int, says: str) -> None:
  """Raises ManifestError unless the bytes of a file have a CRC-32C."""
  crc = 0
  for start in range(0, len(data), _CHUNK):
    crc = crc32c(bytes(data[start : start + _CHUNK]), crc)
  if crc != wanted:
    raise ManifestError(f"{path} {wrong_crc(crc, wanted, says)}")
