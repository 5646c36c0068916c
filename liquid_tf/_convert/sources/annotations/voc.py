"""Pascal VOC: a folder with an XML file for each image."""

import collections
import os
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence

import numpy as np

from liquid_tf._convert.sources.annotations.annotations import (
  BOXES,
  LABELS,
  Annotations,
  keys_of,
  not_kept,
  parsed,
  wrong_box,
)
from liquid_tf._convert.sources.left_out import LeftOut
from liquid_tf._store import storage

# Of one image's file; those of VOC have a few kilobytes.
_MOST_BYTES = 16 << 20
_ROOT = "annotation"
# Parts of an object that are read, and the pose, which VOC itself takes no notice of.
_READ = ("name", "bndbox", "difficult", "truncated", "pose")


def _parse(path: str) -> ElementTree.Element:
  """Reads a file of VOC's.

  Raises:
    OSError: it cannot be read.
    ValueError: it is none; says why.
  """
  size = storage.file_size(path)
  if size is not None and size > _MOST_BYTES:
    raise ValueError(f"has more than {_MOST_BYTES} bytes")
  contents = storage.read_file(path)
  # Entities could stand for much more than the file's bytes. UTF-16 has zeros between.
  plain = contents.replace(b"\0", b"")
  if b"<!DOCTYPE" in plain or b"<!ENTITY" in plain:
    raise ValueError("declares a document type, which VOC's files do not")
  try:
    tree = ElementTree.fromstring(contents)
  except (ElementTree.ParseError, ValueError, LookupError) as error:
    raise ValueError(f"is no XML: {error}") from error
  if tree.tag != _ROOT:
    raise ValueError(f"is no file of VOC: it holds <{tree.tag}>, not <{_ROOT}>")
  return tree


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


def _says_something(node: ElementTree.Element) -> bool:
  return len(node) > 0 or (node.text or "").strip() not in ("", "0")


def read(root: str, names: Sequence[str], skipped: Sequence[LeftOut]) -> Annotations:
  """Reads a folder as VOC's `Annotations`; an image's key is the name of its file.

  Pixels there are counted from 1, and both ends belong to a box: so 1 is taken from the
  beginning, and the end is where the last pixel ends. Classes are sorted by name. A
  file of other XML may be something else.

  Args:
    root: the folder.
    names: paths below it, of its files of XML.
    skipped: what else is in it.

  Raises:
    ConvertError: two files are of one image.
  """
  keys = keys_of(root, names)
  counts, sizes = [], []
  boxes, things, difficult, truncated = [], [], [], []
  faults: dict[int, str] = {}
  doubtful: set[int] = set()
  lost: collections.Counter[str] = collections.Counter()
  for image, found in parsed(root, names, _parse, faults, doubtful):
    tree = ElementTree.Element(_ROOT) if found is None else found
    size = tree.find("size")
    sizes.append([_whole(size, side) for side in ("height", "width")])
    objects = tree.findall("object")
    counts.append(len(objects))
    for number, thing in enumerate(objects):
      place = thing.find("bndbox")
      ends = [_number(place, end) for end in ("ymin", "xmin", "ymax", "xmax")]
      called = (thing.findtext("name") or "").strip()
      if None in ends or not called:
        faults.setdefault(image, f"object {number} must have a name and a bndbox")
        ends = [1.0] * 4
      box = [ends[0] - 1, ends[1] - 1, ends[2], ends[3]]
      if wrong := wrong_box(box):
        faults.setdefault(image, f"bndbox of object {number} {wrong}")
        box = [0.0] * 4
      boxes.append(box)
      things.append(called)
      difficult.append(_whole(thing, "difficult"))
      truncated.append(_whole(thing, "truncated"))
      lost.update({n.tag for n in thing if n.tag not in _READ and _says_something(n)})
  # Of an image with a fault, a class may lack its name.
  classes = sorted(set(things) - {""})
  label_of = {name: i for i, name in enumerate(classes)}
  return Annotations(
    root,
    keys,
    counts,
    {
      BOXES: np.array(boxes, np.float32).reshape(-1, 4),
      LABELS: np.array([label_of.get(name, 0) for name in things], np.int64),
      "difficult": np.array(difficult, np.int64),
      "truncated": np.array(truncated, np.int64),
    },
    sizes=np.array(sizes, np.int64).reshape(-1, 2),
    classes=classes,
    faults=faults,
    files=[os.path.join(root, name) for name in names],
    doubtful=doubtful,
    skipped=skipped,
    notes=not_kept(root, lost, len(things), "objects"),
  )
