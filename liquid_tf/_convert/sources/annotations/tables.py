"""Tables of boxes or of images: CSV, JSON Lines, Parquet."""

import collections
import re
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
from liquid_tf._store import arrays, table_file
from liquid_tf._store.table_file import TableFile
from liquid_tf.errors import ConvertError

KEY = "file_name"
SIDES = ("ymin", "xmin", "ymax", "xmax")
_LABEL = "label"

# With ".0" behind it a class number is one of a column with gaps, as pandas has it.
_WHOLE = re.compile(r"(0|-?[1-9][0-9]*)(\.0)?")


def _classes(texts: list[str]) -> list[Any]:
  """Class numbers where a CSV's cells are all whole; else names, as they are."""
  found = [_WHOLE.fullmatch(text) for text in texts]
  if None in found or len({match[2] for match in found}) > 1:
    return texts
  return [int(match[1]) for match in found]


def _sides(texts: list[str]) -> list[Any]:
  """Numbers where cells are such; blanks around one say nothing."""
  return [table_file.as_number(text.strip()) for text in texts]


_TYPINGS = {KEY: table_file.as_texts, _LABEL: _classes} | dict.fromkeys(SIDES, _sides)


def _column(table: TableFile, name: str, rows: Sequence[int]) -> np.ndarray:
  """A feature of some rows: int64, float32 or bytes; None is 0 or empty."""
  kinds = table.kinds(name).keys()
  values = [table.columns[name][row] for row in rows]
  if kinds <= {bytes} or kinds <= {str}:
    result = np.empty(len(values), object)
    try:
      result[:] = [v if isinstance(v, bytes) else (v or "").encode() for v in values]
    except UnicodeEncodeError as error:
      raise ConvertError(f"{table.what}: column {name}: {error}") from error
    return result
  if not (kinds <= {int, float} or kinds <= {bool}):
    raise table.wrong_kinds(name, "numbers only, or texts only")
  for row, value in zip(rows, values):
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
      raise ConvertError(
        f"{table.what}: column {name} has {value} ({table.place(row)}), which does not "
        "fit 64 bits"
      )
  numbers = [value or 0 for value in values]
  if float not in kinds:
    return np.array(numbers, np.int64)
  changed = np.flatnonzero(arrays.changed(numbers, np.float32))
  if len(changed):
    first = changed[0]
    raise ConvertError(
      f"{table.what}: column {name} has {values[first]} ({table.place(rows[first])}), "
      "which float32 does not hold: have whole numbers only, or texts"
    )
  return np.array(numbers, np.float32)


def read(path: str) -> Annotations:
  """Reads a table with a column `file_name`.

  With the columns ymin, xmin, ymax and xmax, in pixels, a row is a box, and all other
  columns are of boxes; a row without these four is an image without boxes. `label` is
  a class, a number or a name. Without these columns a row is an image.

  Raises:
    ConvertError: the file cannot be read, or lacks a column.
  """
  table = table_file.read(path, _TYPINGS)
  _check_columns(table)
  for row, key in enumerate(table.columns[KEY]):
    if not isinstance(key, str) or not key:
      has = "has none" if key is None else f"has {key!r}"
      raise ConvertError(
        f"{path}, {table.place(row)}: {KEY} must be the name of an image, but it {has}"
      )
  return _of_boxes(table) if SIDES[0] in table.columns else _of_images(table)


def _check_columns(table: TableFile) -> None:
  """Raises ConvertError unless the columns are those of a table of boxes or images."""
  has = f"it has the columns {', '.join(table.columns)}"
  if KEY not in table.columns:
    raise ConvertError(
      f"{table.what} must have a column {KEY}, the name of the image of each row; "
      + (has if table.columns else "it is empty")
    )
  for name in table.columns:
    if name in TAKEN and name != _LABEL:
      raise ConvertError(
        f"{table.what}: column {name} must have a name that no other feature has"
      )
  sides = [side for side in SIDES if side in table.columns]
  if len(sides) == len(SIDES):
    if _LABEL not in table.columns:
      raise ConvertError(
        f"{table.what} must have a column {_LABEL}, the class of each box; {has}"
      )
    return
  alike = [n for n in table.columns if re.sub("[^a-z]", "", n.lower()) in SIDES]
  if alike:
    raise ConvertError(
      f"{table.what} must have the columns {', '.join(SIDES)}, written so, or none of "
      f"them; {has}"
    )
  if _LABEL in table.columns:
    raise ConvertError(
      f"{table.what}: column {_LABEL} is of boxes, whose columns are "
      f"{', '.join(SIDES)}, and there are none; {has}: name it otherwise to keep it as "
      "a feature; for classes of images write a .lst, a line of number, class number "
      f"and {KEY} with tabs between them for each, and give that instead"
    )


def _of_images(table: TableFile) -> Annotations:
  keys = table.columns[KEY]
  if len(set(keys)) < len(keys):
    twice = collections.Counter(keys).most_common(1)[0][0]
    raise ConvertError(f"{table.what} has two rows of {twice}")
  every = range(len(keys))
  return Annotations(
    table.what,
    keys,
    [0] * len(keys),
    {},
    scalars={
      name: _column(table, name, every) for name in table.columns if name != KEY
    },
  )


def _of_boxes(table: TableFile) -> Annotations:
  images: dict[str, list[int]] = {}
  faults: dict[str, str] = {}
  boxes: dict[int, list[float]] = {}
  labels = table.columns[_LABEL]
  _check_labels(table)
  for row, key in enumerate(table.columns[KEY]):
    some = images.setdefault(key, [])
    box = [table.columns[side][row] for side in SIDES]
    if box == [None] * len(SIDES) and labels[row] is None:
      continue
    some.append(row)
    wrong = _wrong_sides(box)
    label_wrong = _wrong_label(labels[row])
    if wrong:
      shown = ", ".join(f"{side} {value}" for side, value in zip(SIDES, box))
      faults[key] = f"the box of {table.place(row)} ({shown}) {wrong}"
    elif label_wrong:
      faults[key] = f"{table.place(row)} {label_wrong}"
    boxes[row] = [0.0] * len(SIDES) if wrong else box
  rows = [row for some in images.values() for row in some]
  classes = None
  if str in table.kinds(_LABEL):
    classes = sorted({labels[row] for row in rows if labels[row]})
    numbers = {name: i for i, name in enumerate(classes)}
    ordered = [numbers.get(labels[row], 0) for row in rows]
  else:
    ordered = [0 if _wrong_label(labels[row]) else int(labels[row]) for row in rows]
  keys = list(images)
  more = [name for name in table.columns if name not in (KEY, _LABEL, *SIDES)]
  return Annotations(
    table.what,
    keys,
    [len(some) for some in images.values()],
    {
      BOXES: np.array([boxes[row] for row in rows], np.float32).reshape(-1, 4),
      LABELS: np.array(ordered, np.int64),
    }
    | {name: _column(table, name, rows) for name in more},
    classes=classes,
    faults={i: faults[key] for i, key in enumerate(keys) if key in faults},
  )


def _wrong_sides(box: Sequence[Any]) -> str:
  """Problem of the sides of a box, or ""."""
  if not all(type(side) in (int, float) for side in box):
    return "must have four numbers"
  return wrong_box(box)


def _check_labels(table: TableFile) -> None:
  """Raises ConvertError where some labels are names, and others are not."""
  kinds = table.kinds(_LABEL).keys()
  if not (kinds <= {int, float} or kinds <= {str}):
    raise table.wrong_kinds(_LABEL, "class numbers only, or names only")


def _wrong_label(label: Any) -> str:
  """Problem of the label of a box, or ""."""
  if label is None or label == "":
    return f"has no {_LABEL}"
  if isinstance(label, str):
    try:
      label.encode()
    except UnicodeEncodeError as error:
      return f"has a {_LABEL} that is no Unicode: {error}"
    return ""
  # Above 2^53, a float is no longer one whole number.
  most = 2**53 if isinstance(label, float) else 2**63 - 1
  if not 0 <= label <= most or label % 1:
    return f"has the {_LABEL} {label}, which is no class number: these count from 0"
  return ""
