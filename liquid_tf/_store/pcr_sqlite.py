"""The SQLite index that the released PyTorch side of PCR writes.

It is made by sqlitedict: one table whose values are pickles. A pickle is a program, so
these are read with an unpickler that calls nothing.
"""

import io
import os
import pathlib
import pickle
import sqlite3

import numpy as np

from liquid_tf._store.pcr_index import PcrEntry

_TABLE = "unnamed"
# Other keys hold things about the dataset, some of them as NumPy's pickles.
_OTHER = "m_"


class _Unpickler(pickle.Unpickler):
  """Builds lists, numbers and texts; refuses every class and function."""

  def find_class(self, module, name):
    raise pickle.UnpicklingError(f"it names {module}.{name}, and must be plain numbers")


def _lengths(value: bytes) -> np.ndarray:
  """Raises ValueError unless `value` is a pickled list of a record's lengths."""
  try:
    lengths = _Unpickler(io.BytesIO(value)).load()
  except Exception as error:  # A damaged pickle raises whatever it meets.
    raise ValueError(f"its pickle cannot be read: {error}") from None
  if (
    not isinstance(lengths, list)
    or len(lengths) < 2
    or not all(type(n) is int and 0 <= n < 2**31 for n in lengths)
  ):
    raise ValueError("it must be a list of at least two lengths in [0, 2^31)")
  return np.array(lengths, np.int64)


def read_index(path: str) -> list[PcrEntry]:
  """Reads an index.

  Args:
    path: of the SQLite file; it is not changed.

  Returns:
    The entries by name; they have no checksums.

  Raises:
    ValueError: it is no such index; the message says what is wrong where.
  """
  uri = pathlib.Path(os.path.abspath(path)).as_uri() + "?mode=ro"
  entries = []
  try:
    database = sqlite3.connect(uri, uri=True)
    try:
      rows = database.execute(f"SELECT key, value FROM {_TABLE} ORDER BY key")
      for key, value in rows:
        if not isinstance(key, str) or not isinstance(value, bytes):
          raise ValueError(f"{path}: key {key!r} must be a text with a pickle")
        if key.startswith(_OTHER):
          continue
        try:
          lengths = _lengths(value)
        except ValueError as error:
          raise ValueError(f'{path}: key "{key}": {error}') from None
        entries.append(PcrEntry(key, lengths, np.zeros(0, np.int64)))
    finally:
      database.close()
  except sqlite3.Error as error:
    raise ValueError(f"{path} is no SQLite index of records: {error}") from error
  return entries
