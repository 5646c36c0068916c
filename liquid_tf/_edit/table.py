"""Tables of samples: CSV, JSON Lines, Parquet, or columns in memory."""

import csv
import dataclasses
import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from liquid_tf._convert.sources.annotations import tables
from liquid_tf._store.columns import TAKEN, TEXT
from liquid_tf.errors import ConvertError

# Columns that say which sample a row is of.
_NUMBERS, _NAMES = ("number", "sample"), ("name", "path")
# Zeros in front would be lost: such a text is no number.
_INTEGER = re.compile(r"[+-]?(0|[1-9][0-9]*)\Z")
_NUMBER = re.compile(
  r"[+-]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?\Z|[+-]?(nan|inf)\Z",
  re.IGNORECASE,
)
_BOOLS = {"true": True, "false": False}


@dataclasses.dataclass(frozen=True)
class Table:
  """Rows of values, each of a sample.

  Attributes:
    what: the table, for people.
    by_name: whether the keys are names; else they are sample numbers.
    keys: of the rows.
    columns: dtype and values by name; a value that is not there is None.
  """

  what: str
  by_name: bool
  keys: list[Any]
  columns: dict[str, tuple[str, list[Any]]]


def _csv(path: str) -> dict[str, list[Any]]:
  with open(path, newline="", encoding="utf-8") as file:
    reader = csv.DictReader(file, strict=True)
    rows = list(reader)
    names = list(reader.fieldnames or ())
  if any(None in row or None in row.values() for row in rows):
    raise ValueError("a row has more or fewer values than there are columns")
  return {name: _typed([row[name] for row in rows]) for name in names}


def _bool(text: str) -> bool:
  return _BOOLS[text.lower()]


def _typed(given: list[str]) -> list[Any]:
  """Texts of one column as what all of them are; empty ones as None."""
  there = [text for text in given if text]
  kind: Callable[[str], Any] = str
  if all(map(_INTEGER.match, there)):
    kind = int
  elif all(map(_NUMBER.match, there)):
    kind = float
  elif all(text.lower() in _BOOLS for text in there):
    kind = _bool
  return [kind(text) if text else None for text in given]


def _of_rows(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
  names = list(dict.fromkeys(name for row in rows for name in row))
  return {name: [row.get(name) for row in rows] for name in names}


def _of_mapping(given: Mapping[str, Any]) -> dict[str, list[Any]]:
  result = {}
  for name, values in given.items():
    array = np.asarray(values)
    if array.ndim != 1:
      raise ValueError(f"column {name} must have one value a row")
    result[name] = array.tolist()
  return result


def _read(table: str | os.PathLike | Mapping[str, Any]) -> dict[str, list[Any]]:
  """The columns of a table, as Python's values."""
  if isinstance(table, Mapping):
    return _of_mapping(table)
  path = os.fspath(table)
  extension = os.path.splitext(path)[1].lower()
  if extension == ".csv":
    return _csv(path)
  if extension not in tables.READERS:
    raise ConvertError(
      f'table ("{path}") must end with one of {", ".join(tables.READERS)}'
    )
  return _of_rows(tables.READERS[extension](path))


def read(table: str | os.PathLike | Mapping[str, Any]) -> Table:
  """Reads a table that has one of the key columns number, sample, name and path.

  Raises:
    ConvertError: it cannot be read, or a column is none.
  """
  what = "table" if isinstance(table, Mapping) else os.fspath(table)
  try:
    columns = _read(table)
  except OSError as error:
    raise ConvertError(f"cannot read {what}: {error.strerror}") from error
  except (ValueError, csv.Error, RecursionError) as error:
    raise ConvertError(f"{what} cannot be read: {error}") from error
  keys = [name for name in (*_NUMBERS, *_NAMES) if name in columns]
  if len(keys) != 1:
    found = f"it has {' and '.join(keys)}" if keys else "it has none"
    raise ConvertError(
      f"{what} must have one of the columns number, sample (sample numbers), name and "
      f"path (what the source called a sample): {found}"
    )
  key = columns.pop(keys[0])
  if len({len(key), *map(len, columns.values())}) > 1:
    raise ConvertError(f"{what}: all columns must be equally long")
  by_name = keys[0] in _NAMES
  _check_keys(what, keys[0], key, by_name)
  if not columns or not key:
    raise ConvertError(f"{what} must have a row, and a column beside {keys[0]}")
  result = {}
  for name, values in columns.items():
    if not isinstance(name, str) or not name or len(name) > 255 or name in TAKEN:
      raise ConvertError(
        f"{what}: column ({name!r}) must have a name of up to 255 characters, other "
        f"than {', '.join(TAKEN)}"
      )
    result[name] = _column(what, name, values)
  return Table(what, by_name, [str(k) for k in key] if by_name else key, result)


def _check_keys(what: str, name: str, keys: list[Any], by_name: bool) -> None:
  kinds = (str, int) if by_name else (int,)
  for i, key in enumerate(keys):
    if not isinstance(key, kinds) or isinstance(key, bool):
      must = "a name" if by_name else "a sample number"
      raise ConvertError(f"{what}: {name} ({key!r}) of row {i + 1} must be {must}")


def _column(what: str, name: str, values: Sequence[Any]) -> tuple[str, list[Any]]:
  """The type of a column, and its values."""
  kinds = {type(value) for value in values if value is not None}
  if not kinds:
    raise ConvertError(f"{what}: column {name} has no values")
  if kinds == {bool}:
    return "bool", list(values)
  if kinds == {int}:
    for value in values:
      if value is not None and not -(2**63) <= value < 2**63:
        raise ConvertError(f"{what}: column {name} ({value}) must fit 64 bits")
    return "int64", list(values)
  if kinds <= {int, float}:
    return "float64", list(values)
  if kinds == {str}:
    return TEXT, list(values)
  raise ConvertError(
    f"{what}: column {name} must have numbers, or true and false, or texts, but has "
    f"{', '.join(sorted(kind.__name__ for kind in kinds))}"
  )
