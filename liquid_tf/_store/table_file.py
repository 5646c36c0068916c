"""Tables that people bring: CSV, JSON Lines, Parquet."""

import csv
import dataclasses
import io
import json
import math
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from liquid_tf import _extras
from liquid_tf._native import ops
from liquid_tf._store import storage, text_file
from liquid_tf.errors import ConvertError

# Zeros or a plus in front would be lost: such a text is no number.
_INTEGER = re.compile(r"0|-?[1-9][0-9]*")
_NUMBER = re.compile(r"-?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)(e[+-]?[0-9]+)?", re.I)
_NO_NUMBER = re.compile(r"-?(nan|inf)", re.I)
_OTHER_SEPARATORS = re.compile(r"[;\t|]")

# What the texts of a CSV's column are, of cells that are not empty.
Typing = Callable[[list[str]], list[Any]]
Typings = Callable[[Sequence[str]], Mapping[str, Typing]]
# Columns that may say which image or sample a row is of, by its name: the first one
# that a table has.
NAME_COLUMNS = ("file_name", "filename", "path", "image", "image_id", "name", "id")


@dataclasses.dataclass(frozen=True)
class TableFile:
  """A table in memory.

  Attributes:
    what: the table, for people.
    columns: values by name, all equally many; None for one that is not there.
    lines: where each row begins in a text file; None for a table that is no text.
    notes: sentences on columns that look like numbers, and are texts.
  """

  what: str
  columns: dict[str, list[Any]]
  lines: Sequence[int] | None = None
  notes: Sequence[str] = ()

  def place(self, row: int) -> str:
    """A row, for people."""
    return f"row {row + 1}" if self.lines is None else f"line {self.lines[row]}"

  def kinds(self, name: str) -> dict[type, int]:
    """The types of a column's values, each with the first row that has it."""
    result: dict[type, int] = {}
    for row, value in enumerate(self.columns[name]):
      if value is not None:
        result.setdefault(type(value), row)
    return result

  def wrong_kinds(self, name: str, must: str) -> ConvertError:
    """The error of a column whose values have types that do not go together."""
    found = " and ".join(
      f"{self.columns[name][row]!r} ({kind.__name__}, {self.place(row)})"
      for kind, row in self.kinds(name).items()
    )
    return ConvertError(f"{self.what}: column {name} must have {must}, but has {found}")


def as_texts(texts: list[str]) -> list[Any]:
  """The cells of a CSV's column, as they are."""
  return texts


def as_numbers(texts: list[str]) -> list[Any]:
  """Numbers where every cell is one as computers write it; else all as they are.

  Blanks around one say nothing. `nan` and `inf` are numbers beside others. A text that
  no number gives back, such as 007, 1_000 or +49, is none.
  """
  numbers = list(map(as_number, texts))
  is_number = [not isinstance(number, str) for number in numbers]
  if not any(is_number):
    return texts
  for i, text in enumerate(texts):
    if not is_number[i]:
      if not _NO_NUMBER.fullmatch(text.strip()):
        return texts
      numbers[i] = float(text)
  return numbers


def as_number(text: str) -> int | float | str:
  """A number where a cell is one, but for blanks around it; else the cell as it is."""
  stripped = text.strip()
  if _INTEGER.fullmatch(stripped):
    return int(stripped)
  if _NUMBER.fullmatch(stripped) and math.isfinite(number := float(stripped)):
    return number
  return text


def _mostly_numbers(
  path: str, name: str, texts: Sequence[str], lines: Sequence[int]
) -> list[str]:
  """A sentence on a column of texts that are numbers but for a few; or none.

  Args:
    path: of the table.
    name: of the column.
    texts: its cells; empty ones say nothing.
    lines: where each begins.
  """
  wrong = [row for row, text in enumerate(texts) if isinstance(as_number(text), str)]
  others = [row for row in wrong if texts[row]]
  filled = sum(map(bool, texts))
  if not others or 2 * len(others) >= filled:
    return []
  first = others[0]
  shown = texts[first] if len(texts[first]) <= 60 else f"{texts[first][:60]}…"
  return [
    f"{path}: {filled - len(others)} of {filled} cells of column {name} are numbers, "
    f"but not all (line {lines[first]} has {shown!r}), so all of them became names: "
    "leave a cell without a number empty, and write 45.5 with a point"
  ]


def name_column(names: Iterable[str]) -> str | None:
  """The column among some that says by a name what a row is of; None without one."""
  return next((name for name in NAME_COLUMNS if name in names), None)


def _csv(path: str, data: bytes, typings: Typings, other: Typing) -> TableFile:
  reader = csv.reader(io.StringIO(text_file.decode(data)), strict=True)
  names: list[str] = []
  rows: list[list[str]] = []
  lines: list[int] = []
  while True:
    line = reader.line_num + 1
    row = next(reader, None)
    if row is None:
      break
    # A row of empty cells is how spreadsheets write an empty one.
    if not any(cell.strip() for cell in row):
      continue
    if not names:
      names = row
      if len(names) == 1 and _OTHER_SEPARATORS.search(names[0]):
        raise ValueError(f"it has one column, {names[0]!r}: separate columns by commas")
      continue
    if len(row) != len(names):
      raise ValueError(
        f"line {line} has {len(row)} values, but there are {len(names)} columns "
        f"({', '.join(names)})"
      )
    rows.append(row)
    lines.append(line)
  _check_names(names)
  columns, notes, special = {}, [], typings(names)
  for i, name in enumerate(names):
    texts = [row[i] for row in rows]
    typing = special.get(name, other)
    typed = typing([text for text in texts if text])
    if typing is not as_texts and str in set(map(type, typed)):
      notes += _mostly_numbers(path, name, texts, lines)
    cells = iter(typed)
    columns[name] = [next(cells) if text else None for text in texts]
  return TableFile(path, columns, lines, notes)


def _check_names(names: Sequence[str]) -> None:
  for i, name in enumerate(names):
    if not name:
      raise ValueError(
        f"column {i + 1} has no name; pandas writes its index so, and leaves it out "
        "with index=False"
      )
    if name in names[:i]:
      raise ValueError(f"two columns have the name {name}")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
  """An object of JSON; Python's own would keep the last of two values."""
  names = [name for name, _ in pairs]
  _check_names(names)
  return dict(pairs)


def _json_lines(path: str, data: bytes) -> TableFile:
  rows, lines = [], []
  for line, text in text_file.lines(text_file.decode(data)):
    try:
      row = json.loads(text, object_pairs_hook=_object)
    except ValueError as error:
      raise ValueError(f"line {line}: {error}") from error
    if not isinstance(row, dict):
      raise ValueError(f"line {line} is no object")
    rows.append(row)
    lines.append(line)
  names = dict.fromkeys(name for row in rows for name in row)
  return TableFile(path, {n: [row.get(n) for row in rows] for n in names}, lines)


def _parquet(path: str, data: bytes) -> TableFile:
  try:
    import pyarrow
    from pyarrow import parquet
  except ImportError as error:
    raise ConvertError(f"{path}: {_extras.sentence('pyarrow')}") from error
  try:
    file = parquet.ParquetFile(pyarrow.BufferReader(data))
    _check_names(file.schema_arrow.names)
    return TableFile(path, file.read().to_pydict())
  except pyarrow.ArrowException as error:
    raise ValueError(str(error)) from error


EXTENSIONS = (".csv", ".jsonl", ".parquet")


def read(
  path: str,
  typings: Typings,
  other: Typing = as_numbers,
  data: bytes | None = None,
) -> TableFile:
  """Reads a table.

  Columns of JSON Lines and Parquet have types. Those of CSV get them here.

  Args:
    path: of the table, with one of `EXTENSIONS`.
    typings: gives those of a CSV's columns, by name; is told the names of all.
    other: of all other columns.
    data: what the file holds, where it is no file of its own; the path names it.

  Raises:
    ConvertError: it cannot be read, or a row has more or fewer values than there are
      columns.
  """
  extension = os.path.splitext(path)[1].lower()
  try:
    data = storage.read_file(path) if data is None else data
    if extension == ".csv":
      return _csv(path, data, typings, other)
    return (_json_lines if extension == ".jsonl" else _parquet)(path, data)
  except OSError as error:
    raise ConvertError(f"cannot read {ops.reason(error)}") from error
  except (ValueError, csv.Error, RecursionError) as error:
    raise ConvertError(f"{path} cannot be read: {error}") from error
