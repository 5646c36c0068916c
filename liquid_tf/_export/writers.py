"""The writers of an export: of RecordIO, folders and TFRecords; and their samples."""

import os
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from liquid_tf import recordio
from liquid_tf._convert import exif
from liquid_tf._convert.sources.examples import ExampleNames, put
from liquid_tf._convert.sources.tfrecords import LABELS
from liquid_tf._store import formats, texts
from liquid_tf._store.files import write_file
from liquid_tf._store.manifest import Manifest
from liquid_tf.errors import ConvertError

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


class RecWriter:
  """Writes SPLIT.rec, SPLIT.idx and SPLIT.lst for each split.

  A key is a sample's number. Other features stand after the image, which readers that
  do not know them ignore; id2 says where (docs/formats/liquid.md).

  Args:
    folder: where to write.
    manifest: of the dataset.
    splits: samples of each split, by name.
  """

  def __init__(self, folder: str, manifest: Manifest, splits: dict[str, int]):
    self._folder = folder
    self._classes = ClassFolders(manifest["features"].get("label"))
    self._writers = {
      split: recordio.Writer(os.path.join(folder, f"{split}.rec")) for split in splits
    }
    self._lists: dict[str, list[recordio.ListEntry]] = {split: [] for split in splits}

  def add(self, item: Item) -> None:
    """Writes a sample."""
    labels = tuple(item.labels.tolist()) or (float("nan"),)
    header = recordio.Header(
      label=labels[0] if len(labels) == 1 else labels,
      id=item.sample,
      id2=len(item.image) if item.example else 0,
    )
    record = recordio.pack(header, item.image + item.example)
    self._writers[item.split].write(record, key=item.sample)
    path = self._classes.path(item)
    self._lists[item.split].append(recordio.ListEntry(item.sample, labels, path))

  def close(self) -> None:
    """Finishes the files."""
    for split, writer in self._writers.items():
      writer.close()
      path = os.path.join(self._folder, f"{split}.lst")
      recordio.write_list(path, self._lists[split])


class FolderWriter:
  """Writes each image to a file; masks, where there are, to a folder beside theirs.

  Args:
    folder: where to write.
    manifest: of the dataset.
    splits: names of the splits, in folders of their own where there are several.

  Raises:
    ConvertError: the labels are no classes.
  """

  def __init__(self, folder: str, manifest: Manifest, splits: dict[str, int]):
    features = manifest["features"]
    self._classes = ClassFolders(features.get("label"))
    if "label" in features and not self._classes.is_class:
      raise ConvertError(
        f"{manifest.directory} has labels that are no classes, and folders have room "
        "for one class a sample: export rec or tfrecord"
      )
    self._mask = features.get("mask", {}).get("example")
    self._folder = folder
    self._splits = {
      split: split if len(splits) > 1 else "" for split, count in splits.items()
    }
    # Also of classes without samples, so that numbers stay.
    for below in self._splits.values():
      for name in self._classes.all:
        os.makedirs(os.path.join(self._root("images"), below, name), exist_ok=True)
    self._made: set[str] = set()

  def _root(self, kind: str) -> str:
    return self._folder if self._mask is None else os.path.join(self._folder, kind)

  def add(self, item: Item) -> None:
    """Writes a sample."""
    path = os.path.join(self._splits[item.split], self._classes.path(item))
    self._write(os.path.join(self._root("images"), path), item.image)
    if self._mask is not None:
      features = tf.train.Example.FromString(item.example).features.feature
      mask = os.path.splitext(path)[0] + ".png"
      value = features[self._mask].bytes_list.value[0]
      self._write(os.path.join(self._root("masks"), mask), value)

  def _write(self, path: str, data: bytes) -> None:
    folder = os.path.dirname(path)
    if folder not in self._made:
      os.makedirs(folder, exist_ok=True)
      self._made.add(folder)
    with open(path, "wb") as file:
      file.write(data)

  def close(self) -> None:
    """Nothing is left to write."""


class TFRecordWriter:
  """Writes SPLIT-00000-of-00008.tfrecord and so on.

  Each Example has the image, its format, height and width, the label or labels, the
  name of the class, and the dataset's other features.

  Args:
    folder: where to write.
    manifest: of the dataset.
    splits: samples of each split, by name.
    files: number of files of each split.
    names: of the image's and the label's feature.
  """

  def __init__(
    self,
    folder: str,
    manifest: Manifest,
    splits: dict[str, int],
    files: dict[str, int],
    names: ExampleNames,
  ):
    self._folder = folder
    self._classes = ClassFolders(manifest["features"].get("label"))
    self._names = names
    self._splits = splits
    self._files = files
    self._written = dict.fromkeys(splits, 0)
    self._open: dict[str, tuple[int, tf.io.TFRecordWriter]] = {}

  def add(self, item: Item) -> None:
    """Writes a sample."""
    number = self._written[item.split] * self._files[item.split]
    self._writer(item.split, number // self._splits[item.split]).write(
      self._example(item).SerializeToString(deterministic=True)
    )
    self._written[item.split] += 1

  def _writer(self, split: str, number: int) -> tf.io.TFRecordWriter:
    found = self._open.get(split)
    if found is not None and found[0] == number:
      return found[1]
    if found is not None:
      found[1].close()
    writer = tf.io.TFRecordWriter(self._path(split, number))
    self._open[split] = number, writer
    return writer

  def _path(self, split: str, number: int) -> str:
    name = f"{split}-{number:05}-of-{self._files[split]:05}.tfrecord"
    return os.path.join(self._folder, name)

  def _example(self, item: Item) -> tf.train.Example:
    example = tf.train.Example.FromString(item.example)
    put(example, self._names.image, "string", [item.image])
    put(example, "image/format", "string", [item.format.encode()])
    put(example, "image/height", "int64", [item.height])
    put(example, "image/width", "int64", [item.width])
    if self._names.label and self._classes.is_class:
      put(example, self._names.label, "int64", [int(item.labels[0])])
    elif self._names.label and len(item.labels):
      put(example, self._names.label, "float32", item.labels.tolist())
    name = self._classes.name(item)
    if name is not None:
      put(example, "image/class/text", "string", [texts.encode(name)])
    return example

  def close(self) -> None:
    """Finishes the files."""
    for _, writer in self._open.values():
      writer.close()
    # Where samples were left out there are fewer to write, but as many files.
    for split, count in self._files.items():
      for number in range(count):
        open(self._path(split, number), "ab").close()
    if self._classes.names:
      lines = (f"{i}:{name}\n" for i, name in enumerate(self._classes.names))
      path = os.path.join(self._folder, LABELS)
      write_file(path, "".join(lines).encode(errors="surrogateescape"))
