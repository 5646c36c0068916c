"""Export to TFRecord files of tf.train.Examples, and labels.txt beside them."""

import os

import tensorflow as tf

from liquid_tf._convert.sources.examples import ExampleNames
from liquid_tf._convert.sources.tfrecords import LABELS
from liquid_tf._export.item import ClassFolders, Item
from liquid_tf._store.files import write_file
from liquid_tf._store.manifest import Manifest


def _bytes(value: bytes) -> tf.train.Feature:
  return tf.train.Feature(bytes_list=tf.train.BytesList(value=[value]))


def _ints(*values: int) -> tf.train.Feature:
  return tf.train.Feature(int64_list=tf.train.Int64List(value=values))


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
    features = {
      self._names.image: _bytes(item.image),
      "image/format": _bytes(item.format.encode()),
      "image/height": _ints(item.height),
      "image/width": _ints(item.width),
    }
    if self._names.label and self._classes.is_class:
      features[self._names.label] = _ints(int(item.labels[0]))
    elif self._names.label and len(item.labels):
      floats = tf.train.FloatList(value=item.labels.tolist())
      features[self._names.label] = tf.train.Feature(float_list=floats)
    name = self._classes.name(item)
    if name is not None:
      features["image/class/text"] = _bytes(name.encode(errors="surrogateescape"))
    for key, feature in features.items():
      example.features.feature[key].CopyFrom(feature)
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
