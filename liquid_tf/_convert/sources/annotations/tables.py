"""Tables of boxes or of images: CSV, JSON Lines, Parquet."""

import collections
import csv
import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from liquid_tf._convert.sources.annotations.annotations import (
  BOXES,
  LABELS,
  Annotations,
  wrong_box,
)
from liquid_tf._convert.sources.examples import TAKEN
from liquid_tf.errors import ConvertError

KEY = "file_name"
SIDES = ("ymin", "xmin", "ymax", "xmax")
_LABEL = "label"


def _csv(path: str) -> list[dict[str, Any]]:
  with open(path, newline="", encoding="utf-8") as file:
    return [_typed(row) for row in csv.DictReader(file, strict=True)]


def _typed(row: dict[str, Any]) -> dict[str, Any]:
  """Numbers of texts that are such; None of empty ones."""

  def value(text: Any) -> Any:
    if not isinstance(text, str) or not text:
      return None
    for kind in (int, float):
      try:
        return kind(text)
      except ValueError:
        continue
    return text

  return {name: value(text) for name, text in row.items()} | {KEY: row.get(KEY)}


def _json_lines(path: str) -> list[dict[str, Any]]:
  rows = []
  with open(path, encoding="utf-8") as file:
    for number, line in enumerate(file, 1):
      if not line.strip():
        continue
      row = json.loads(line)
      if not isinstance(row, dict):
        raise ValueError(f"line {number} is no object")
      rows.append(row)
  return rows


def _parquet(path: str) -> list[dict[str, Any]]:
  try:
    import pyarrow
    from pyarrow import parquet
  except ImportError as error:
    raise ConvertError(f"{path} needs pyarrow: pip install pyarrow") from error
  try:
    return parquet.read_table(path).to_pylist()
  except pyarrow.ArrowException as error:
    raise ValueError(str(error)) from error


READERS = {".csv": _csv, ".jsonl": _json_lines, ".parquet": _parquet}


def _column(name: str, values: Sequence[Any], path: str) -> np.ndarray:
  """Values as int64, float32 or bytes, by what they are; None is 0 or empty."""
  there = [value for value in values if value is not None]
  if all(isinstance(value, (bool, int)) for value in there):
    if any(abs(value) >= 2**63 for value in there):
      raise ConvertError(f"{path}: column {name} has numbers of more than 64 bits")
    return np.array([int(value or 0) for value in values], np.int64)
  if all(isinstance(value, (bool, int, float)) for value in there):
    return np.array([value or 0 for value in values], np.float32)
  if not all(isinstance(value, (str, bytes, int, float)) for value in there):
    raise ConvertError(f"{path}: column {name} must have numbers or texts")
  texts = ["" if value is None else value for value in values]
  result = np.empty(len(texts), object)
  result[:] = [t if isinstance(t, bytes) else str(t).encode() for t in texts]
  return result


def read(path: str, extension: str) -> Annotations:
  """Reads a table with a column `file_name`.

  With the columns ymin, xmin, ymax and xmax, in pixels, a row is a box, and all other
  columns are of boxes; a row without these four is an image without boxes. `label` is
  a class, a number or a name. Without these columns a row is an image.

  Raises:
    ConvertError: the file cannot be read, or lacks a column.
  """
  try:
    rows = READERS[extension](path)
  except OSError as error:
    raise ConvertError(f"cannot read {path}: {error.strerror}") from error
  except (ValueError, csv.Error, RecursionError) as error:
    raise ConvertError(f"{path} cannot be read: {error}") from error
  columns = list(dict.fromkeys(name for row in rows for name in row))
  for i, row in enumerate(rows):
    if not isinstance(row.get(KEY), str) or not row[KEY]:
      raise ConvertError(f"{path}: row {i + 1} must have a {KEY}")
  for name in columns:
    if name in TAKEN and name != _LABEL:
      raise ConvertError(
        f"{path}: column {name} must have a name that no other feature has"
      )
  if None in columns:
    raise ConvertError(f"{path} has rows of more values than there are columns")
  have = [side for side in SIDES if side in columns]
  if not have:
    return _of_images(path, rows, columns)
  if len(have) < len(SIDES):
    raise ConvertError(f"{path} must have the columns {', '.join(SIDES)}, or none")
  return _of_boxes(path, rows, [c for c in columns if c not in (KEY, _LABEL, *SIDES)])


def _of_images(path: str, rows: list[dict], columns: list[str]) -> Annotations:
  if _LABEL in columns:
    raise ConvertError(
      f"{path}: column {_LABEL} is of boxes, and there are none: name it otherwise to "
      "keep it as a feature; for classes of images write a .lst, a line of number, "
      f"class number and {KEY} with tabs between them for each, and give that instead"
    )
  keys = [row[KEY] for row in rows]
  if len(set(keys)) < len(keys):
    twice = collections.Counter(keys).most_common(1)[0][0]
    raise ConvertError(f"{path} has two rows of {twice}")
  return Annotations(
    path,
    keys,
    [0] * len(keys),
    {},
    scalars={
      name: _column(name, [row.get(name) for row in rows], path)
      for name in columns
      if name != KEY
    },
  )


def _of_boxes(path: str, rows: list[dict], more: list[str]) -> Annotations:
  images: dict[str, list[dict]] = {}
  faults: dict[str, str] = {}
  for i, row in enumerate(rows):
    some = images.setdefault(row[KEY], [])
    sides = [row.get(side) for side in SIDES]
    if all(side is None for side in sides):
      continue
    number = all(isinstance(s, (int, float)) and not isinstance(s, bool) for s in sides)
    wrong = wrong_box(sides) if number else "must have four numbers"
    if wrong:
      faults[row[KEY]] = f"the box of row {i + 1} {wrong}"
      row = row | dict.fromkeys(SIDES, 0)
    if row.get(_LABEL) is None:
      faults[row[KEY]] = f"row {i + 1} has no {_LABEL}"
    some.append(row)
  ordered = [row for some in images.values() for row in some]
  labels = [row.get(_LABEL) for row in ordered]
  classes = None
  whole = all(
    label is None or (isinstance(label, int) and 0 <= label < 2**63) for label in labels
  )
  if not whole:
    classes = sorted({str(label) for label in labels if label is not None})
    number_of = {name: i for i, name in enumerate(classes)}
    labels = [None if label is None else number_of[str(label)] for label in labels]
  keys = list(images)
  boxes = [[row[side] for side in SIDES] for row in ordered]
  return Annotations(
    path,
    keys,
    [len(some) for some in images.values()],
    {
      BOXES: np.array(boxes, np.float32).reshape(-1, 4),
      LABELS: np.array([label or 0 for label in labels], np.int64),
    }
    | {name: _column(name, [row.get(name) for row in ordered], path) for name in more},
    classes=classes,
    faults={keys.index(key): reason for key, reason in faults.items()},
  )
