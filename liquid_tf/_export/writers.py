"""Samples on their way out, and what the writers of all exports have in common."""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
import tensorflow as tf

from liquid_tf._convert import exif
from liquid_tf._convert.sources import safe_names
from liquid_tf._convert.sources.examples import ExampleNames, put
from liquid_tf._export.columns import Columns, Kind
from liquid_tf._store import formats, texts
from liquid_tf._store.manifest import Manifest

# Those that other programs read.
FORMATS = tuple(sorted(row.name for row in formats.ROWS if row.exported))
# What a record's tf.train.Example has of its own.
IN_RECORDS = frozenset(["mask", "orientation"])
# Types of a tf.train.Example, for those of columns that it has not.
_IN_EXAMPLES = {"bool": "int64", "float64": "float32"}


class Listed(NamedTuple):
  """A sample that will come.

  Attributes:
    name: as the source called it.
    split: name of its split.
    label: its class; None where it has none.
  """

  name: str
  split: str
  label: int | None


@dataclasses.dataclass(frozen=True)
class Target:
  """An export: what comes, and where it goes.

  Attributes:
    folder: where to write.
    manifest: of the dataset.
    samples: how many each split has, by name.
    files: how many files each split has, where these are counted before.
    shard_size: bytes that a file should have, roughly.
    names: of the image's and the label's feature in a tf.train.Example.
    columns: of the samples.
    listed: gives every sample, in any order.
  """

  folder: str
  manifest: Manifest
  samples: dict[str, int]
  files: dict[str, int]
  shard_size: int
  names: ExampleNames
  columns: Columns
  listed: Iterable[Listed]


class Item(NamedTuple):
  """A sample on its way out.

  Attributes:
    sample: its number.
    name: as the source called it.
    split: name of its split.
    format: of the image: one of those that other programs read.
    image: the encoded image.
    height: of the image.
    width: of the image.
    labels: shape [k], float32.
    example: a serialized tf.train.Example of other features, or empty.
    orientation: as EXIF numbers them, 1 to 8.
    mask: a PNG file; None where there are no masks.
    values: of its columns, by name.
  """

  sample: int
  name: str
  split: str
  format: str
  image: bytes
  height: int
  width: int
  labels: np.ndarray
  example: bytes
  orientation: int
  mask: bytes | None
  values: Mapping[str, Any]

  @property
  def extension(self) -> str:
    """Extension of the image's file, with its dot."""
    return formats.BY_NAME[self.format].extensions[0]

  @property
  def loses_orientation(self) -> bool:
    """Whether the image's format has no room for its orientation."""
    return self.orientation != 1 and self.format not in exif.FORMATS


class Writer(Protocol):
  """Writes an export.

  Args:
    target: of the export.

  Attributes:
    taken: names that it has for something else: no column can have one.
    takes_records: whether it takes label and features as values of items; else it
      copies labels and Examples.
  """

  taken: frozenset[str]
  takes_records: bool

  def __init__(self, target: Target): ...

  def add(self, item: Item) -> None:
    """Writes a sample."""

  def close(self) -> None:
    """Finishes the files."""

  @property
  def notes(self) -> list[str]:
    """Sentences on what was not written as it is; complete after `close`."""


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
    return [safe_names.safe(name) for name in self.names or []]

  def number(self, item: Item) -> int | None:
    """A sample's class, or None."""
    return int(item.labels[0]) if self.is_class else None

  def name(self, item: Item) -> str | None:
    """Name of a sample's class, or None."""
    number = self.number(item)
    return None if number is None or self.names is None else self.names[number]

  def stem(self, name: str, split: str, label: int | None) -> str:
    """Where a sample's file lies, without extension: in the folder of its class."""
    if label is None:
      return safe_names.below(name, split)
    called = str(label) if self.names is None else self.names[label]
    return f"{safe_names.safe(called)}/{safe_names.below(name, split, called)}"


class Files:
  """Deals the samples of each split to its files, in order.

  Args:
    samples: of each split, by name.
    files: of each split.
  """

  def __init__(self, samples: dict[str, int], files: dict[str, int]):
    self._samples = samples
    self._files = files
    self._dealt = dict.fromkeys(samples, 0)

  def deal(self, split: str) -> int:
    """The file that the next sample goes to."""
    number = self._dealt[split] * self._files[split] // self._samples[split]
    self._dealt[split] += 1
    return number


class Beside:
  """Makes a tf.train.Example of values that are not in the record.

  Args:
    kinds: of the columns.
  """

  def __init__(self, kinds: Mapping[str, Kind]):
    self._kinds = kinds
    self._rounded: dict[str, int] = {}

  def example(self, values: Mapping[str, Any]) -> bytes:
    """A serialized tf.train.Example; behind another one it is their union."""
    if not values:
      return b""
    example = tf.train.Example()
    for name, value in values.items():
      kind = self._kinds[name]
      every = value if isinstance(value, list) else [value]
      if kind.dtype == "float64":
        exact = all(float(np.float32(one)) == one or one != one for one in every)
        self._rounded[name] = self._rounded.get(name, 0) + (not exact)
      put(example, name, _IN_EXAMPLES.get(kind.dtype, kind.dtype), map(_stored, every))
    return example.SerializeToString(deterministic=True)

  @property
  def notes(self) -> list[str]:
    """Sentences on what was rounded."""
    return [
      f'the column "{name}" has numbers ({count}) that are rounded to 32 bits, as a '
      "tf.train.Example has them"
      for name, count in sorted(self._rounded.items())
      if count
    ]


def _stored(value: Any) -> Any:
  """A value as an Example takes it."""
  if isinstance(value, str):
    return texts.encode(value)
  # From protobuf 7 on a list of integers refuses a boolean.
  return int(value) if isinstance(value, bool) else value
