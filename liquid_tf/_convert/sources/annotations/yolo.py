"""YOLO: a folder with a text file for each image, a line for each box."""

import pathlib

import numpy as np

from liquid_tf._convert.sources.annotations.annotations import (
  BOXES,
  LABELS,
  Annotations,
  wrong_box,
)
from liquid_tf.errors import ConvertError

# Files that hold the names of classes, a line each, in the folder or above it.
_NAMES = ("classes.txt", "obj.names")
_MOST_CLASSES = 1 << 24


def _lines(path: pathlib.Path) -> list[str]:
  try:
    return path.read_text(encoding="utf-8").splitlines()
  except OSError as error:
    raise ConvertError(f"cannot read {path}: {error.strerror}") from error
  except UnicodeDecodeError as error:
    raise ConvertError(f"{path} is no text: {error}") from error


def _classes(root: pathlib.Path) -> list[str] | None:
  for folder in (root, root.parent):
    for name in _NAMES:
      if (folder / name).is_file():
        lines = [line.strip() for line in _lines(folder / name)]
        return [line for line in lines if line]
  return None


def _parse(line: str) -> tuple[int, list[float], str]:
  """The class, y0, x0, y1, x1 as shares of the sides, and what is wrong."""
  words = line.split()
  try:
    label, x, y, width, height = int(words[0]), *map(float, words[1:])
  except (ValueError, IndexError):
    return 0, [0.0] * 4, "must be CLASS X Y WIDTH HEIGHT"
  if not 0 <= label <= _MOST_CLASSES:
    return 0, [0.0] * 4, f"is of class {label}"
  box = [y - height / 2, x - width / 2, y + height / 2, x + width / 2]
  return label, box, wrong_box(box)


def read(folder: str) -> Annotations:
  """Reads a folder of labels; an image's key is the path of its file.

  A line is the class, the centre, the width and the height of a box, as shares of the
  image's sides.

  Raises:
    ConvertError: a file cannot be read.
  """
  root = pathlib.Path(folder)
  classes = _classes(root)
  keys, counts, boxes, labels, faults = [], [], [], [], {}
  for path in sorted(root.rglob("*.txt")):
    if path.name in _NAMES:
      continue
    image, before = len(keys), len(boxes)
    keys.append(path.relative_to(root).with_suffix("").as_posix())
    for number, line in enumerate(_lines(path), 1):
      if not line.strip():
        continue
      label, box, wrong = _parse(line)
      if not wrong and classes is not None and label >= len(classes):
        wrong = f"is of class {label}, and there are {len(classes)} names"
      if wrong:
        faults[image] = f"line {number} of {path.name} {wrong}"
      boxes.append(box)
      labels.append(label)
    counts.append(len(boxes) - before)
  return Annotations(
    folder,
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
  )
