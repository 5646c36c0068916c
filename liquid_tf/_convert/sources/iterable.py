"""Samples that come as items: of the user's Python code, or of a file's reader.

An iterable is run once, into a spool in the output's journal: its images in one file,
and what is told of each in a table. A sequence is read by position whenever it is
needed, and has the table alone. Both are gone through again by a run that resumes, and
compared with the table, so that a dataset is of one state of them.
"""

import contextlib
import dataclasses
import json
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from liquid_tf._convert.journal import changed_source
from liquid_tf._convert.sources import alike, items
from liquid_tf._convert.sources.file_table import FileTable
from liquid_tf._convert.sources.items import Item, Origin
from liquid_tf._convert.sources.left_out import LeftOut
from liquid_tf._convert.sources.samples import (
  DEFAULT_SPLIT,
  SPLITS,
  RecordSource,
  Sample,
  SampleError,
  read_range,
  stat_file,
)
from liquid_tf._store import columns, table_columns
from liquid_tf._store.columns import Column
from liquid_tf._store.files import sync_directory
from liquid_tf._store.manifest import JOURNAL
from liquid_tf._store.progress import Progress
from liquid_tf._store.table_columns import Cells
from liquid_tf._store.table_file import TableFile
from liquid_tf.errors import ConvertError, WrongArgument

# Part of the journal, and so removed with it.
_FOLDER = JOURNAL + "-items"
# Spooled items are journaled this often; a kill costs as much of them.
_SECONDS = 1.0
_TABLE = """
CREATE TABLE IF NOT EXISTS items (
  number INTEGER PRIMARY KEY, name BLOB UNIQUE, told TEXT, path BLOB, offset INTEGER,
  length INTEGER, crc INTEGER)
"""

_Some = Iterable[Mapping[str, Any]]
Items = _Some | Sequence[Mapping[str, Any]] | Callable[[], _Some]


def is_sequence(given: Any) -> bool:
  """Whether items are read by position."""
  return hasattr(given, "__len__") and hasattr(given, "__getitem__")


def check_items(given: Any, length: Any) -> None:
  """Raises WrongArgument unless these can give items, and be as many."""
  if isinstance(given, (str, bytes, os.PathLike, Mapping)) or not (
    is_sequence(given) or callable(given) or isinstance(given, Iterable)
  ):
    raise WrongArgument(
      "items",
      given,
      "must be a sequence or an iterable of mappings, or a function that returns one",
    )
  if length is not None and (type(length) is not int or length < 1):
    raise WrongArgument("length", length, "must be a whole number from 1 on, or None")


class _Spool:
  """The table of the items, and their images where these come once.

  Args:
    folder: where both are; made if it is not there.
    origin: of the items.
  """

  def __init__(self, folder: str, origin: Origin):
    self._origin = origin
    os.makedirs(folder, exist_ok=True)
    self.images = os.path.join(folder, "images")
    self._db = sqlite3.connect(os.path.join(folder, "items.db"), isolation_level=None)
    self._db.execute("PRAGMA synchronous = FULL")
    self._db.execute(_TABLE)
    self.known = self._db.execute("SELECT COUNT(*) FROM items").fetchone()[0]
    query = "SELECT MAX(offset + length) FROM items WHERE offset >= 0"
    self.bytes = self._db.execute(query).fetchone()[0] or 0
    self._file = open(self.images, "ab")
    # What a killed run wrote, and no row tells of.
    self._file.truncate(self.bytes)
    sync_directory(folder)
    self._last = time.monotonic()
    self._db.execute("BEGIN")

  def close(self) -> None:
    """Keeps what was added, and closes both."""
    try:
      self._commit()
    finally:
      self._file.close()
      self._db.close()

  def _commit(self) -> None:
    self._file.flush()
    os.fsync(self._file.fileno())
    self._db.execute("COMMIT")

  def check(self, number: int, item: Item, keeps: bool, directory: str) -> None:
    """Raises ConvertError unless an item is the one that an earlier run met.

    Args:
      number: of the item.
      item: what it is now.
      keeps: whether its image comes once.
      directory: the output, for the message.
    """
    query = "SELECT name, path, offset, crc FROM items WHERE number = ?"
    name, path, offset, crc = self._db.execute(query, (number,)).fetchone()
    if keeps and path is None and offset < 0:
      raise changed_source(directory, "it was a sequence, and is none now")
    if os.fsencode(item.name) != name:
      before = os.fsdecode(name)
      which = self._origin.at(number)
      raise changed_source(directory, f"{which} is {item.name}, and was {before}")
    if item.crc != crc:
      which = f"{self._origin.at(number)} ({item.name})"
      what = "has another image, label, split or column"
      raise changed_source(directory, f"{which} {what}")

  def add(self, number: int, item: Item, keeps: bool) -> None:
    """Adds an item, and its image if that is to be kept."""
    path, length, offset = None, len(item.image), -1
    if isinstance(item.image, str):
      path, length = os.fsencode(item.image), 0
    elif keeps:
      offset = self.bytes
      self._file.write(item.image)
      self.bytes += length
    name = os.fsencode(item.name)
    row = (number, name, item.told, path, offset, length, item.crc)
    try:
      self._db.execute("INSERT INTO items VALUES (?, ?, ?, ?, ?, ?, ?)", row)
    except sqlite3.IntegrityError as error:
      query = "SELECT number FROM items WHERE name = ?"
      other = self._db.execute(query, (name,)).fetchone()[0]
      which = self._origin.at(other)
      problem = f"{which} has this name too, and each must have its own"
      raise self._origin.wrong(number, item.name, problem) from error
    if time.monotonic() - self._last > _SECONDS:
      self._commit()
      self._db.execute("BEGIN")
      self._last = time.monotonic()

  def rows(self) -> Iterator[tuple]:
    """Yields name, told, path, offset, length and CRC of each item, in order."""
    return self._db.execute(
      "SELECT name, told, path, offset, length, crc FROM items ORDER BY number"
    )


class ItemSource(RecordSource):
  """Samples of items, in their order.

  Args:
    spool: of all items.
    unlisted: where they come from.
  """

  has_names = True

  def __init__(self, spool: _Spool, unlisted: "Unlisted"):
    self._given, self._origin = unlisted.given, unlisted.origin
    named = self._origin.named
    self._images = spool.images
    files = FileTable()
    self._paths: list[bytes | None] = []
    offsets, crcs, told = [], [], []
    for name, text, path, offset, length, crc in spool.rows():
      mtime_ns = crc
      if path is not None:
        length, mtime_ns = _stat(path)
      files.add(name, length, mtime_ns)
      self._paths.append(path)
      offsets.append(offset)
      crcs.append(crc)
      told.append(json.loads(text))
    self._offsets = np.array(offsets, np.int64)
    self._crcs = np.array(crcs, np.uint32)
    names = [os.fsdecode(files.path(number)) for number in range(len(files))]
    classes, self._labels = _labels([label for label, _, _ in told], named)
    splits, split_of = _splits(names, [split for _, split, _ in told], self._origin)
    self._columns, notes = _columns(names, [some for _, _, some in told], self._origin)
    if spool.bytes:
      notes.append(
        f"{named}: the images took {spool.bytes:,} bytes more beside the shards while "
        "they were converted"
      )
    super().__init__(
      "",
      unlisted.kind,
      files,
      np.arange(len(files)),
      split_of,
      files.sizes,
      splits=splits,
      classes=classes or unlisted.classes,
      skipped=unlisted.skipped,
      notes=[*unlisted.notes, *notes],
      named=named,
    )

  def path(self, position: int) -> str:
    return f"{self._origin.at(position)} ({self.name(position)})"

  def name(self, position: int) -> str:
    return self.files[position].path

  def read(self, position: int) -> Sample:
    image = self._image(position)
    if not image:
      raise SampleError("has no image")
    return Sample(image, self._labels[position])

  def metadata(self, positions: Sequence[int]) -> dict[str, Column]:
    rows = np.asarray(positions, np.int64)
    return {name: cells.column(rows) for name, cells in self._columns.items()}

  def _image(self, position: int) -> bytes:
    path, offset = self._paths[position], int(self._offsets[position])
    if path is not None:
      size, _ = stat_file(os.fsdecode(path))
      if not size:
        raise SampleError(f"{os.fsdecode(path)} is empty")
      return read_range(os.fsdecode(path), 0, size)
    if offset >= 0:
      return read_range(self._images, offset, self.files[position].size)
    try:
      item = items.check(position, self._given[position], self._origin)
    except ConvertError as error:
      raise SampleError(str(error)) from error
    except Exception as error:  # Whatever the user's code raises.
      raise SampleError(_raised(error)) from error
    if item.crc != self._crcs[position]:
      raise SampleError("the sequence gives another item here than it did at first")
    return item.image


def _stat(path: bytes) -> tuple[int, int]:
  """Size and time of a file; zeros of one that the scan will not be able to read."""
  try:
    return stat_file(os.fsdecode(path))
  except OSError:
    return 0, 0


def _labels(given: list[Any], named: str) -> tuple[list[str] | None, list[np.ndarray]]:
  """Names of the classes, sorted, or None; and the labels of each item, float32 [k].

  Raises:
    ConvertError: two classes have hardly different names.
  """
  names = {label for label in given if isinstance(label, str)}
  none = np.zeros(0, np.float32)
  if not names:
    return None, [
      none if label is None else np.array(label[1], np.float32) for label in given
    ]
  classes = alike.sorted_classes(named, names)
  numbers = {
    name: np.array([number], np.float32) for number, name in enumerate(classes)
  }
  return classes, [none if label is None else numbers[label] for label in given]


def _splits(
  names: Sequence[str], given: Sequence[str | None], origin: Origin
) -> tuple[list[str], np.ndarray]:
  """Names of the splits, and the position of each item's."""
  found = set(given)
  if found == {None}:
    return [DEFAULT_SPLIT], np.zeros(len(given), np.uint8)
  if None in found:
    number = given.index(None)
    raise origin.wrong(
      number, names[number], "has no split, which others have: give all items one"
    )
  splits = [name for name in SPLITS if name in found]
  splits += sorted(found.difference(splits))
  if len(splits) > 256:
    raise ConvertError(
      f"{origin.named} has {len(splits)} splits, and must have at most 256"
    )
  numbers = {name: number for number, name in enumerate(splits)}
  return splits, np.array([numbers[name] for name in given], np.uint8)


@dataclasses.dataclass(frozen=True)
class _ItemTable(TableFile):
  """Columns of items.

  Attributes:
    origin: of the items.
    names: of these.
  """

  origin: Origin = Origin()
  names: Sequence[str] = ()

  def place(self, row: int) -> str:
    return f"{self.origin.one} {row} ({self.names[row]})"


def _columns(
  names: Sequence[str], given: Sequence[Mapping[str, Any]], origin: Origin
) -> tuple[dict[str, Cells], list[str]]:
  """All columns, and sentences on what they lack.

  Raises:
    ConvertError: values of one do not go together.
  """
  result, notes = {}, []
  for name in sorted({name for some in given for name in some}):
    if name in columns.OF_IMAGE:
      notes.append(
        f"{origin.named}: {name} is not kept, since a dataset has it of its images"
      )
      continue
    values = {name: [some.get(name) for some in given]}
    table = _ItemTable(origin.named, values, origin=origin, names=names)
    result[name] = found = table_columns.of(table, name)
    notes += found.lacking(origin.named, name, f"{origin.one}s")
  return result, notes


def _raised(error: Exception) -> str:
  return f"it cannot be had: {type(error).__name__}: {error}"


@dataclasses.dataclass(frozen=True)
class Unlisted:
  """Items that are listed, and copied if they come once, when there is an output.

  Attributes:
    given: a sequence; or an iterable, or a function that returns one, run once.
    length: how many items an iterable has, where that is known.
    origin: of the items.
    kind: what the manifest calls the source.
    classes: names of the classes that labels are positions in; None where labels are
      names themselves, or nothing names them.
    skipped: what is in no item.
    notes: sentences on what is not kept.
  """

  given: Items
  length: int | None
  _: dataclasses.KW_ONLY
  origin: Origin = Origin()
  kind: str = "items"
  classes: list[str] | None = None
  skipped: list[LeftOut] = dataclasses.field(default_factory=list)
  notes: Sequence[str] = ()

  def list(self, directory: str, progress: Progress) -> ItemSource:
    """Goes through all items, or goes on with that.

    Args:
      directory: the output, which is held and has a journal.
      progress: is told of each item.

    Raises:
      ConvertError: an item is none, or is not what it was when the conversion began;
        or the user's code raised an error.
      OSError: the spool cannot be written.
    """
    folder = os.path.join(directory, _FOLDER)
    with contextlib.closing(_Spool(folder, self.origin)) as spool:
      try:
        self._go_through(spool, directory, progress)
      finally:
        progress.close()
      return ItemSource(spool, self)

  def _every(self) -> tuple[Iterator[Any], int | None]:
    """An iterator over all items, and how many there are, where that is known."""
    given = self.given
    if is_sequence(given):
      return (given[number] for number in range(len(given))), len(given)
    return iter(given() if callable(given) else given), self.length

  def _go_through(self, spool: _Spool, directory: str, progress: Progress) -> None:
    """Goes through all items, and adds those that are not in the spool."""
    number, kind, keeps = 0, None, not is_sequence(self.given)
    named, origin = self.origin.named, self.origin
    try:
      every, total = self._every()
    except ConvertError:
      raise
    except Exception as error:  # Whatever the user's code raises.
      raise ConvertError(f"{named}: {_raised(error)}") from error
    progress.start("spool" if keeps else "list", total)
    while True:
      try:
        found = next(every)
      except StopIteration:
        break
      except ConvertError:
        raise
      except Exception as error:  # Whatever the user's code raises.
        raise origin.wrong(number, None, _raised(error)) from error
      item = items.check(number, found, origin)
      kind = kind or item.label_kind
      if item.label_kind not in (None, kind):
        raise origin.wrong(
          number,
          item.name,
          f"label is {item.label_kind}, and {kind} before: give all {origin.one}s "
          "labels of one kind",
        )
      if number < spool.known:
        spool.check(number, item, keeps, directory)
      else:
        spool.add(number, item, keeps)
      number += 1
      progress.step()
    if number < spool.known:
      raise changed_source(
        directory, f"it has {number} {origin.one}s, and had {spool.known}"
      )
    if total not in (None, number):
      raise ConvertError(f"{named} gave {number} {origin.one}s, and not length={total}")
    if not number:
      raise ConvertError(f"{named} gave no {origin.one}s")
