"""Exports to webdataset: tar files in which the files of a sample have one stem."""

import io
import os
import tarfile

from liquid_tf._convert.sources.safe_names import key_of
from liquid_tf._export.columns import JsonObjects
from liquid_tf._export.names import Unique
from liquid_tf._export.writers import ClassFolders, Item, Target

_BLOCK = 512


class WebdatasetWriter:
  """Writes SPLIT-000000.tar and so on.

  KEY.png, or of another extension, is the image; KEY.cls its class number; KEY.mask.png
  its mask; KEY.json its name, label and all columns. Keys are the samples' names.
  """

  taken: frozenset[str] = frozenset()
  takes_records = True

  def __init__(self, target: Target):
    self._folder = target.folder
    self._size = target.shard_size
    self._classes = ClassFolders(target.manifest["features"].get("label"))
    keys = (key_of(one.name) for one in target.listed)
    self._keys = Unique(keys, sum(target.samples.values()))
    self._json = JsonObjects(target.columns.kinds)
    self._made = dict.fromkeys(target.samples, 0)
    self._open: dict[str, tarfile.TarFile] = {}

  def add(self, item: Item) -> None:
    """Writes a sample."""
    files = {item.extension[1:]: item.image}
    number = self._classes.number(item)
    if number is not None:
      files["cls"] = str(number).encode()
    if item.mask is not None:
      files["mask.png"] = item.mask
    files["json"] = self._json.encode({"name": item.name, **item.values})
    key = self._keys.name(key_of(item.name), item.sample)
    # With each file a header.
    size = sum(_BLOCK + -(-len(data) // _BLOCK) * _BLOCK for data in files.values())
    file = self._shard(item.split, size)
    for extension, data in files.items():
      # Its other fields are the same for all: owner 0, the time 0.
      member = tarfile.TarInfo(f"{key}.{extension}")
      member.size = len(data)
      file.addfile(member, io.BytesIO(data))

  def _shard(self, split: str, size: int) -> tarfile.TarFile:
    """The file that has room for so many bytes, or is empty."""
    file = self._open.get(split)
    if file is not None and file.offset + size <= self._size:
      return file
    if file is not None:
      file.close()
    path = os.path.join(self._folder, f"{split}-{self._made[split]:06}.tar")
    self._made[split] += 1
    self._open[split] = tarfile.open(path, "w", format=tarfile.PAX_FORMAT)
    return self._open[split]

  def close(self) -> None:
    """Finishes the files."""
    for file in self._open.values():
      file.close()

  @property
  def notes(self) -> list[str]:
    """Sentences on what was not written as it is."""
    return self._keys.notes + self._json.notes
