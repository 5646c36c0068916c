"""Exports to folders of images."""

import os
from typing import BinaryIO

from liquid_tf._export.columns import JsonObjects
from liquid_tf._export.names import Unique
from liquid_tf._export.writers import ClassFolders, Item, Listed, Target

_METADATA = "metadata.jsonl"
# Ends of names that Hugging Face's imagefolder opens files by.
_LIKE_PATHS = ("_file_name", "_file_names")


class FolderWriter:
  """Writes each image to a file of the name that the source gave it.

  Masks, where there are, go to a folder beside that of the images. In the folder of
  each split a metadata.jsonl has a line an image, its label and all columns, as Hugging
  Face's imagefolder reads it.
  """

  # Hugging Face makes a column "image" of the files.
  taken = frozenset(["file_name", "file_names", "image"])
  takes_records = True

  def __init__(self, target: Target):
    self._classes = ClassFolders(target.manifest["features"].get("label"))
    self._has_masks = "mask" in target.manifest["features"]
    self._folder = target.folder
    several = len(target.samples) > 1
    self._splits = {split: split if several else "" for split in target.samples}
    stems = (f"{one.split}/{self._stem(one)}" for one in target.listed)
    self._names = Unique(stems, sum(target.samples.values()))
    self._json = JsonObjects(target.columns.kinds)
    self._paths = [n for n in target.columns.kinds if n.endswith(_LIKE_PATHS)]
    self._lines: dict[str, BinaryIO] = {}
    # Also of classes without samples, so that numbers stay.
    for below in self._splits.values():
      for name in self._classes.all:
        os.makedirs(os.path.join(self._root("images"), below, name), exist_ok=True)
    self._made: set[str] = set()

  def _stem(self, one: Listed) -> str:
    return self._classes.stem(*one)

  def _root(self, kind: str) -> str:
    return os.path.join(self._folder, kind) if self._has_masks else self._folder

  def add(self, item: Item) -> None:
    """Writes a sample."""
    one = Listed(item.name, item.split, self._classes.number(item))
    stem = self._names.name(f"{item.split}/{self._stem(one)}", item.sample)
    stem = stem.removeprefix(f"{item.split}/")
    below = self._splits[item.split]
    images = os.path.join(self._root("images"), below)
    self._write(os.path.join(images, stem + item.extension), item.image)
    if item.mask is not None:
      path = os.path.join(self._root("masks"), below, stem + ".png")
      self._write(path, item.mask)
    if item.split not in self._lines:
      self._lines[item.split] = open(os.path.join(images, _METADATA), "wb")
    line = {"file_name": stem + item.extension, **item.values}
    self._lines[item.split].write(self._json.encode(line) + b"\n")

  def _write(self, path: str, data: bytes) -> None:
    folder = os.path.dirname(path)
    if folder not in self._made:
      os.makedirs(folder, exist_ok=True)
      self._made.add(folder)
    with open(path, "wb") as file:
      file.write(data)

  def close(self) -> None:
    """Finishes the files."""
    for file in self._lines.values():
      file.close()

  @property
  def notes(self) -> list[str]:
    """Sentences on what was not written as it is."""
    paths = [
      f'Hugging Face takes the column "{name}" of metadata.jsonl for the path of a file'
      for name in self._paths
    ]
    return self._names.notes + self._json.notes + paths
