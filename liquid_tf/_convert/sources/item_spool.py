"""The table of items, and those of their bytes that come once, until all is done."""

import array
import json
import os
import sqlite3
import time
from collections.abc import Iterator

import numpy as np

from liquid_tf._convert.sources import items
from liquid_tf._convert.sources.items import Item, Origin
from liquid_tf._convert.sources.samples import SampleError, read_range, stat_file
from liquid_tf._store.files import sync_directory

# Spooled items are journaled this often; a kill costs as much of them.
_SECONDS = 1.0
# An image or a mask is at its path; or in the spool, where its offset is not negative;
# or comes from the sequence.
_TABLE = """
CREATE TABLE IF NOT EXISTS items (
  number INTEGER PRIMARY KEY, name BLOB UNIQUE, told TEXT, packed BLOB, crc INTEGER,
  path BLOB, offset INTEGER, length INTEGER,
  mask_path BLOB, mask_offset INTEGER, mask_length INTEGER)
"""


class Spool:
  """The table of the items, and their images and masks where these come once.

  Args:
    folder: where both are; made if it is not there.
    origin: of the items.
  """

  def __init__(self, folder: str, origin: Origin):
    self._origin = origin
    self.folder = folder
    os.makedirs(folder, exist_ok=True)
    self.images = os.path.join(folder, "images")
    self._db = sqlite3.connect(os.path.join(folder, "items.db"), isolation_level=None)
    self._db.execute("PRAGMA synchronous = FULL")
    self._db.execute(_TABLE)
    self.known = self._db.execute("SELECT COUNT(*) FROM items").fetchone()[0]
    self._file = open(self.images, "ab")
    self._cut()
    sync_directory(folder)
    self._last = time.monotonic()
    self._db.execute("BEGIN")

  def _cut(self) -> None:
    """Takes away what no row tells of, as a killed run wrote it."""
    self.bytes = 0
    for kind in ("", "mask_"):
      end, begins = f"MAX({kind}offset + {kind}length)", f"{kind}offset >= 0"
      found = self._db.execute(f"SELECT {end} FROM items WHERE {begins}").fetchone()[0]
      self.bytes = max(self.bytes, found or 0)
    self._file.truncate(self.bytes)

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

  def difference(self, number: int, item: Item, keeps: bool) -> str:
    """Says how an item is not the one that an earlier run met; "" where it is.

    Args:
      number: of the item.
      item: what it is now.
      keeps: whether its image comes once.
    """
    query = (
      "SELECT name, crc, path, offset, mask_path, mask_offset, mask_length FROM items "
      "WHERE number = ?"
    )
    name, crc, *places = self._db.execute(query, (number,)).fetchone()
    path, offset, mask_path, mask_offset, mask_length = places
    lacks_image = path is None and offset < 0
    lacks_mask = mask_length and mask_path is None and mask_offset < 0
    if keeps and (lacks_image or lacks_mask):
      return "it was a sequence, and is none now"
    if os.fsencode(item.name) != name:
      which = self._origin.at(number)
      return f"{which} is {item.name}, and was {os.fsdecode(name)}"
    if item.crc != crc:
      which = f"{self._origin.at(number)} ({item.name})"
      return f"{which} has another image, mask, label, split, box or column"
    return ""

  def forget(self, number: int) -> None:
    """Removes an item and all that follow it."""
    self._db.execute("DELETE FROM items WHERE number >= ?", (number,))
    self._commit()
    self._cut()
    self.known = number
    self._db.execute("BEGIN")

  def _put(self, one: bytes | str | None, keeps: bool) -> tuple[bytes | None, int, int]:
    """Path, offset and length of an image or a mask, which is written to be kept."""
    if one is None or isinstance(one, str):
      return None if one is None else os.fsencode(one), -1, 0
    if not keeps:
      return None, -1, len(one)
    offset = self.bytes
    self._file.write(one)
    self.bytes += len(one)
    return None, offset, len(one)

  def add(self, number: int, item: Item, keeps: bool) -> None:
    """Adds an item, and its image and mask if these are to be kept."""
    name = os.fsencode(item.name)
    row = (number, name, item.told, item.packed, item.crc)
    row += (*self._put(item.image, keeps), *self._put(item.mask, keeps))
    try:
      self._db.execute(f"INSERT INTO items VALUES ({', '.join('?' * len(row))})", row)
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
    """Yields each item in order, as the table has it, but for its number."""
    for _, *row in self._db.execute("SELECT * FROM items ORDER BY number"):
      yield tuple(row)

  def arrays(self) -> Iterator[dict[str, np.ndarray]]:
    """Yields the arrays of each item, in order."""
    for told, packed in self._db.execute(
      "SELECT told, packed FROM items ORDER BY number"
    ):
      yield items.unpacked(json.loads(told)[items.SHAPES], packed)


class Places:
  """Where the images of items are, or their masks.

  Args:
    spool: path of the file that has those that come once.
  """

  def __init__(self, spool: str):
    self._spool = spool
    self._paths: list[bytes | None] = []
    self._offsets, self._lengths = array.array("q"), array.array("q")

  def add(self, path: bytes | None, offset: int, length: int) -> None:
    """Adds the next one, as the table has it."""
    self._paths.append(path)
    self._offsets.append(offset)
    self._lengths.append(length)

  def read(self, position: int) -> bytes | None:
    """Reads one; None where the sequence has it.

    Raises:
      SampleError: it is empty, or its file ends before it.
      OSError: its file cannot be read.
    """
    path, offset = self._paths[position], self._offsets[position]
    if path is not None:
      size, _ = stat_file(os.fsdecode(path))
      if not size:
        raise SampleError(f"{os.fsdecode(path)} is empty")
      return read_range(os.fsdecode(path), 0, size)
    if offset < 0:
      return None
    return read_range(self._spool, offset, self._lengths[position])
