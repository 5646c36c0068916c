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
  wrong_box,
)
from liquid_tf.errors import ConvertError


def _list(data: Any, name: str, path: str) -> list[dict[str, Any]]:
  found = data.get(name) if isinstance(data, dict) else None
  if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
    raise ConvertError(f'{path} is no COCO file: it has no list "{name}" of objects')
  return found


def _id(given: dict[str, Any], name: str) -> int | None:
  value = given.get(name)
  return value if isinstance(value, int) else None


def _number(value: Any) -> bool:
  return isinstance(value, (int, float)) and not isinstance(value, bool)


def _box(given: Any) -> tuple[list[float], str]:
  """y0, x0, y1, x1 of x, y, width and height; and what is wrong with them."""
  if not isinstance(given, list) or len(given) != 4 or not all(map(_number, given)):
    return [0.0] * 4, "must be [x, y, width, height]"
  x, y, width, height = map(float, given)
  box = [y, x, y + height, x + width]
  return box, wrong_box(box)


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


def read(path: str) -> Annotations:
  """Reads `instances_*.json` or `person_keypoints_*.json`.

  Labels are positions among the categories, sorted by id. Segmentations are passed
  over; of a crowd, `iscrowd` stays.

  Raises:
    ConvertError: the file cannot be read, or contradicts itself.
  """
  try:
    with open(path, encoding="utf-8") as file:
      data = json.load(file)
  except OSError as error:
    raise ConvertError(f"cannot read {path}: {error.strerror}") from error
  except (ValueError, RecursionError) as error:
    raise ConvertError(f"{path} is no JSON: {error}") from error
  images = _list(data, "images", path)
  position: dict[Any, int] = {}
  for i, image in enumerate(images):
    name, number = image.get("file_name"), image.get("id")
    if not isinstance(name, str) or not isinstance(number, int):
      raise ConvertError(f"{path}: images[{i}] must have a file_name and a whole id")
    if position.setdefault(number, i) != i:
      raise ConvertError(f"{path}: images[{i}] has the id {number} of another image")
  names = [image["file_name"] for image in images]
  if len(set(names)) < len(names):
    twice = collections.Counter(names).most_common(1)[0][0]
    raise ConvertError(f"{path}: images has {twice} twice")
  categories = sorted(
    _list(data, "categories", path), key=lambda one: _id(one, "id") or 0
  )
  label_of = {_id(one, "id"): i for i, one in enumerate(categories)}
  counts = {len(one["keypoints"]) for one in categories if one.get("keypoints")}
  if len(counts) > 1:
    raise ConvertError(f"{path}: categories have unequal numbers of keypoints")
  points = counts.pop() if counts else 0

  order: list[list[int]] = [[] for _ in images]
  boxes, labels, areas, crowds, keypoints = [], [], [], [], []
  faults: dict[int, str] = {}
  for i, one in enumerate(_list(data, "annotations", path)):
    image = position.get(_id(one, "image_id"))
    if image is None:
      raise ConvertError(
        f"{path}: annotations[{i}] is of image {one.get('image_id')}, which is not in "
        "images"
      )
    box, wrong = _box(one.get("bbox"))
    if wrong:
      faults[image] = f"bbox {one.get('bbox')} of annotations[{i}] {wrong}"
    label = label_of.get(_id(one, "category_id"))
    if label is None:
      faults[image] = (
        f"annotations[{i}] is of category {one.get('category_id')}, which categories "
        "has not"
      )
    places, wrong = _points(one.get("keypoints"), points)
    if points and wrong:
      faults[image] = f"keypoints of annotations[{i}] {wrong}"
    area = one.get("area")
    order[image].append(len(boxes))
    boxes.append(box)
    labels.append(label or 0)
    keypoints.append(places)
    areas.append(
      float(area) if _number(area) else (box[2] - box[0]) * (box[3] - box[1])
    )
    crowds.append(int(bool(one.get("iscrowd"))))
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
  sizes = [(image.get("height") or 0, image.get("width") or 0) for image in images]
  return Annotations(
    path,
    names,
    [len(some) for some in order],
    columns,
    scalars={"image_id": np.array([image["id"] for image in images], np.int64)},
    sizes=np.array(sizes, np.int64).reshape(-1, 2),
    classes=[str(one.get("name", one.get("id"))) for one in categories],
    faults=faults,
  )
