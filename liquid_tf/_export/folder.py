"""Export to a folder of class folders, or of images, or of images and masks."""

import os

import tensorflow as tf

from liquid_tf._export.item import ClassFolders, Item
from liquid_tf._store.manifest import Manifest
from liquid_tf.errors import ConvertError


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
