"""Tables of samples: CSV, JSON Lines, Parquet, or columns in memory."""

import dataclasses
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from liquid_tf._store import arrays, table_file
from liquid_tf._store.columns import TAKEN, TEXT
from liquid_tf._store.table_file import TableFile
from liquid_tf.errors import ConvertError

# Columns that say which sample a row is of.
_NUMBERS, _NAMES = ("number", "sample"), ("name", "path")
_BOOLS = {"true": True, "false": False}


@dataclasses.dataclass(frozen=True)
class Table:
  """Rows of values, each of a sample.

  Attributes:
    what: the table, for people.
    by_name: whether the keys are names; else they are sample numbers.
    keys: of the rows.
    columns: dtype and values by name; a value that is not there is None.
    place: a row, for people.
  """

  what: str
  by_name: bool
  keys: list[Any]
  columns: dict[str, tuple[str, list[Any]]]
  place: Callable[[int], str]


def _typed(texts: list[str]) -> list[Any]:
  """Cells of a column of a CSV as what all of them are."""
  if all(text.lower() in _BOOLS for text in texts):
    return [_BOOLS[text.lower()] for text in texts]
  return table_file.as_numbers(texts)


def _values(name: str, given: Any) -> list[Any]:
  """A column in memory as Python's values."""
  # NumPy would give a list's values one type; an array's have one.
  array = np.asarray(given, None if hasattr(given, "dtype") else object)
  if array.ndim != 1:
    raise ConvertError(f"table: column {name} must have one value a row")
  return [v.item() if isinstance(v, np.generic) else v for v in array.tolist()]


def _read(table: str | os.PathLike | Mapping[str, Any]) -> TableFile:
  if isinstance(table, Mapping):
    columns = {name: _values(name, values) for name, values in table.items()}
    if len({len(values) for values in columns.values()}) > 1:
      raise ConvertError("table: all columns must be equally long")
    return TableFile("table", columns)
  path = os.fspath(table)
  if os.path.splitext(path)[1].lower() not in table_file.EXTENSIONS:
    raise ConvertError(
      f'table ("{path}") must end with one of {", ".join(table_file.EXTENSIONS)}'
    )
  return table_file.read(
    path, lambda _: dict.fromkeys(_NAMES, table_file.as_texts), _typed
  )


def read(table: str | os.PathLike | Mapping[str, Any]) -> Table:
  """Reads a table that has one of the key columns number, sample, name and path.

  Raises:
    ConvertError: it cannot be read, or a column is none.
  """
  found = _read(table)
  what = found.what
  keys = [name for name in (*_NUMBERS, *_NAMES) if name in found.columns]
  if len(keys) != 1:
    has = f"it has {' and '.join(keys)}" if keys else "it has none"
    if not keys and found.columns:
      has += f", but {', '.join(map(str, found.columns))}"
    raise ConvertError(
      f"{what} must have one of the columns number, sample (sample numbers), name and "
      f"path (what the source called a sample): {has}"
    )
  by_name = keys[0] in _NAMES
  key = found.columns[keys[0]]
  _check_keys(found, keys[0], by_name)
  if len(found.columns) == 1 or not key:
    raise ConvertError(f"{what} must have a row, and a column beside {keys[0]}")
  result = {}
  for name, values in found.columns.items():
    if name == keys[0]:
      continue
    if not isinstance(name, str) or not name or len(name) > 255 or name in TAKEN:
      raise ConvertError(
        f"{what}: column ({name!r}) must have a name of up to 255 characters, other "
        f"than {', '.join(TAKEN)}"
      )
    result[name] = (_dtype(found, name), values)
  return Table(
    what, by_name, [str(k) for k in key] if by_name else key, result, found.place
  )


def _check_keys(table: TableFile, name: str, by_name: bool) -> None:
  kinds = (str, int) if by_name else (int,)
  for row, key in enumerate(table.columns[name]):
    if not isinstance(key, kinds) or isinstance(key, bool):
      must = "a name" if by_name else "a sample number"
      raise ConvertError(
        f"{table.what}: {name} ({key!r}) of {table.place(row)} must be {must}"
      )


def _dtype(table: TableFile, name: str) -> str:
  """The type of a column."""
  kinds = table.kinds(name).keys()
  if not kinds:
    raise ConvertError(f"{table.what}: column {name} has no values")
  if kinds == {bool}:
    return "bool"
  if kinds <= {int, float}:
    for row, value in enumerate(table.columns[name]):
      if type(value) is int and not -(2**63) <= value < 2**63:
        raise ConvertError(
          f"{table.what}: column {name} ({value}, {table.place(row)}) must fit 64 bits"
        )
    if kinds == {int}:
      return "int64"
    check_floats(f"{table.what}: column {name}", table.columns[name])
    return "float64"
  if kinds == {str}:
    return TEXT
  raise table.wrong_kinds(name, "numbers, or true and false, or texts")


def check_floats(what: str, values: Sequence[Any]) -> None:
  """Raises ConvertError where float64 does not hold a value; None is none."""
  there = [value for value in values if value is not None]
  changed = np.flatnonzero(arrays.changed(there, np.float64))
  if len(changed):
    raise ConvertError(
      f"{what} has {there[changed[0]]}, which float64 does not hold, and fractions: "
      "have whole numbers only, or texts"
    )
