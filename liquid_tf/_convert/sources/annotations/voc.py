"""Pascal VOC: a folder with an XML file for each image."""

import pathlib
import xml.etree.ElementTree as ElementTree

import numpy as np

from liquid_tf._convert.sources.annotations.annotations import (
  BOXES,
  LABELS,
  Annotations,
  wrong_box,
)
from liquid_tf.errors import ConvertError

# Of one image's file; those of VOC have a few kilobytes.
_MOST_BYTES = 16 << 20


def _parse(path: pathlib.Path) -> ElementTree.Element:
  try:
    if path.stat().st_size > _MOST_BYTES:
      raise ConvertError(f"{path} has more than {_MOST_BYTES} bytes")
    contents = path.read_bytes()
  except OSError as error:
    raise ConvertError(f"cannot read {path}: {error.strerror}") from error
  # Entities could stand for much more than the file's bytes.
  if b"<!DOCTYPE" in contents or b"<!ENTITY" in contents:
    raise ConvertError(f"{path} declares a document type, which VOC's files do not")
  try:
    return ElementTree.fromstring(contents)
  except ElementTree.ParseError as error:
    raise ConvertError(f"{path} is no XML: {error}") from error


def _number(node: ElementTree.Element | None, name: str) -> float | None:
  text = None if node is None else node.findtext(name)
  try:
    return None if text is None else float(text)
  except ValueError:
    return float("nan")


def _whole(node: ElementTree.Element | None, name: str) -> int:
  """A small whole number; 0 where there is none."""
  value = _number(node, name) or 0.0
  return int(value) if abs(value) < 2**31 else 0


def read(folder: str) -> Annotations:
  """Reads a folder as VOC's `Annotations`; an image's key is the name of its file.

  Pixels there are counted from 1, and both ends belong to a box: so 1 is taken from the
  beginning, and the end is where the last pixel ends. Classes are sorted by name.

  Raises:
    ConvertError: a file cannot be read.
  """
  keys, counts, sizes, faults = [], [], [], {}
  boxes, names, difficult, truncated = [], [], [], []
  root = pathlib.Path(folder)
  for path in sorted(root.rglob("*.xml")):
    tree = _parse(path)
    image = len(keys)
    keys.append(path.relative_to(root).with_suffix("").as_posix())
    size = tree.find("size")
    sizes.append([_whole(size, side) for side in ("height", "width")])
    objects = tree.findall("object")
    counts.append(len(objects))
    for number, thing in enumerate(objects):
      place = thing.find("bndbox")
      ends = [_number(place, name) for name in ("ymin", "xmin", "ymax", "xmax")]
      name = thing.findtext("name")
      if None in ends or not name:
        faults[image] = f"object {number} of {path.name} must have a name and a bndbox"
        ends, name = [1.0] * 4, name or ""
      box = [ends[0] - 1, ends[1] - 1, ends[2], ends[3]]
      if wrong_box(box):
        faults[image] = f"bndbox of object {number} of {path.name} {wrong_box(box)}"
        box = [0.0] * 4
      boxes.append(box)
      names.append(name.strip())
      difficult.append(_whole(thing, "difficult"))
      truncated.append(_whole(thing, "truncated"))
  classes = sorted(set(names))
  label_of = {name: i for i, name in enumerate(classes)}
  return Annotations(
    folder,
    keys,
    counts,
    {
      BOXES: np.array(boxes, np.float32).reshape(-1, 4),
      LABELS: np.array([label_of[name] for name in names], np.int64),
      "difficult": np.array(difficult, np.int64),
      "truncated": np.array(truncated, np.int64),
    },
    sizes=np.array(sizes, np.int64).reshape(-1, 2),
    classes=classes,
    faults=faults,
  )
