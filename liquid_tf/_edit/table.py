"""Tables of samples: CSV, JSON Lines, Parquet, or columns in memory."""

import dataclasses
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from liquid_tf._convert.sources.annotations.tables import LABEL_COLUMNS
from liquid_tf._store import columns, table_columns, table_file
from liquid_tf._store.table_columns import Cells
from liquid_tf._store.table_file import TableFile
from liquid_tf._words import said
from liquid_tf.errors import ConvertError

# Columns that say which sample a row is of.
_NUMBERS = ("number", "sample")
# Beside a number, other ones may be columns.
_SURELY_NAMES = ("file_name", "filename", "path", "name")

Given = str | os.PathLike | Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class Table:
  """Rows of values, each of a sample.

  Attributes:
    what: the table, for people.
    by_name: whether the keys are names; else they are sample numbers.
    keys: of the rows.
    columns: by name.
    place: a row, for people.
  """

  what: str
  by_name: bool
  keys: list[Any]
  columns: dict[str, Cells]
  place: Callable[[int], str]


def _values(name: str, given: Any) -> list[Any]:
  """A column in memory as Python's values."""
  # NumPy would give a list's values one type; an array's have one.
  array = np.asarray(given, None if hasattr(given, "dtype") else object)
  if array.ndim not in (1, 2):
    raise ConvertError(f"table: column {name} must have a value, or a list, a row")
  if array.ndim == 2:
    return list(array if array.dtype.kind in "iuf" else map(list, array))
  return [v.item() if isinstance(v, np.generic) else v for v in array.tolist()]


def _read(table: Given, typing: table_file.Typing = table_columns.typed) -> TableFile:
  if isinstance(table, Mapping):
    given = {name: _values(name, values) for name, values in table.items()}
    if len({len(values) for values in given.values()}) > 1:
      raise ConvertError("table: all columns must be equally long")
    return TableFile("table", given)
  path = os.fspath(table)
  if os.path.splitext(path)[1].lower() not in table_file.EXTENSIONS:
    raise ConvertError(
      f'table ("{path}") must end with one of {", ".join(table_file.EXTENSIONS)}'
    )
  return table_file.read(path, _typings, typing)


def _typings(names: Sequence[str]) -> dict[str, table_file.Typing]:
  key = table_file.name_column(names)
  return {} if key is None else {key: table_file.as_texts}


def read(table: Given) -> Table:
  """Reads a table with a column of sample numbers, or of names.

  Those are `number` or `sample`, or else the first one there of `NAME_COLUMNS`.

  Raises:
    ConvertError: it cannot be read, or a column is none.
  """
  found = _read(table)
  what, key = found.what, _key(found)
  result = {}
  for name in found.columns:
    if name == key:
      continue
    problem = columns.name_problem(name)
    if problem:
      advice = f"; {said('labels=…')} corrects labels" if name == "label" else ""
      raise ConvertError(f"{what}: column ({name!r}) {problem}{advice}")
    result[name] = table_columns.of(found, name)
    if not result[name].there.any():
      raise ConvertError(f"{what}: column {name} has no values")
  return _keyed(found, key, result)


def read_labels(table: Given) -> Table:
  """Reads a table of a column as `read` takes it, and of one of labels.

  That is the first one there of `LABEL_COLUMNS`.

  Raises:
    ConvertError: it cannot be read, or has other columns.
  """
  # True and false are names.
  found = _read(table, table_file.as_numbers)
  key = _key(found)
  others = [name for name in found.columns if name != key]
  if len(others) != 1 or others[0] not in LABEL_COLUMNS:
    raise ConvertError(
      f"{found.what} of labels must have {key} and one column more, "
      f"{' or '.join(LABEL_COLUMNS)}: it has {', '.join(map(str, others))}"
    )
  return _keyed(found, key, {others[0]: table_columns.of(found, others[0])})


def _keyed(found: TableFile, key: str, result: dict[str, Cells]) -> Table:
  by_name, keys = key not in _NUMBERS, found.columns[key]
  return Table(
    found.what, by_name, list(map(str, keys)) if by_name else keys, result, found.place
  )


def _key(found: TableFile) -> str:
  """The column that says which sample a row is of."""
  what = found.what
  keys = [name for name in _NUMBERS if name in found.columns]
  other = table_file.name_column(found.columns)
  by_name = other is not None and (not keys or other in _SURELY_NAMES)
  if by_name:
    keys.append(other)
  if len(keys) != 1:
    has = f"it has {' and '.join(keys)}" if keys else "it has none"
    if not keys and found.columns:
      has += f", but {', '.join(map(str, found.columns))}"
    raise ConvertError(
      f"{what} must have one of the columns number, sample (sample numbers), and "
      f"{', '.join(table_file.NAME_COLUMNS)} (names of samples): {has}"
    )
  _check_keys(found, keys[0], by_name)
  key = found.columns[keys[0]]
  if len(found.columns) == 1 or not key:
    raise ConvertError(f"{what} must have a row, and a column beside {keys[0]}")
  return keys[0]


def _check_keys(table: TableFile, name: str, by_name: bool) -> None:
  kinds = (str, int) if by_name else (int,)
  for row, key in enumerate(table.columns[name]):
    if not isinstance(key, kinds) or isinstance(key, bool):
      must = "a name" if by_name else "a sample number"
      raise ConvertError(
        f"{table.what}: {name} ({key!r}) of {table.place(row)} must be {must}"
      )
