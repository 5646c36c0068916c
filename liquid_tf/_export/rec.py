"""Exports to RecordIO."""

import os

from liquid_tf import recordio
from liquid_tf._export.writers import IN_RECORDS, Beside, ClassFolders, Item, Target


class RecWriter:
  """Writes SPLIT.rec, SPLIT.idx and SPLIT.lst for each split.

  A key is a sample's number. Other features, and metadata columns, stand after the
  image, which readers that do not know them ignore; id2 says where
  (docs/formats/liquid.md).
  """

  taken = IN_RECORDS
  takes_records = False

  def __init__(self, target: Target):
    self._folder = target.folder
    self._classes = ClassFolders(target.manifest["features"].get("label"))
    self._beside = Beside(target.columns.kinds)
    self._writers = {
      split: recordio.Writer(os.path.join(target.folder, f"{split}.rec"))
      for split in target.samples
    }
    self._lists: dict[str, list[recordio.ListEntry]] = {s: [] for s in target.samples}

  def add(self, item: Item) -> None:
    """Writes a sample."""
    labels = tuple(item.labels.tolist()) or (float("nan"),)
    example = item.example + self._beside.example(item.values)
    header = recordio.Header(
      label=labels[0] if len(labels) == 1 else labels,
      id=item.sample,
      id2=len(item.image) if example else 0,
    )
    record = recordio.pack(header, item.image + example)
    self._writers[item.split].write(record, key=item.sample)
    stem = self._classes.stem(item.name, item.split, self._classes.number(item))
    entry = recordio.ListEntry(item.sample, labels, stem + item.extension)
    self._lists[item.split].append(entry)

  def close(self) -> None:
    """Finishes the files."""
    for split, writer in self._writers.items():
      writer.close()
      path = os.path.join(self._folder, f"{split}.lst")
      recordio.write_list(path, self._lists[split])

  @property
  def notes(self) -> list[str]:
    """Sentences on what was not written as it is."""
    return self._beside.notes
