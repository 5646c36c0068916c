"""Hugging Face's imagefolder: a table beside the images, which no flag names.

  metadata.csv, .jsonl or .parquet  at the top, or in the folder of each split
  file_name                         the image's path from the table's folder on
  objects                           {"bbox": [[x, y, width, height]], "categories": []}

All else is as in tables of images.
"""

import dataclasses
import posixpath
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from liquid_tf._convert.sources.annotations import tables
from liquid_tf._convert.sources.annotations.annotations import Annotations
from liquid_tf._store import storage, table_file, text_file
from liquid_tf._store.columns import OF_IMAGE, name_problem
from liquid_tf._store.table_file import TableFile
from liquid_tf._words import few
from liquid_tf.errors import ConvertError

_NAMES = tuple(f"metadata{extension}" for extension in table_file.EXTENSIONS)
_KEY = "file_name"
OBJECTS, BOX = "objects", "bbox"
_NAMED = tables.Named(_KEY)
CATEGORIES = ("categories", "category", "labels", "label")


class Beside(NamedTuple):
  """A table beside images.

  Attributes:
    folder: of both, below the source; "" for the source itself.
    name: of the file.
  """

  folder: str
  name: str

  @property
  def path(self) -> str:
    """The path below the source."""
    return posixpath.join(self.folder, self.name)


@dataclasses.dataclass(frozen=True)
class _Joined(TableFile):
  """Tables of several folders as one.

  Attributes:
    places: of each row, for people.
  """

  places: Sequence[str] = ()

  def place(self, row: int) -> str:
    return self.places[row]


def find(root: str, splits: Sequence[str]) -> list[Beside]:
  """Finds the tables of a folder of images.

  Args:
    root: the folder.
    splits: folders of its splits.

  Raises:
    ConvertError: two lie side by side, or a folder cannot be looked at.
  """
  result = []
  for folder in ("", *splits):
    whole = storage.join(root, folder) if folder else root
    with text_file.explained(whole):
      paths = {name: storage.join(whole, name) for name in _NAMES}
      names = [n for n, path in paths.items() if storage.file_size(path) is not None]
    result += [Beside(folder, name) for name in names]
  _check_alone(root, result)
  return result


def find_among(root: str, paths: Iterable[str]) -> list[Beside]:
  """Finds the tables among files, which are named as `read` names images.

  Raises:
    ConvertError: two lie side by side.
  """
  every = (Beside(*posixpath.split(path)) for path in paths)
  result = [one for one in every if one.name in _NAMES]
  _check_alone(root, result)
  return result


def _check_alone(root: str, found: Sequence[Beside]) -> None:
  """Raises ConvertError where two tables lie side by side."""
  first: dict[str, str] = {}
  for folder, name in found:
    other = first.setdefault(folder, name)
    if other != name:
      whole = storage.join(root, folder) if folder else root
      raise ConvertError(f"{whole} holds {other} and {name}: keep one of both")


def read(
  root: str,
  found: Sequence[Beside],
  notes: list[str],
  contents: Callable[[Beside], bytes] | None = None,
) -> list[Annotations]:
  """Reads the tables of a folder: columns and labels of images, and boxes.

  Args:
    root: the folder.
    found: its tables.
    notes: gets sentences on what is read, and what is not.
    contents: reads a table that is no file of its own, as in an archive.

  Returns:
    Annotations, no two of which give the same; none where the tables are others.

  Raises:
    ConvertError: a table cannot be read.
  """
  every = []
  for one in found:
    data = contents(one) if contents is not None else None
    # An archive's name is part of the path there.
    path = one.path if contents is not None else storage.join(root, one.path)
    table = tables.opened(path, _NAMED, data)
    if not any(table.columns.values()):
      raise ConvertError(f"{table.what} is empty: write its rows, or remove it")
    if _KEY in table.columns:
      every.append((one, table))
    else:
      notes.append(f"{table.what} has no column {_KEY}, and is left alone")
  if not every:
    return []
  joined = _join(every)
  objects = joined.columns.pop(OBJECTS, None)
  for name in list(joined.columns):
    if name_problem(name) and name not in (_KEY, *OF_IMAGE, *tables.LABEL_COLUMNS):
      del joined.columns[name]
      notes.append(
        f"{joined.what}: column {name} is not kept, as a dataset calls other things "
        "so: rename it before"
      )
  columns = [name for name in joined.columns if name != _KEY]
  columns += [OBJECTS] * (objects is not None)
  notes.append(
    f"{joined.what} says what images show: {', '.join(columns) or 'nothing'}"
  )
  result = [tables.parsed(joined, _NAMED)]
  if objects is not None:
    result.append(tables.parsed(_boxes(joined, objects, notes), _NAMED))
  return result


def _join(every: Sequence[tuple[Beside, TableFile]]) -> _Joined:
  """The rows of all tables, whose images have paths below the source."""
  names = dict.fromkeys(name for _, table in every for name in table.columns)
  columns: dict[str, list[Any]] = {name: [] for name in names}
  places = []
  for one, table in every:
    count = len(table.columns[_KEY])
    for name in names:
      columns[name] += table.columns.get(name, [None] * count)
    if one.folder:
      columns[_KEY][len(places) :] = [
        posixpath.join(one.folder, key) if isinstance(key, str) and key else key
        for key in table.columns[_KEY]
      ]
    before = f"{one.path}, " if len(every) > 1 else ""
    places += [before + table.place(row) for row in range(count)]
  what = few([table.what for _, table in every], 1)
  notes = [note for _, table in every for note in table.notes]
  return _Joined(what, columns, notes=notes, places=places)


def _boxes(table: _Joined, objects: Sequence[Any], notes: list[str]) -> _Joined:
  """The boxes of images, a row each; an image without any has a row without a box."""
  rows: list[list[Any]] = []
  places: list[str] = []
  more: dict[str, None] = {}
  has_classes = False
  for row, value in enumerate(objects):
    key, place = table.columns[_KEY][row], table.place(row)
    found, classes, others = objects_of(value, f"{table.what}, {place}")
    more |= dict.fromkeys(others)
    has_classes |= classes is not None
    for i, (x, y, width, height) in enumerate(found):
      label = 0 if classes is None else classes[i]
      rows.append([key, y, x, y + height, x + width, label])
    if not found:
      rows.append([key, *[None] * (len(tables.SIDES) + 1)])
    places += [place] * max(1, len(found))
  if more:
    notes.append(f"{table.what}: {', '.join(more)} of {OBJECTS} are not kept")
  if not has_classes:
    notes.append(f"{table.what}: {OBJECTS} have no categories, and all are of class 0")
  names = (_KEY, *tables.SIDES, tables.LABEL_COLUMNS[0])
  columns = dict(zip(names, map(list, zip(*rows)))) if rows else {n: [] for n in names}
  return _Joined(f"{table.what}, {OBJECTS}", columns, places=places)


def objects_of(
  value: Any, where: str
) -> tuple[list[list[float]], list[Any] | None, list[str]]:
  """The boxes of an image, their classes where there are some, and what else is there.

  Args:
    value: lists by name, or objects in a list; None for no boxes.
    where: the row, for people.

  Returns:
    Lists [x, y, width, height], the classes or None, and names of what else is there.

  Raises:
    ConvertError: there are no such boxes, or not as many classes.
  """
  if value is None:
    return [], None, []
  if isinstance(value, list) and all(isinstance(one, dict) for one in value):
    names = dict.fromkeys(name for one in value for name in one)
    value = {name: [one.get(name) for one in value] for name in names}
    if not value:
      return [], None, []
  boxes = value.get(BOX) if isinstance(value, dict) else None
  if not isinstance(boxes, list) or not all(map(_is_box, boxes)):
    raise ConvertError(
      f"{where}: {OBJECTS} must have {BOX}, a list of [x, y, width, height]"
    )
  name = next((name for name in CATEGORIES if name in value), None)
  classes = None if name is None else value[name]
  if classes is not None and (
    not isinstance(classes, list) or len(classes) != len(boxes)
  ):
    raise ConvertError(f"{where}: {name} of {OBJECTS} must be as many as {BOX}")
  return boxes, classes, [one for one in value if one not in (BOX, name)]


def _is_box(box: Any) -> bool:
  if not isinstance(box, (list, tuple)) or len(box) != 4:
    return False
  return all(type(side) in (int, float) for side in box)
