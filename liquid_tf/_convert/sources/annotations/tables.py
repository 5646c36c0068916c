"""Tables of boxes or of images: CSV, JSON Lines, Parquet."""

import collections
import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from liquid_tf._convert import labels as _labels
from liquid_tf._convert.sources import alike
from liquid_tf._convert.sources.annotations.annotations import (
  BOXES,
  LABELS,
  Annotations,
  Labels,
  wrong_box,
)
from liquid_tf._store import arrays, mix, table_columns, table_file
from liquid_tf._store.columns import OF_IMAGE, name_problem
from liquid_tf._store.table_file import TableFile
from liquid_tf._words import argument, few, said
from liquid_tf.errors import ConvertError

SIDES = ("ymin", "xmin", "ymax", "xmax")
# The column that is the split of images.
_SPLIT = "split"
# Columns that are the label where none is named: the first one that a table has.
LABEL_COLUMNS = ("label", "target", "class")


class Named(NamedTuple):
  """Columns that the user names; see `Source`.

  Attributes:
    name: of images; None for one of `NAME_COLUMNS`.
    label: one, or several in a tuple; "" for none, None for one of `LABEL_COLUMNS`.
  """

  name: str | None = None
  label: str | tuple[str, ...] | None = None


# With ".0" behind it a class number is one of a column with gaps, as pandas has it.
_WHOLE = re.compile(r"(0|-?[1-9][0-9]*)(\.0)?")


UNNAMED = Named()


def _classes(texts: list[str]) -> list[Any]:
  """Class numbers where a CSV's cells are all whole; else names, as they are."""
  found = [_WHOLE.fullmatch(text.strip()) for text in texts]
  if None in found or len({match[2] for match in found}) > 1:
    return texts
  return [int(match[1]) for match in found]


def _sides(texts: list[str]) -> list[Any]:
  """Numbers where cells are such."""
  return list(map(table_file.as_number, texts))


class _Roles(NamedTuple):
  """Roles of the columns of a table.

  Attributes:
    key: names the image of each row; None where no column does.
    labels: the label's column, or columns.
    has_boxes: whether a row is a box.
  """

  key: str | None
  labels: tuple[str, ...]
  has_boxes: bool

  @classmethod
  def of(cls, names: Sequence[str], named: Named) -> "_Roles":
    """The roles of columns of these names."""
    key = named.name if named.name in names else table_file.name_column(names)
    left = [name for name in names if name != key]
    has_boxes = any(side in names for side in SIDES)
    if named.label == "" and not has_boxes:
      return cls(key, (), False)
    several = named.label if isinstance(named.label, tuple) else ()
    if several and not has_boxes:
      there = set(several) <= set(left)
      return cls(key, several if there else (), False)
    if named.label in left and isinstance(named.label, str):
      return cls(key, (named.label,), has_boxes)
    if named.label and not has_boxes:
      # Of another table.
      return cls(key, (), False)
    one = next((name for name in LABEL_COLUMNS if name in left), None)
    return cls(key, () if one is None else (one,), has_boxes)

  @property
  def typings(self) -> dict[str, table_file.Typing]:
    """Types of the cells of a CSV, by column."""
    found = {} if self.key is None else {self.key: table_file.as_texts}
    if self.has_boxes:
      found |= dict.fromkeys(self.labels, _classes)
      return found | dict.fromkeys(SIDES, _sides)
    found[_SPLIT] = table_file.as_texts
    # True and false of one column are names, and of several numbers.
    if len(self.labels) == 1:
      found |= dict.fromkeys(self.labels, table_file.as_numbers)
    return found


def _column(table: TableFile, name: str, rows: Sequence[int]) -> np.ndarray:
  """A feature of boxes, of some rows: int64, float32 or bytes; None is 0 or empty."""
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


def read(
  path: str, named: Named = UNNAMED, found: set[str] | None = None
) -> Annotations:
  """Reads a table with a column that names images.

  With the columns ymin, xmin, ymax and xmax, in pixels, a row is a box, and all other
  columns are of boxes; a row without these four is an image without boxes. `label` is
  a class, a number or a name. Without these columns a row is an image, with a label if
  there is a column of these.

  Args:
    path: of the table.
    named: columns that the user names.
    found: gets those of them that the table has.

  Raises:
    ConvertError: the file cannot be read, or lacks a column.
  """
  return parsed(opened(path, named), named, found)


def opened(path: str, named: Named, data: bytes | None = None) -> TableFile:
  """Reads the cells of a table; see `read`, and `table_file.read` for its data."""
  return table_file.read(
    path, lambda names: _Roles.of(names, named).typings, table_columns.typed, data
  )


def parsed(
  table: TableFile, named: Named, found: set[str] | None = None
) -> Annotations:
  """Finds what the rows of a table say; see `read`."""
  roles = _Roles.of(list(table.columns), named)
  _check_columns(table, roles, named)
  if found is not None:
    found |= {roles.key, *roles.labels}
  for row, key in enumerate(table.columns[roles.key]):
    if not isinstance(key, str) or not key:
      has = "has none" if key is None else f"has {key!r}"
      raise ConvertError(
        f"{table.what}, {table.place(row)}: {roles.key} must be the name of an image, "
        f"but it {has}"
      )
  return _of_boxes(table, roles) if roles.has_boxes else _of_images(table, roles)


def _check_columns(table: TableFile, roles: _Roles, named: Named) -> None:
  """Raises ConvertError unless the columns are those of a table of boxes or images."""
  has = f"it has the columns {', '.join(table.columns)}"
  if roles.key is None and named.name is not None:
    must = f"must be a column of {table.what}; {has}"
    raise ConvertError(f"{argument('name_column', named.name)} {must}")
  if roles.key is None:
    raise ConvertError(
      f"{table.what} must have a column that names the image of each row, "
      f"{', '.join(table_file.NAME_COLUMNS)}, or {said('name_column=…')}; "
      + (has if table.columns else "it is empty")
    )
  for name in table.columns:
    if name in (roles.key, *roles.labels):
      continue
    if not roles.has_boxes and name in (*OF_IMAGE, _SPLIT):
      continue
    problem = name_problem(name)
    if problem:
      raise ConvertError(f"{table.what}: column {name} {problem}")
  sides = [side for side in SIDES if side in table.columns]
  if len(sides) == len(SIDES):
    if not roles.labels:
      raise ConvertError(
        f"{table.what} must have a column {LABEL_COLUMNS[0]}, the class of each box, "
        f"or {said('label_column=…')}; {has}"
      )
    return
  others = [name for name in table.columns if name not in (roles.key, *roles.labels)]
  alike_names = [n for n in others if re.sub("[^a-z]", "", n.lower()) in SIDES]
  if alike_names:
    raise ConvertError(
      f"{table.what} must have the columns {', '.join(SIDES)}, written so, or none of "
      f"them; {has}"
    )


def _of_images(table: TableFile, roles: _Roles) -> Annotations:
  keys = table.columns[roles.key]
  if len(set(keys)) < len(keys):
    twice = collections.Counter(keys).most_common(1)[0][0]
    raise ConvertError(
      f"{table.what} has two rows of {twice}: a row is an image, unless it has a box, "
      f"whose columns are {', '.join(SIDES)}"
    )
  faults: dict[int, str] = {}
  labels = None
  if roles.labels:
    labels = _image_labels(table, roles.labels, faults)
  taken = (roles.key, *roles.labels, _SPLIT)
  others = [name for name in table.columns if name not in taken]
  notes = [*table.notes] + [
    f"{table.what}: column {name} is not kept, since a dataset has it of its images"
    for name in others
    if name in OF_IMAGE
  ]
  kept = [name for name in others if name not in OF_IMAGE]
  nested = [name for name in kept if _to_json(table, name)]
  if nested:
    notes.append(f"{table.what}: {', '.join(nested)}: lists and objects, kept as JSON")
  scalars = {name: table_columns.of(table, name) for name in kept}
  for name, cells in scalars.items():
    notes += cells.lacking(table.what, name, "rows")
  return Annotations(
    table.what,
    keys,
    [0] * len(keys),
    {},
    scalars=scalars,
    labels=labels,
    splits=None if _SPLIT in (roles.key, *roles.labels) else _splits(table),
    faults=faults,
    notes=notes,
  )


def _splits(table: TableFile) -> list[str] | None:
  """The split of each row; None of a table without that column."""
  splits = table.columns.get(_SPLIT)
  for row, split in enumerate(splits or ()):
    if not isinstance(split, str) or not mix.is_split_name(split):
      shown = "none" if split is None else repr(split)
      raise ConvertError(
        f"{table.what}: {_SPLIT} of {table.place(row)} must be the name of a split, of "
        f'letters, digits, "_" and "-", but is {shown}'
      )
  return splits


def _to_json(table: TableFile, name: str) -> bool:
  """Makes texts of a column's lists of texts, or objects; whether it has such."""
  values = table.columns[name]
  inside = [one for value in values if isinstance(value, list) for one in value] + [
    value for value in values if isinstance(value, dict)
  ]
  if not table.kinds(name).keys() <= {list, dict} or not any(
    isinstance(one, (str, list, dict)) for one in inside
  ):
    return False
  try:
    table.columns[name] = [
      None if value is None else json.dumps(value, ensure_ascii=False)
      for value in values
    ]
  except TypeError:
    return False  # Bytes and dates, which JSON has not.
  return True


def _image_labels(
  table: TableFile, names: Sequence[str], faults: dict[int, str]
) -> Labels:
  """The labels of all rows.

  Args:
    table: of images.
    names: of one column, of classes, numbers or lists of numbers; or of several, whose
      numbers are a vector.
    faults: gets why a row has none that can be stored.
  """
  if len(names) == 1 and str in table.kinds(names[0]):
    return _class_labels(table, names[0])
  for name in names:
    kinds = table.kinds(name).keys()
    numbers = kinds <= {int, float} or kinds == {bool}
    if not numbers and not (len(names) == 1 and kinds == {list}):
      must = "numbers only" if len(names) > 1 else "numbers only, or names only"
      raise table.wrong_kinds(name, must)
  result, are_floats = [], False
  for row, cells in enumerate(zip(*(table.columns[name] for name in names))):
    if isinstance(cells[0], list):
      cells = cells[0]
    lacking = [name for name, cell in zip(names, cells) if cell is None]
    if lacking or None in cells:
      cells = []
      if 0 < len(lacking) < len(names) or (not lacking):
        faults[row] = f"{table.place(row)} has no {few(lacking or names)}"
    elif not all(isinstance(cell, (bool, int, float)) for cell in cells):
      raise ConvertError(
        f"{table.what}: {names[0]} of {table.place(row)} must be a list of numbers"
      )
    elif fault := _labels.fault(cells):
      faults[row], cells = f"{table.place(row)}: {fault}", []
    are_floats |= float in map(type, cells)
    result.append(np.array(cells, "<f8").tobytes())
  return Labels(result, are_floats=are_floats)


def _class_labels(table: TableFile, name: str) -> Labels:
  """The labels of rows whose column has names of classes."""
  if table.kinds(name).keys() != {str}:
    raise table.wrong_kinds(name, "numbers only, or names only")
  cells = table.columns[name]
  for row, cell in enumerate(cells):
    wrong = _wrong_label(cell) if cell else ""
    if wrong:
      raise ConvertError(f"{table.what}: {table.place(row)} {wrong}")
  classes = alike.sorted_classes(table.what, {cell for cell in cells if cell})
  numbers = {one: np.array([i], "<f8").tobytes() for i, one in enumerate(classes)}
  return Labels([numbers[cell] if cell else b"" for cell in cells], classes)


def _of_boxes(table: TableFile, roles: _Roles) -> Annotations:
  key_name, (label_name, *_) = roles.key, roles.labels
  images: dict[str, list[int]] = {}
  faults: dict[str, str] = {}
  boxes: dict[int, list[float]] = {}
  labels = table.columns[label_name]
  _check_labels(table, label_name)
  for row, key in enumerate(table.columns[key_name]):
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
  if str in table.kinds(label_name):
    classes = sorted({labels[row] for row in rows if labels[row]})
    numbers = {name: i for i, name in enumerate(classes)}
    ordered = [numbers.get(labels[row], 0) for row in rows]
  else:
    ordered = [0 if _wrong_label(labels[row]) else int(labels[row]) for row in rows]
  keys = list(images)
  more = [name for name in table.columns if name not in (key_name, label_name, *SIDES)]
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
    notes=list(table.notes),
  )


def _wrong_sides(box: Sequence[Any]) -> str:
  """Problem of the sides of a box, or ""."""
  if not all(type(side) in (int, float) for side in box):
    return "must have four numbers"
  return wrong_box(box)


def _check_labels(table: TableFile, name: str) -> None:
  """Raises ConvertError where some labels are names, and others are not."""
  kinds = table.kinds(name).keys()
  if not (kinds <= {int, float} or kinds <= {str}):
    raise table.wrong_kinds(name, "class numbers only, or names only")


def _wrong_label(label: Any) -> str:
  """Problem of the label of a box, or ""."""
  if label is None or label == "":
    return "has no label"
  if isinstance(label, str):
    try:
      label.encode()
    except UnicodeEncodeError as error:
      return f"has a label that is no Unicode: {error}"
    return ""
  # Above 2^53, a float is no longer one whole number.
  most = 2**53 if isinstance(label, float) else 2**63 - 1
  if not 0 <= label <= most or label % 1:
    return f"has the label {label}, which is no class number: these count from 0"
  return ""
