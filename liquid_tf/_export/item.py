"""Samples as an export gets them, and their names."""

from typing import Any, NamedTuple

import numpy as np

from liquid_tf._convert import exif
from liquid_tf._store import formats

# Those that other programs read.
FORMATS = tuple(sorted(row.name for row in formats.ROWS if row.exported))


class Item(NamedTuple):
  """A sample on its way out.

  Attributes:
    sample: its number.
    split: name of its split.
    format: of the image: one of those that other programs read.
    image: the encoded image.
    height: of the image.
    width: of the image.
    labels: shape [k], float32.
    example: a serialized tf.train.Example of other features, or empty.
    orientation: as EXIF numbers them, 1 to 8.
  """

  sample: int
  split: str
  format: str
  image: bytes
  height: int
  width: int
  labels: np.ndarray
  example: bytes
  orientation: int

  @property
  def file_name(self) -> str:
    """A name that depends on number and format only."""
    return f"{self.sample:08}{formats.BY_NAME[self.format].extensions[0]}"

  @property
  def loses_orientation(self) -> bool:
    """Whether the image's format has no room for its orientation."""
    return self.orientation != 1 and self.format not in exif.FORMATS


class ClassFolders:
  """Names of folders for classes.

  Args:
    label: the manifest's entry of the labels, or None.

  Attributes:
    is_class: whether samples have class numbers.
    names: of the classes; None where they have none.
  """

  def __init__(self, label: dict[str, Any] | None):
    self.is_class = label is not None and label["dtype"] == "int64"
    self.names = (label or {}).get("classes")

  @property
  def all(self) -> list[str]:
    """The folders of all classes that have names."""
    return [_folder(name) for name in self.names or []]

  def name(self, item: Item) -> str | None:
    """Name of a sample's class, or None."""
    if not self.is_class or self.names is None:
      return None
    return self.names[int(item.labels[0])]

  def path(self, item: Item) -> str:
    """A sample's path: in the folder of its class, if it has one."""
    if not self.is_class:
      return item.file_name
    name = self.name(item)
    folder = str(int(item.labels[0])) if name is None else _folder(name)
    return f"{folder}/{item.file_name}"


def _folder(name: str) -> str:
  """The name of a class as that of a folder: what a name cannot hold is %-encoded."""
  # Hidden files are no samples.
  unsafe = ["/", "%", *map(chr, range(32)), *(["."] if name.startswith(".") else [])]
  return "".join(f"%{ord(c):02X}" if c in unsafe else c for c in name) or "%"
