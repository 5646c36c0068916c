"""Export to RecordIO with index and list, as MXNet's and DALI's readers take them."""

import os

from liquid_tf import recordio
from liquid_tf._export.item import ClassFolders, Item
from liquid_tf._store.manifest import Manifest


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
