"""How the encoded samples of a shard become a file."""

from collections.abc import Sequence

import numpy as np

from liquid_tf._native import ops
from liquid_tf._store import manifest
from liquid_tf._store.files import AtomicFile

NO_PARTS = np.zeros((2, 0), np.int64)
# Bytes whose checksum is extended at once.
_GATHERED = 1 << 20


class RecordFile:
  """A RecordIO shard: records one after another.

  Args:
    file: where they go.
  """

  def __init__(self, file: AtomicFile):
    self._file = file
    self._size = self._crc = 0
    self._gathered: list[bytes] = []
    self._summed = 0

  def add(self, element: dict) -> int:
    """Adds a sample; returns what the index has as its offset."""
    offset = self._size
    self._file.write(element["stored"])
    self._gathered.append(element["stored"])
    self._size += len(element["stored"])
    if self._size - self._summed >= _GATHERED:
      self._sum()
    return offset

  def _sum(self) -> None:
    # Of each value that TensorFlow 2.16 takes from Python it leaks some 300 bytes.
    self._crc = manifest.crc32c(b"".join(self._gathered), self._crc)
    self._gathered, self._summed = [], self._size

  def close(self) -> tuple[int, int, np.ndarray]:
    """Returns size and CRC-32C of the file, and lengths and checksums of its parts."""
    self._sum()
    return self._size, self._crc, NO_PARTS


class PcrFile:
  """A shard that is one progressive compressed record.

  Args:
    file: where it goes.
    groups: the last scan of each scan group, or None.
  """

  def __init__(self, file: AtomicFile, groups: Sequence[int] | None):
    self._file = file
    self._groups = list(groups or [])
    self._images: list[bytes] = []
    self._labels: list[int] = []
    self._examples: list[bytes] = []

  def add(self, element: dict) -> int:
    """Adds a sample; returns what the index has as its offset."""
    labels = element["labels"]
    self._images.append(element["stored"])
    self._labels.append(int(labels[0]) if len(labels) else -1)
    self._examples.append(element["example"])
    return len(self._images) - 1

  def close(self) -> tuple[int, int, np.ndarray]:
    """Writes the record; returns what `RecordFile.close` does."""
    written = ops.lib().liquid_write_pcr(
      images=self._images,
      labels=np.array(self._labels, np.int32),
      examples=self._examples,
      groups=self._groups,
    )
    record = written.record.numpy()
    self._file.write(record)
    parts = np.stack([written.lengths.numpy(), written.crc32cs.numpy()])
    return len(record), manifest.crc32c(record), parts
