"""Columns of tables that people bring, as a dataset keeps them."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from liquid_tf._store import arrays, table_file, texts
from liquid_tf._store.columns import MOST_SIDE, TEXT, VECTOR, Column
from liquid_tf._store.contents import COLUMN_DTYPES
from liquid_tf._store.table_file import TableFile
from liquid_tf.errors import ConvertError

_BOOLS = {"true": True, "false": False}
# Stand for what is not there, unless NaN or an empty text says so.
_ZEROS = {"int64": 0, "bool": False}


@dataclasses.dataclass(frozen=True, eq=False)
class Cells:
  """A column of a table.

  Attributes:
    dtype: as of `Column`.
    values: of the rows: an array of that type, [rows] or [rows, k]; or texts as they
      are stored. Whatever stands where there is none.
    there: shape [rows], bool, which rows have one.
  """

  dtype: str
  values: np.ndarray | list[bytes]
  there: np.ndarray

  def column(self, rows: np.ndarray) -> Column:
    """The column of samples.

    Args:
      rows: shape [samples], that each has; -1 for none.

    Returns:
      Its values; NaN, an empty text, 0 or false where there is none. The last two are
      then the column's default.
    """
    lacks = (rows < 0) | ~self.there[rows] if len(self.there) else rows < 0
    if self.dtype == TEXT:
      given = self.values
      found = [b"" if no else given[i] for i, no in zip(rows.tolist(), lacks.tolist())]
      return Column(TEXT, found)
    zero = _ZEROS.get(self.dtype)
    shape = (len(rows), *self.values.shape[1:])
    values = np.full(shape, np.nan if zero is None else zero, self.values.dtype)
    values[~lacks] = self.values[rows[~lacks]]
    return Column(self.dtype, values, zero if lacks.any() else None)

  def lacking(self, table: str, name: str, rows: str) -> list[str]:
    """A sentence on rows that have no value, and what they have instead; or none.

    Args:
      table: what they are of, for people.
      name: of the column.
      rows: what they are called.
    """
    count = int((~self.there).sum())
    if not count:
      return []
    instead = "empty texts" if self.dtype == TEXT else "NaN"
    if self.dtype in _ZEROS:
      instead = "zeros" if self.dtype == "int64" else "false"
    of = f"{table}: {count} of {len(self.there)} {rows}"
    return [f"{of} have no {name}, and {instead} for it"]


def typed(cells: list[str]) -> list[Any]:
  """Cells of a column of a CSV as what all of them are."""
  if all(cell.lower() in _BOOLS for cell in cells):
    return [_BOOLS[cell.lower()] for cell in cells]
  return table_file.as_numbers(cells)


def of(table: TableFile, name: str) -> Cells:
  """A column by its values' types, without values one of texts.

  Raises:
    ConvertError: they have none in common, or one of them does not fit it.
  """
  values = table.columns[name]
  there = np.array([value is not None for value in values], bool)
  kinds = table.kinds(name).keys()
  if kinds <= {str} or kinds <= {bytes}:
    return Cells(TEXT, _texts(table, name), there)
  if kinds <= {list, np.ndarray}:
    return Cells(VECTOR, _vectors(table, name), there)
  if kinds == {bool}:
    dtype = "bool"
  elif kinds <= {int, float}:
    dtype = "int64" if kinds == {int} else "float64"
    _check_numbers(table, name, dtype)
  else:
    raise table.wrong_kinds(
      name, "numbers, or true and false, or texts, or lists of numbers"
    )
  filled = [0 if value is None else value for value in values]
  return Cells(dtype, np.array(filled, COLUMN_DTYPES[dtype]), there)


def _texts(table: TableFile, name: str) -> list[bytes]:
  try:
    return [
      v if isinstance(v, bytes) else texts.encode(v or "") for v in table.columns[name]
    ]
  except UnicodeEncodeError as error:
    raise ConvertError(
      f"{table.what}: column {name} must be valid Unicode: {error}"
    ) from error


def _check_numbers(table: TableFile, name: str, dtype: str) -> None:
  values = table.columns[name]
  for row, value in enumerate(values):
    if type(value) is int and not -(2**63) <= value < 2**63:
      raise ConvertError(
        f"{table.what}: column {name} ({value}, {table.place(row)}) must fit 64 bits"
      )
  if dtype == "float64":
    check_floats(f"{table.what}: column {name}", values)


def check_floats(what: str, values: Sequence[Any]) -> None:
  """Raises ConvertError where float64 does not hold a value; None is none."""
  there = [value for value in values if value is not None]
  changed = np.flatnonzero(arrays.changed(there, np.float64))
  if len(changed):
    raise ConvertError(
      f"{what} has {there[changed[0]]}, which float64 does not hold, and fractions: "
      "have whole numbers only, or texts"
    )


def _vectors(table: TableFile, name: str) -> np.ndarray:
  """Lists of equally many numbers, float32; NaN where there is none."""
  found: list[np.ndarray | None] = []
  first = width = -1
  for row, value in enumerate(table.columns[name]):
    if value is None:
      found.append(None)
      continue
    given = _numbers(value)
    if given is None or not 1 <= len(given) <= MOST_SIDE:
      shown = repr(value)
      shown = shown if len(shown) <= 60 else f"{shown[:60]}…"
      raise ConvertError(
        f"{table.what}: column {name} must have lists of 1 to {MOST_SIDE} numbers, but "
        f"has {shown} ({table.place(row)})"
      )
    with np.errstate(over="ignore"):
      kept = given.astype(np.float32)
    if (np.isinf(kept) & ~np.isinf(given)).any():
      raise ConvertError(
        f"{table.what}: column {name} of {table.place(row)} has a number that float32 "
        "does not hold"
      )
    if first < 0:
      first, width = row, len(kept)
    if len(kept) != width:
      raise ConvertError(
        f"{table.what}: column {name} must have lists of one length, but has "
        f"{width} numbers ({table.place(first)}) and {len(kept)} "
        f"({table.place(row)})"
      )
    found.append(kept)
  none = np.full(width, np.nan, np.float32)
  return np.stack([none if one is None else one for one in found])


def _numbers(value: Any) -> np.ndarray | None:
  """A list as an array of numbers, or None if it is none."""
  try:
    given = np.asarray(value)
  except ValueError:  # Lists of unequal length are in it.
    return None
  is_list = given.ndim == 1 and given.dtype.kind in "iuf"
  return given if is_list and len(given) else None
