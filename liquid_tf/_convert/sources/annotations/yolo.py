"""YOLO: a folder with a text file for each image, a line for each box."""

import os
from collections.abc import Sequence

import numpy as np

from liquid_tf._convert.sources.annotations.annotations import (
  BOXES,
  LABELS,
  Annotations,
  keys_of,
  parsed,
  wrong_box,
)
from liquid_tf._convert.sources.left_out import LeftOut
from liquid_tf._store import text_file
from liquid_tf.errors import ConvertError

# Files that hold the names of classes, a line each, in the folder or above it.
_NAMES = ("classes.txt", "obj.names")
_MOST_CLASSES = 1 << 24
_NUMBERS = 5
_NO_BOX = [0.0] * 4


def is_names(name: str) -> bool:
  """Whether a file has the name of one with the names of classes."""
  return os.path.basename(name).lower() in _NAMES


def _classes(root: str, lists: Sequence[str]) -> list[str] | None:
  """Names of the classes, by lists in the folder, or else by those above it."""
  above = [os.path.join(os.path.dirname(root), name) for name in _NAMES]
  paths = [os.path.join(root, name) for name in lists]
  paths = paths or [path for path in above if os.path.isfile(path)]
  found: dict[str, list[str]] = {}
  for path in paths:
    found[path] = text_file.read_names(path)
    if found[path] != found[paths[0]]:
      raise ConvertError(
        f"{paths[0]} and {path} name other classes: leave the list whose numbers the "
        "labels have"
      )
  return found[paths[0]] if paths else None


def _numbers(line: str) -> list[float] | None:
  """The numbers of a line; None where a word is none."""
  try:
    # Python takes 1_0 for a number.
    return [float("_" if "_" in word else word) for word in line.split()]
  except ValueError:
    return None


def _parse(line: str) -> tuple[int, list[float], str]:
  """The class, y0, x0, y1, x1 as shares of the sides, and what is wrong."""
  numbers = _numbers(line)
  must = "must be CLASS X Y WIDTH HEIGHT, five numbers"
  if numbers is None:
    return 0, _NO_BOX, f"({line[:40]!r}) {must}"
  if len(numbers) != _NUMBERS:
    found = f"{must}, but has {len(numbers)} numbers"
    if len(numbers) > _NUMBERS and len(numbers) % 2:
      points = len(numbers) // 2
      found += f", as a polygon of {points} points has: write the box around it instead"
    return 0, _NO_BOX, found
  label, x, y, width, height = numbers
  if not (label.is_integer() and 0 <= label <= _MOST_CLASSES):
    return 0, _NO_BOX, f"is of class {line.split()[0]}, which must be a whole number"
  box = [y - height / 2, x - width / 2, y + height / 2, x + width / 2]
  return int(label), box, wrong_box(box)


def has_boxes(path: str) -> bool:
  """Whether a file begins as a list of boxes does, or of polygons."""
  try:
    line = next(text_file.lines(text_file.read(path)), None)
  except (OSError, ValueError):
    return False
  return line is not None and len(_numbers(line[1]) or ()) >= _NUMBERS


def read(
  root: str,
  names: Sequence[str],
  lists: Sequence[str],
  skipped: Sequence[LeftOut],
) -> Annotations:
  """Reads a folder of labels; an image's key is the path of its file.

  A line is the class, the centre, the width and the height of a box, as shares of the
  image's sides. A file without a line of numbers may be something else.

  Args:
    root: the folder.
    names: paths below it, of its files of text.
    lists: likewise, of those that `is_names`.
    skipped: what else is in it.

  Raises:
    ConvertError: names of classes cannot be read, or contradict each other.
  """
  classes = _classes(root, lists)
  keys = keys_of(root, names)
  counts, boxes, labels = [], [], []
  faults: dict[int, str] = {}
  doubtful: set[int] = set()
  for image, text in parsed(root, names, text_file.read, faults, doubtful):
    before = len(boxes)
    lines = list(text_file.lines(text or ""))
    for number, line in lines:
      label, box, wrong = _parse(line)
      if not wrong and classes is not None and label >= len(classes):
        wrong = f"is of class {label}, and there are {len(classes)} names"
      if wrong:
        faults.setdefault(image, f"line {number} {wrong}")
      boxes.append(box)
      labels.append(label)
    if lines and not any(_numbers(line) for _, line in lines):
      doubtful.add(image)
    counts.append(len(boxes) - before)
  return Annotations(
    root,
    keys,
    counts,
    {
      # Shares are scaled before they are rounded to float32.
      BOXES: np.array(boxes, np.float64).reshape(-1, 4),
      LABELS: np.array(labels, np.int64),
    },
    classes=classes,
    faults=faults,
    relative=True,
    files=[os.path.join(root, name) for name in names],
    doubtful=doubtful,
    skipped=skipped,
  )
