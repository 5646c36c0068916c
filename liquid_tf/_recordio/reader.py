"""Reads RecordIO files record by record."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from liquid_tf._native import ops
from liquid_tf._recordio import files
from liquid_tf._store import schemes
from liquid_tf.errors import RecordIOError

# Records that are fetched at once, and reads for them, in bytes.
_FETCH = 8 << 20
_BLOCK = 1 << 20
# A read for a single record, which tells how long it is.
_SINGLE = 64 << 10


class Record(NamedTuple):
  """One record.

  Attributes:
    data: its payload.
    offset: of its first byte in the file.
    path: of the file.
  """

  data: bytes
  offset: int
  path: str


class Loss(NamedTuple):
  """Bytes that hold no readable record, from damage to the next head.

  Attributes:
    path: of the file.
    offset: of the first byte.
    length: in bytes.
    reason: what is wrong there.
    keys: of the records that the index has there; empty without an index.
  """

  path: str
  offset: int
  length: int
  reason: str
  keys: tuple[int, ...]


def fetch(
  path: str,
  row: np.ndarray,
  *,
  repair: bool,
  max_bytes: int = _FETCH,
  block: int = _BLOCK,
):
  """Records up to damage, as the op ReadRecords gives them.

  Raises:
    RecordIOError: the file cannot be read, or is damaged and is not to be repaired.
  """
  try:
    return ops.lib().liquid_read_records(
      path=path, range=row, repair=repair, max_bytes=max_bytes, block_bytes=block
    )
  except tf.errors.OpError as error:
    message, name = ops.reason(error), schemes.shown(path)
    # The file systems' own sentences may not name the file.
    raise RecordIOError(message if name in message else f"{name}: {message}") from error


class Reader:
  """The records of a file, or of several as if they were one. Iterating gives bytes.

  Thread-safe but for `losses`; iterators are independent of each other.

  Args:
    path: a file of any of TensorFlow's file systems, or a list of them. A string may
      name files, folders of .rec files and patterns, with ";" between them, as
      dmlc-core's InputSplit takes them (docs/formats/recordio.md); a list's are paths.
    index: to split by count, not by bytes: True for NAME.idx beside each NAME.rec, or
      paths.
    part: (i, n): reads the i-th of n parts. Parts are disjoint, in order, and together
      everything.
    repair: pass over damage, up to the next record, and say so in `losses`.

  Attributes:
    losses: what the last iteration passed over so far.

  Raises:
    RecordIOError: a file or index cannot be read, or an index is damaged.
    ValueError: `path`, `part` or `index` is wrong.
    ImportError: nothing that is installed has a path's file system.
  """

  def __init__(
    self,
    path: files.Paths,
    *,
    index: files.Paths | bool | None = None,
    part: tuple[int, int] = (0, 1),
    repair: bool = False,
  ):
    self._paths = files.as_paths(path)
    self._indexes = files.indexes_of(self._paths, index)
    self._ranges = files.part_of(self._paths, self._indexes, part)
    self._repair = repair
    self._places: dict[int, tuple[int, int]] | None = None
    self.losses: list[Loss] = []

  @property
  def keys(self) -> list[int]:
    """The keys of all records of the files, in the order of the index.

    Raises:
      RecordIOError: there is no index, or it is damaged.
    """
    return [key for index in self._index() for key in index.keys.tolist()]

  def read(self, key: int) -> bytes:
    """Reads one record at random, of whatever part.

    Args:
      key: its key. Of several records with one key, this is the last.

    Raises:
      KeyError: no record has it.
      RecordIOError: there is no index, or the record cannot be read.
    """
    if self._places is None:
      self._places = {
        one: (number, offset)
        for number, index in enumerate(self._index())
        for one, offset in zip(index.keys.tolist(), index.offsets.tolist())
      }
    if key not in self._places:
      raise KeyError(
        f"no record of {', '.join(map(schemes.shown, self._paths))} has the key {key}"
      )
    number, offset = self._places[key]
    row = np.array([number, offset, offset + 1, 1, 1, 1])
    try:
      found = fetch(self._paths[number], row, repair=False, max_bytes=1, block=_SINGLE)
    except RecordIOError as error:
      index = self._index()[number].path
      raise RecordIOError(f"{error}, where {index} has the record {key}") from error
    if not len(found.records):
      raise RecordIOError(
        f"{schemes.shown(self._paths[number])}: no record at offset {offset}, where "
        f"{self._index()[number].path} has the record {key}: the file ends there"
      )
    return found.records.numpy()[0]

  def records(self) -> Iterator[Record]:
    """The records with their places.

    Raises:
      RecordIOError: a file cannot be read, or is damaged and is not to be repaired; the
        records before the damage have come by then.
    """
    self.losses = []
    for row in self._ranges:
      path, count, left = self._paths[row[0]], 0, row.copy()
      name = schemes.shown(path)
      while left[1] >= 0:
        found = fetch(path, left, repair=self._repair)
        for data, offset in zip(found.records.numpy(), found.offsets.numpy().tolist()):
          yield Record(data, offset, path)
        count += len(found.records)
        self._note(int(row[0]), found)
        # What follows begins where this ended.
        left[1], left[3] = found.next.numpy(), 1
      if row[5] not in (-1, count) and not self._repair:
        raise RecordIOError(
          f"{name}: {count} records in the bytes {row[1]} to {row[2]}, but "
          f"{self._indexes[row[0]].path} has {row[5]}: use the index that was written "
          "with it"
        )

  def __iter__(self) -> Iterator[bytes]:
    for record in self.records():
      yield record.data

  def close(self) -> None:
    """Nothing is kept open; for use like other readers."""

  def __enter__(self) -> "Reader":
    return self

  def __exit__(self, *unused) -> None:
    self.close()

  def _index(self) -> list[files.Index]:
    if self._indexes is None:
      self._indexes = files.indexes_of(self._paths, True)
    return self._indexes

  def _note(self, number: int, found) -> None:
    path = self._paths[number]
    for offset, length, reason in zip(
      found.lost_offsets.numpy().tolist(),
      found.lost_lengths.numpy().tolist(),
      found.lost_reasons.numpy().tolist(),
    ):
      keys: tuple[int, ...] = ()
      if self._indexes is not None:
        index = self._indexes[number]
        inside = (index.offsets >= offset) & (index.offsets < offset + length)
        keys = tuple(index.keys[inside].tolist())
      self.losses.append(Loss(path, offset, length, reason.decode(), keys))
