"""Labels, splits, columns and boxes of all items of a source together."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from liquid_tf._convert.sources import alike, items
from liquid_tf._convert.sources.annotations.annotations import (
  BOXES,
  KEYPOINTS,
  Annotations,
  wrong_box,
)
from liquid_tf._convert.sources.annotations.annotations import LABELS as BOX_LABELS
from liquid_tf._convert.sources.item_spool import Spool
from liquid_tf._convert.sources.items import Origin
from liquid_tf._convert.sources.samples import DEFAULT_SPLIT, numbered_splits
from liquid_tf._store import table_columns
from liquid_tf._store.columns import OF_IMAGE
from liquid_tf._store.table_columns import Cells
from liquid_tf._store.table_file import TableFile
from liquid_tf._words import said
from liquid_tf.errors import ConvertError

_OTHERS = "which others have: give all boxes some"


def labels(
  given: Sequence[Any], named: str
) -> tuple[list[str] | None, list[np.ndarray], bool]:
  """The classes and labels of items.

  Returns:
    Names of the classes, sorted, or None; the labels of each item, float32 [k]; and
    whether any was given as a float.

  Raises:
    ConvertError: two classes have hardly different names.
  """
  names = {label for label in given if isinstance(label, str)}
  none = np.zeros(0, np.float32)
  if not names:
    numbers = [[] if label is None else label[1] for label in given]
    are_floats = any(isinstance(value, float) for some in numbers for value in some)
    return None, [np.array(some, np.float32) for some in numbers], are_floats
  classes = alike.sorted_classes(named, names)
  known = {name: np.array([number], np.float32) for number, name in enumerate(classes)}
  return classes, [none if label is None else known[label] for label in given], False


def all_or_none(names: Sequence[str], has_mask: list[bool], origin: Origin) -> bool:
  """Whether items have masks; raises ConvertError where only some have one."""
  if any(has_mask) and not all(has_mask):
    number = has_mask.index(False)
    raise origin.wrong(
      number,
      names[number],
      f"has no mask, which others have: give all {origin.one}s one",
    )
  return has_mask[0]


def splits(
  names: Sequence[str], given: Sequence[str | None], origin: Origin
) -> tuple[list[str], np.ndarray]:
  """Names of the splits, and the position of each item's."""
  found = set(given)
  if found == {None}:
    return [DEFAULT_SPLIT], np.zeros(len(given), np.uint8)
  if None in found:
    number = given.index(None)
    raise origin.wrong(
      number, names[number], "has no split, which others have: give all items one"
    )
  return numbered_splits(origin.named, given)


@dataclasses.dataclass(frozen=True)
class _ItemTable(TableFile):
  """Columns of items.

  Attributes:
    origin: of the items.
    names: of these.
  """

  origin: Origin = Origin()
  names: Sequence[str] = ()

  def place(self, row: int) -> str:
    return f"{self.origin.at(row)} ({self.names[row]})"

  def wrong_kinds(self, name: str, must: str) -> ConvertError:
    error = super().wrong_kinds(name, must)
    if self.origin.named == items.WHAT:
      return error
    return ConvertError(
      f"{error}: write {name} alike everywhere, or give the samples with "
      f"{said('Source.from_iterable')}"
    )


def columns(
  names: Sequence[str], given: Sequence[Mapping[str, Any]], origin: Origin
) -> tuple[dict[str, Cells], list[str]]:
  """All columns, and sentences on what they lack.

  Raises:
    ConvertError: values of one do not go together.
  """
  result, notes = {}, []
  for name in sorted({name for some in given for name in some}):
    if name in OF_IMAGE:
      notes.append(
        f"{origin.named}: {name} is not kept, since a dataset has it of its images"
      )
      continue
    values = [some.get(name) for some in given]
    lists = [value for value in values if isinstance(value, list)]
    # Code gives what its author means; files of others have what they have.
    are_unequal = len(set(map(len, lists))) > 1 or [] in lists
    if are_unequal and origin.named != items.WHAT:
      values = [None if value is None else json.dumps(value) for value in values]
      notes.append(
        f"{origin.named}: {name} has lists of unequal length, and keeps them as JSON"
      )
    table = _ItemTable(origin.named, {name: values}, origin=origin, names=names)
    result[name] = found = table_columns.of(table, name)
    notes += found.lacking(origin.named, name, f"{origin.one}s")
  return result, notes


def annotations(
  names: Sequence[str],
  shapes: Sequence[items.Shapes],
  box_labels: Sequence[list | None],
  spool: Spool,
  origin: Origin,
) -> Annotations:
  """Boxes of all items.

  Raises:
    ConvertError: items have keypoints of unequal number, or only some have them, or
      labels of boxes; or these are names and numbers.
  """
  has = {BOXES: False, KEYPOINTS: False}
  counts = [0] * len(names)
  points = 0
  for number, each in enumerate(shapes):
    if BOXES in each:
      has[BOXES] = True
      counts[number] = each[BOXES][1][0]
    if KEYPOINTS in each:
      _, (_, count, _) = each[KEYPOINTS]
      if points and count not in (0, points):
        raise origin.wrong(
          number,
          names[number],
          f"has {count} keypoints a box, and {points} before: give each box as many",
        )
      points = points or count
  has[KEYPOINTS] = points > 0
  if not has[BOXES]:
    return Annotations(origin.named, names, counts, {})
  rows: dict[str, list[np.ndarray]] = {BOXES: [], KEYPOINTS: []}
  faults: dict[int, str] = {}
  for number, each in enumerate(spool.arrays()):
    if not counts[number]:
      continue
    if points and KEYPOINTS not in each:
      raise origin.wrong(number, names[number], f"has no {KEYPOINTS}, {_OTHERS}")
    for name in each.keys() & rows.keys():
      rows[name].append(each[name])
    fault = _wrong_place(each)
    if fault:
      faults[number] = fault
  columns = {BOXES: np.concatenate([np.zeros((0, 4), np.float32), *rows[BOXES]])}
  labels, classes = _box_classes(names, box_labels, counts, origin)
  if labels is not None:
    columns[BOX_LABELS] = labels
  if points:
    columns[KEYPOINTS] = np.concatenate(rows[KEYPOINTS])
  return Annotations(
    origin.named,
    names,
    counts,
    columns,
    classes=classes,
    faults=faults,
  )


def _wrong_place(arrays: Mapping[str, np.ndarray]) -> str:
  """Problem of the first box or keypoint that is wrong by itself, or ""."""
  for i, box in enumerate(arrays[BOXES].tolist()):
    problem = wrong_box(box)
    if problem:
      return f"{BOXES}[{i}], {box}, {problem}"
  points = arrays.get(KEYPOINTS)
  if points is not None and not np.isfinite(points).all():
    wrong = int(np.argmin(np.isfinite(points).all(axis=(1, 2))))
    return f"{KEYPOINTS}[{wrong}] is not of finite numbers"
  return ""


def _box_classes(
  names: Sequence[str],
  given: Sequence[list | None],
  counts: Sequence[int],
  origin: Origin,
) -> tuple[np.ndarray | None, list[str] | None]:
  """Labels of all boxes, int64, and their names; None where there are none.

  Raises:
    ConvertError: some boxes have no labels; or they are names and numbers.
  """
  if not any(given):
    return None, None
  first = next(labels[0] for labels in given if labels)
  for number, labels in enumerate(given):
    if counts[number] and labels is None:
      raise origin.wrong(number, names[number], f"has no {BOX_LABELS}, {_OTHERS}")
    if labels and isinstance(labels[0], str) != isinstance(first, str):
      before = "names" if isinstance(first, str) else "numbers"
      raise origin.wrong(
        number,
        names[number],
        f"{BOX_LABELS} has {labels[0]!r}, and {before} before: give names only, or "
        "numbers only",
      )
  flat = [label for labels in given for label in labels or ()]
  if not isinstance(first, str):
    return np.array(flat, np.int64), None
  classes = alike.sorted_classes(origin.named, set(flat))
  numbers = {name: number for number, name in enumerate(classes)}
  return np.array([numbers[name] for name in flat], np.int64), classes
