"""Exports to TFRecord."""

import os

import tensorflow as tf

from liquid_tf._convert.sources.examples import put
from liquid_tf._convert.sources.tfrecords import LABELS
from liquid_tf._export.writers import (
  IN_RECORDS,
  Beside,
  ClassFolders,
  Files,
  Item,
  Target,
)
from liquid_tf._store import texts
from liquid_tf._store.files import write_file

_NAME = "image/filename"


class TFRecordWriter:
  """Writes SPLIT-00000-of-00008.tfrecord and so on.

  Each Example has the image, its format, height and width, the label or labels, the
  name of the class, the sample's name, and the dataset's other features and metadata
  columns.
  """

  taken = IN_RECORDS | {
    *("image/encoded", "image/format", "image/height", "image/width", _NAME),
    *("image/class/label", "image/class/text"),
  }
  takes_records = False

  def __init__(self, target: Target):
    features = target.manifest["features"]
    self._folder = target.folder
    self._classes = ClassFolders(features.get("label"))
    self._names = target.names
    self._files = target.files
    self._dealt = Files(target.samples, target.files)
    self._beside = Beside(target.columns.kinds)
    # A source of ImageNet's kind may have had it.
    self._has_name = any(one.get("example") == _NAME for one in features.values())
    self._open: dict[str, tuple[int, tf.io.TFRecordWriter]] = {}

  def add(self, item: Item) -> None:
    """Writes a sample."""
    self._writer(item.split, self._dealt.deal(item.split)).write(
      self._example(item).SerializeToString(deterministic=True)
    )

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
    example = tf.train.Example.FromString(
      item.example + self._beside.example(item.values)
    )
    put(example, self._names.image, "string", [item.image])
    put(example, "image/format", "string", [item.format.encode()])
    put(example, "image/height", "int64", [item.height])
    put(example, "image/width", "int64", [item.width])
    if not self._has_name:
      put(example, _NAME, "string", [texts.encode(item.name)])
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

  @property
  def notes(self) -> list[str]:
    """Sentences on what was not written as it is."""
    return self._beside.notes
