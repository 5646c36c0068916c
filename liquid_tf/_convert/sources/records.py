"""RecordIO files of image records, as MXNet's im2rec writes them and we do."""

import array
import os
from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from liquid_tf import recordio
from liquid_tf._convert.sources import reading
from liquid_tf._convert.sources.left_out import LeftOut, mend_or_skip, most_telling
from liquid_tf._convert.sources.listed import class_names
from liquid_tf._convert.sources.samples import (
  SampleSource,
  SourceFile,
  name_files,
  splits_of_files,
  stat_files,
)
from liquid_tf._native import ops
from liquid_tf._recordio import files as record_files
from liquid_tf._store import schemes, storage
from liquid_tf.errors import ConvertError, RecordIOError

EXTENSION = ".rec"
_MAGIC = 0xCED7230A
_HEADER = 8  # bytes before the data of a part


class RecordIOSource(SampleSource):
  """Samples in RecordIO files, in the order of files and records.

  Args:
    root: folder of the files.
    files: their paths below it.
    paths: of the same files, or URLs.
    places: shape [samples, 4], int64: position of the file, offset, length, and the
      record's key in the file's index, or its number in the file.
    split_of_file: the split of each file.
    **options: of `SampleSource`.
  """

  has_names = False

  def __init__(
    self,
    root: str,
    files: list[SourceFile],
    paths: Sequence[str],
    places: np.ndarray,
    split_of_file: Sequence[int],
    **options,
  ):
    split_of = np.array(split_of_file, np.uint8)[places[:, 0]]
    super().__init__(
      root,
      "recordio",
      files,
      places[:, 0],
      split_of,
      places[:, 2],
      is_remote=any(map(storage.is_remote, paths)),
      named=name_files(paths),
      **options,
    )
    self._paths = paths
    self._places = places

  def path(self, position: int) -> str:
    return f"{super().path(position)}, offset {self._places[position, 1]}"

  def name(self, position: int) -> str:
    return f"{super().path(position)}/{self._places[position, 3]}"

  def columns(self, positions: Sequence[int], targets: Sequence[str] | None) -> tuple:
    del targets
    places = self._places[np.asarray(positions, np.int64)]
    paths = [os.fsencode(self._paths[file]) for file in places[:, 0].tolist()]
    return np.array(paths, object), places[:, 1], places[:, 2]

  def load(
    self, path: tf.Tensor, offset: tf.Tensor, length: tf.Tensor
  ) -> dict[str, tf.Tensor]:
    read = ops.lib().liquid_read_sample(
      path=path,
      offset=offset,
      length=length,
      # MXNet leaves id2 to its users.
      foreign=True,
    )
    return read._asdict()


def _index_of(path: str) -> tuple[np.ndarray, np.ndarray] | None:
  """Offsets, ascending, and keys by the index beside a file; None without one."""
  name = reading.beside(path, ".idx")
  if name is None:
    return None
  index = record_files.read_index(name)
  offsets, first = np.unique(index.offsets, return_index=True)
  return offsets, index.keys[first]


def _indexed(
  path: str, index: tuple[np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray] | None:
  """Offsets of all records of a local file by its index, at last its size; and keys.

  Where the index does not fit the file record for record: None. Reads the parts'
  headers only.
  """
  size = os.path.getsize(path)
  offsets, keys = index
  ends = np.append(offsets, size)
  if not size and not len(offsets):
    return ends, keys
  if size % 4 or not size or offsets[:1].tolist() != [0] or ends[-1] <= ends[-2]:
    return None
  words = np.memmap(path, "<u4", mode="r")
  begin, open_record = offsets.copy(), np.ones(len(offsets), bool)
  first = True
  # All records at once, part by part; hardly any has more than one.
  while open_record.any():
    at = begin[open_record]
    if (at % 4).any() or (at + _HEADER > size).any():
      return None
    word = words[at // 4 + 1]
    flag, length = word >> 29, (word & (1 << 29) - 1).astype(np.int64)
    allowed = (flag <= 1) if first else (flag == 2) | (flag == 3)
    if not allowed.all() or (words[at // 4] != _MAGIC).any():
      return None
    begin[open_record] = at + _HEADER + (length + 3) // 4 * 4
    open_record[open_record] = (flag == 1) | (flag == 2)
    first = False
  return (ends, keys) if (begin == ends[1:]).all() else None


def _find(
  path: str, file: SourceFile, damage: list[LeftOut] | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
  """Offsets, lengths and keys of a file's records; see `list_records`."""
  index = _index_of(path)
  # Of a remote one, each header would be a request.
  if index is not None and not storage.is_remote(path):
    indexed = _indexed(path, index)
    if indexed is not None:
      ends, keys = indexed
      return ends[:-1], np.diff(ends), keys
  reader = recordio.Reader([path], repair=damage is not None)
  offsets = array.array("q")
  for record in reader.records():
    offsets.append(record.offset)
  found, losses = np.array(offsets, np.int64), reader.losses
  keys, lost = np.arange(len(found)), [1] * len(losses)
  if index is not None:
    listed, names = index
    lost = [_listed_in(listed, loss, file.size) for loss in losses]
    known = np.isin(listed, found)
    if not known.sum() == len(found) == len(listed) - sum(lost):
      raise ConvertError(
        f"{record_files.index_path(path)} does not list the records of {path}: make it "
        "anew with liquid_tf.recordio.write_index, or remove it"
      )
    keys = names[known]
  for loss, count in zip(losses, lost):
    place = f"{file.path}, offset {loss.offset}"
    held = "without a record" if index is None else f"of {count} records by the index"
    reason = f"{loss.length} bytes {held}: {loss.reason}"
    damage.append(LeftOut(place, reason, count))
  # What a record is followed by is another one, a loss, or the end.
  stops = [loss.offset for loss in losses] + [file.size]
  ends = np.sort(np.concatenate([found, stops]))
  lengths = ends[np.searchsorted(ends, found, side="right")] - found
  return found, lengths, keys


def _listed_in(offsets: np.ndarray, loss: recordio.Loss, size: int) -> int:
  """How many records an index has in a stretch of damage.

  Args:
    offsets: of the index, ascending.
    loss: the stretch. One that reaches the end took what the index has behind it.
    size: bytes of the file.
  """
  end = loss.offset + loss.length
  inside = offsets >= loss.offset
  return int((inside & (offsets < end)).sum() if end < size else inside.sum())


def _class_names(paths: Sequence[str]) -> list[str] | None:
  """Names of classes by the lists beside the files; None unless every one has one."""
  entries: list[recordio.ListEntry] = []
  for path in paths:
    name = reading.beside(path, ".lst")
    if name is None:
      return None
    entries += recordio.read_list(name)
  return class_names(entries)


def list_records(paths: Sequence[str], skips: bool) -> RecordIOSource:
  """Lists RecordIO files.

  An index beside a file spares reading it once; a list beside it names the classes.

  Args:
    paths: of the files, in order.
    skips: whether damage is passed over, and reported.

  Raises:
    ConvertError: nothing can be read, or an index is of another file.
  """
  root, files = stat_files(paths)
  splits, split_of_file = splits_of_files(paths)
  damage: list[LeftOut] = []
  parts = [np.zeros((0, 4), np.int64)]
  try:
    for number, (path, file) in enumerate(zip(paths, files)):
      offsets, lengths, keys = _find(path, file, damage if skips else None)
      numbers = np.full(len(offsets), number, np.int64)
      parts.append(np.stack([numbers, offsets, lengths, keys], axis=1))
    classes = _class_names(paths)
  except OSError as error:
    raise ConvertError(f"cannot read {ops.reason(error)}") from error
  except RecordIOError as error:
    raise ConvertError(f"{error}; {mend_or_skip()}") from error
  places = np.concatenate(parts)
  if not len(places):
    named = ", ".join(map(schemes.shown, paths[:3]))
    raise ConvertError(f"{named} holds no records{most_telling(damage)}")
  return RecordIOSource(
    root,
    files,
    paths,
    places,
    split_of_file,
    splits=splits,
    classes=classes,
    skipped=damage,
  )
