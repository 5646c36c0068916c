"""COCO's instances and keypoints: one JSON file."""

import collections
import json
from typing import Any

import numpy as np

from liquid_tf._convert.sources.annotations.annotations import (
  BOXES,
  KEYPOINTS,
  LABELS,
  Annotations,
  not_kept,
  wrong_box,
)
from liquid_tf._store import text_file
from liquid_tf._store.columns import TEXT
from liquid_tf._store.table_columns import Cells
from liquid_tf.errors import ConvertError

# Keys of an annotation that are read, and those that say nothing more.
_READ = {"id", "image_id", "category_id", "bbox", "area", "iscrowd", "num_keypoints"}


def _list(data: Any, name: str, path: str) -> list[dict[str, Any]]:
  found = data.get(name) if isinstance(data, dict) else None
  if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
    raise ConvertError(f'{path} is no COCO file: it has no list "{name}" of objects')
  return found


class _Ids:
  """The ids of a list's objects: all of them whole numbers, or all texts.

  Args:
    things: the objects.
    name: of the list.
    path: of the file.

  Attributes:
    values: of the objects; 2.0, as some writers have it, is 2.

  Raises:
    ConvertError: an object has no id, one of another type, or that of another object.
  """

  def __init__(self, things: list[dict[str, Any]], name: str, path: str):
    self._name = name
    self.values: list[int | str] = []
    self._position: dict[int | str, int] = {}
    for i, thing in enumerate(things):
      value = _id(thing.get("id"))
      if value is None:
        raise ConvertError(
          f"{path}: the id of {name}[{i}] must be a whole number or a text, and is "
          f"{_said(thing, 'id')}"
        )
      if type(value) is not type(self.values[0] if i else value):
        raise ConvertError(
          f"{path}: the id of {name}[{i}] is {_said(thing, 'id')}, and that of "
          f"{name}[0] is {_said(things[0], 'id')}: all must be of one type"
        )
      first = self._position.setdefault(value, i)
      if first != i:
        raise ConvertError(
          f"{path}: {name}[{i}] has the id {value!r} of another, {name}[{first}]"
        )
      self.values.append(value)

  def find(self, thing: dict[str, Any], key: str) -> tuple[int | None, str]:
    """The position of the object that another one names, or None and what is wrong.

    Args:
      thing: the other one.
      key: of the id.
    """
    value = _id(thing.get(key))
    if value in self._position:
      return self._position[value], ""
    if value is None or (self.values and type(value) is not type(self.values[0])):
      kind = "texts" if self.values and isinstance(self.values[0], str) else "numbers"
      return None, (
        f"has the {key} {_said(thing, key)}, and ids of {self._name} are {kind}"
      )
    return None, f"has the {key} {value!r}, which none of {self._name} has"


def _id(value: Any) -> int | str | None:
  """An id as it is compared; None for what is none."""
  if isinstance(value, float) and value.is_integer():
    value = int(value)
  if isinstance(value, bool) or not isinstance(value, (int, str)):
    return None
  return value if isinstance(value, str) or abs(value) < 2**63 else None


def _said(thing: dict[str, Any], key: str) -> str:
  """A value as the file has it, with its type."""
  if key not in thing:
    return "missing"
  value = thing[key]
  kind = {str: "a text", bool: "no number", int: "a number", float: "a number"}
  text = json.dumps(value, ensure_ascii=False)
  shown = text if len(text) <= 40 else f"{text[:40]}…"
  return f"{shown}, {kind[type(value)]}" if type(value) in kind else shown


def _side(image: dict[str, Any], name: str) -> int | None:
  """Height or width of an image, 0 where it is not said; None for what is none."""
  value = image.get(name)
  if value is None:
    return 0
  value = _id(value)
  return value if isinstance(value, int) and 0 <= value < 2**31 else None


def _number(value: Any) -> bool:
  """Whether a value is a number that a float can be."""
  return type(value) in (int, float) and not abs(value) > 1e300


def _box(given: Any) -> tuple[list[float], str]:
  """y0, x0, y1, x1 of x, y, width and height; and what is wrong with them."""
  if not isinstance(given, list) or len(given) != 4 or not all(map(_number, given)):
    return [0.0] * 4, "must be [x, y, width, height]"
  x, y, width, height = map(float, given)
  box = [y, x, y + height, x + width]
  wrong = wrong_box(box)
  return ([0.0] * 4 if wrong else box), wrong


def _points(given: Any, count: int) -> tuple[list[list[float]], str]:
  """y, x and v of each keypoint; none are labelled where there are none."""
  if given is None:
    return [[0.0] * 3] * count, ""
  if (
    not isinstance(given, list)
    or len(given) != 3 * count
    or not all(map(_number, given))
  ):
    return [[0.0] * 3] * count, f"must have 3 numbers for each of {count} keypoints"
  return [[given[i + 1], given[i], given[i + 2]] for i in range(0, 3 * count, 3)], ""


def _area(given: Any, box: list[float]) -> tuple[float, str]:
  """The area, by default that of the box; and what is wrong with it."""
  if given is None:
    return (box[2] - box[0]) * (box[3] - box[1]), ""
  if not _number(given):
    return 0.0, "must be a number"
  return float(given), ""


def _crowd(given: Any) -> tuple[int, str]:
  """Whether it is a crowd, 0 or 1; and what is wrong with that."""
  if given in (None, 0, 1):
    return int(given or 0), ""
  return 0, "must be 0 or 1"


def _count_keypoints(categories: list[dict[str, Any]], path: str) -> int:
  """Keypoints of every box, by the names that the categories have for them."""
  named = [one["keypoints"] for one in categories if one.get("keypoints")]
  if not all(isinstance(names, list) for names in named):
    raise ConvertError(f"{path}: keypoints of a category must be a list of names")
  counts = {len(names) for names in named}
  if len(counts) > 1:
    raise ConvertError(f"{path}: categories have unequal numbers of keypoints")
  return counts.pop() if counts else 0


def _class_name(category: dict[str, Any]) -> str:
  name = category.get("name")
  return str(category["id"] if name is None else name)


def _load(path: str) -> Any:
  """Reads a JSON file."""
  with text_file.explained(path):
    text = text_file.read(path)
  try:
    return json.loads(text)
  except (ValueError, RecursionError) as error:
    raise ConvertError(f"{path} is no JSON: {error}") from error


def read(path: str) -> Annotations:
  """Reads `instances_*.json` or `person_keypoints_*.json`.

  Labels are positions among the categories, sorted by id. Of a crowd, `iscrowd` stays.
  Segmentations, and whatever else an annotation has, are counted in the notes.

  Raises:
    ConvertError: the file cannot be read, or contradicts itself.
  """
  data = _load(path)
  images = _list(data, "images", path)
  ids = _Ids(images, "images", path)
  sizes = []
  for i, image in enumerate(images):
    if not isinstance(image.get("file_name"), str):
      raise ConvertError(f"{path}: images[{i}] must have a file_name")
    for side in ("height", "width"):
      if _side(image, side) is None:
        raise ConvertError(
          f"{path}: the {side} of images[{i}] must be a number of pixels, and is "
          f"{_said(image, side)}"
        )
    sizes.append([_side(image, side) for side in ("height", "width")])
  names = [image["file_name"] for image in images]
  if len(set(names)) < len(names):
    twice = collections.Counter(names).most_common(1)[0][0]
    raise ConvertError(f"{path}: images has {twice} twice")
  given = _list(data, "categories", path)
  category_ids = _Ids(given, "categories", path)
  in_order = sorted(range(len(given)), key=lambda i: category_ids.values[i])
  categories = [given[i] for i in in_order]
  label_of = {position: label for label, position in enumerate(in_order)}
  points = _count_keypoints(categories, path)
  read_keys = _READ | {"keypoints"} if points else _READ

  order: list[list[int]] = [[] for _ in images]
  boxes, labels, areas, crowds, keypoints = [], [], [], [], []
  faults: dict[int, str] = {}
  lost: collections.Counter[str] = collections.Counter()
  annotations = _list(data, "annotations", path)
  for i, one in enumerate(annotations):
    image, wrong = ids.find(one, "image_id")
    if image is None:
      raise ConvertError(f"{path}: annotations[{i}] {wrong}")
    category, wrong = category_ids.find(one, "category_id")
    if wrong:
      faults.setdefault(image, f"annotations[{i}] {wrong}")
    box, wrong_bbox = _box(one.get("bbox"))
    area, wrong_area = _area(one.get("area"), box)
    crowd, wrong_crowd = _crowd(one.get("iscrowd"))
    places, wrong_places = _points(one.get("keypoints") if points else None, points)
    for key, wrong in (
      ("bbox", wrong_bbox),
      ("area", wrong_area),
      ("iscrowd", wrong_crowd),
      ("keypoints", wrong_places),
    ):
      if wrong:
        faults.setdefault(
          image, f"the {key} of annotations[{i}], {_said(one, key)}, {wrong}"
        )
    order[image].append(len(boxes))
    boxes.append(box)
    labels.append(0 if category is None else label_of[category])
    keypoints.append(places)
    areas.append(area)
    crowds.append(crowd)
    lost.update(key for key, value in one.items() if key not in read_keys and value)
  by_image = np.array([i for some in order for i in some], np.int64)
  columns = {
    BOXES: np.array(boxes, np.float32).reshape(-1, 4)[by_image],
    LABELS: np.array(labels, np.int64)[by_image],
    "area": np.array(areas, np.float32)[by_image],
    "iscrowd": np.array(crowds, np.int64)[by_image],
  }
  if points:
    shape = (-1, points, 3)
    columns[KEYPOINTS] = np.array(keypoints, np.float32).reshape(shape)[by_image]
  return Annotations(
    path,
    names,
    [len(some) for some in order],
    columns,
    scalars={"image_id": _image_ids(ids.values)},
    sizes=np.array(sizes, np.int64).reshape(-1, 2),
    classes=[_class_name(one) for one in categories],
    faults=faults,
    notes=not_kept(path, lost, len(annotations), "annotations"),
  )


def _image_ids(values: list[int | str]) -> Cells:
  """Ids as a column, of numbers or of texts."""
  there = np.ones(len(values), bool)
  if not values or isinstance(values[0], int):
    return Cells("int64", np.array(values, np.int64), there)
  return Cells(TEXT, [one.encode(errors="surrogatepass") for one in values], there)
