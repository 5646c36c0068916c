"""Journal of a conversion, in SQLite, so that it can be killed at any time.

A step is journaled after its effect is on the disk. So whatever is journaled is done,
and what is done but not journaled is done again, with the same bytes. Processes that
help with a conversion do not write the database; each leaves *parts* of the journal,
one file a step, which the converting process takes over.
"""

import io
import itertools
import json
import os
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from liquid_tf._convert.job import ShardResult
from liquid_tf._convert.sources.samples import SampleSource
from liquid_tf._convert.stores.store import Stored
from liquid_tf._store.files import write_file
from liquid_tf._store.manifest import INDEX_DTYPE, JOURNAL
from liquid_tf._words import few, setting
from liquid_tf.errors import ConvertError

# What the scan learns of one sample. `bits` 0: it cannot be one. `label` is the only
# label of those that have one. `height`, `width`, `orientation`, `channels` and
# `bits` are those that the dataset is to have, at which `pixels_hash` was taken; the
# source has its own.
SCAN_DTYPE = np.dtype(
  [
    ("done", "?"),
    ("labels", "<u4"),
    ("label", "<f4"),
    ("format", "u1"),
    ("by_pillow", "?"),
    ("pages", "<u4"),
    ("height", "<u4"),
    ("width", "<u4"),
    ("source_channels", "u1"),
    ("source_bits", "u1"),
    ("channels", "u1"),
    ("bits", "u1"),
    ("orientation", "u1"),
    ("pixels_hash", "<u8"),
    ("crc32c", "<u4"),
    ("mask_bits", "u1"),
    ("mask_hash", "<u8"),
    ("mask_crc32c", "<u4"),
  ]
)

# Arguments that the scan depends on. Others may change until a shard is written.
_OF_SCAN = (
  "created_by",
  "view",
  "masks",
  "lossy_masks",
  "examples",
  "limits",
  "geometry",
  "check",
  "duplicates",
)

# What the names of parts end with.
SCANNED = ".scanned.npz"
SHARD = ".shard.npz"

_TABLES = """
CREATE TABLE arguments (name TEXT PRIMARY KEY, value TEXT);
CREATE TABLE files (
  number INTEGER PRIMARY KEY, path BLOB, size INTEGER, mtime INTEGER,
  mask BLOB, mask_size INTEGER, mask_mtime INTEGER);
CREATE TABLE samples (position INTEGER PRIMARY KEY, row BLOB, error TEXT);
CREATE TABLE shards (
  name TEXT PRIMARY KEY, bytes INTEGER, crc32c INTEGER, indexed INTEGER,
  index_bytes INTEGER, rows BLOB, labels BLOB, parts BLOB);
CREATE TABLE sent (name TEXT PRIMARY KEY, bytes INTEGER, tag TEXT);
"""


# Changed files that an error names.
_NAMED = 5


class Journal:
  """The journal of one output directory. Not thread-safe; close it.

  Args:
    directory: the output; the journal is made if it is not there.

  Raises:
    sqlite3.Error: the journal cannot be made or read.
  """

  def __init__(self, directory: str):
    self._directory = directory
    path = os.path.join(directory, JOURNAL)
    # Commits are explicit: a transaction is one step of the conversion.
    self._db = sqlite3.connect(path, isolation_level=None)
    self._db.execute("PRAGMA synchronous = FULL")

  def close(self) -> None:
    self._db.close()

  def is_new(self) -> bool:
    """Whether nothing was journaled yet."""
    return not self._db.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()

  def start(self, arguments: dict[str, Any], source: SampleSource) -> None:
    """Writes down what is to be converted, and how."""
    self._db.execute("BEGIN")
    for statement in _TABLES.split(";")[:-1]:
      self._db.execute(statement)
    self._keep_arguments(arguments)
    self._db.executemany(
      "INSERT INTO files VALUES (?, ?, ?, ?, ?, ?, ?)",
      (
        (
          number,
          os.fsencode(file.path),
          file.size,
          file.mtime_ns,
          os.fsencode(file.mask),
          file.mask_size,
          file.mask_mtime_ns,
        )
        for number, file in enumerate(source.files)
      ),
    )
    self._db.execute("COMMIT")

  def arguments(self) -> dict[str, Any]:
    """The arguments that the conversion was started with; empty for a new one."""
    if self.is_new():
      return {}
    rows = self._db.execute("SELECT name, value FROM arguments")
    return {name: json.loads(value) for name, value in rows}

  def _keep_arguments(self, arguments: dict[str, Any]) -> None:
    self._db.executemany(
      "INSERT OR REPLACE INTO arguments VALUES (?, ?)",
      [(name, json.dumps(value)) for name, value in arguments.items()],
    )

  def resume(
    self, arguments: dict[str, Any], source: SampleSource
  ) -> tuple[np.ndarray, dict[int, str], np.ndarray]:
    """Reads the journal of a conversion with these arguments and this source.

    Returns:
      The scan so far (shape [samples], SCAN_DTYPE), the errors by position, and the
      positions of scanned samples whose files were touched since.

    Raises:
      ConvertError: the source is not that which the journal was started with, or
        arguments are not that what is done depends on.
    """
    self._take_parts()
    written = bool(self.shards())
    for name, text in self._db.execute("SELECT name, value FROM arguments"):
      changed = json.dumps(arguments.get(name)) != text
      if changed and (written or name in _OF_SCAN):
        raise ConvertError(
          f"cannot resume {self._directory}: {name} "
          f"({json.dumps(arguments.get(name))}) was {text} when the conversion "
          "began; give the same again, or start over with "
          f"{setting('existing', 'replace')}"
        )
    touched = self._check_files(source)
    self._keep_arguments(arguments)
    scan = np.zeros(len(source), SCAN_DTYPE)
    errors: dict[int, str] = {}
    for position, row, error in self._db.execute("SELECT * FROM samples"):
      if position >= len(scan):
        raise changed_source(self._directory, "it has fewer samples")
      scan[position] = np.frombuffer(row, SCAN_DTYPE)[0]
      if error:
        errors[position] = error
    again = scan["done"] & touched[source.file_of]
    return scan, errors, np.flatnonzero(again)

  def _take_parts(self) -> None:
    """Journals what helpers of an interrupted run had done, once."""
    folder = parts_folder(self._directory)
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
      path = os.path.join(folder, name)
      if name.endswith(SCANNED):
        positions, rows, errors = read_scanned(path)
        table = dict(zip(positions, rows))
        self.add_scanned(positions, table, errors)
      elif name.endswith(SHARD):
        self.add_shard(name.removesuffix(SHARD), read_shard(path))
      else:
        continue
      # A later scan may find something else.
      os.unlink(path)

  def _check_files(self, source: SampleSource) -> np.ndarray:
    """Checks that the files are still those; returns which were touched, bool [files].

    Raises:
      ConvertError: one was added, removed or changed.
    """
    touched = np.zeros(len(source.files), bool)
    changed = []
    known = self._db.execute("SELECT * FROM files ORDER BY number")
    for row, file in itertools.zip_longest(known, source.files):
      if row is None or file is None or os.fsdecode(row[1]) != file.path:
        raise changed_source(self._directory, self._other_files(source))
      number, _, size, mtime, mask, mask_size, mask_mtime = row
      if (size, os.fsdecode(mask), mask_size) != (file.size, file.mask, file.mask_size):
        changed.append(file.path)
      touched[number] = (mtime, mask_mtime) != (file.mtime_ns, file.mask_mtime_ns)
    if changed:
      raise changed_source(self._directory, f"changed: {few(changed, _NAMED)}")
    return touched

  def _other_files(self, source: SampleSource) -> str:
    """Names the files that the source has now and had not, or the other way round."""
    before = {os.fsdecode(row[0]) for row in self._db.execute("SELECT path FROM files")}
    now = {file.path for file in source.files}
    for what, which in (("added", now - before), ("removed", before - now)):
      if which:
        return f"{what}: {few(sorted(which, key=os.fsencode), _NAMED)}"
    return "its files are in another order"

  def add_scanned(
    self,
    positions: Iterable[int],
    scan: np.ndarray | Mapping[int, np.ndarray],
    errors: dict[int, str],
  ) -> None:
    """Journals scanned samples, whose rows `scan` has."""
    self._db.execute("BEGIN")
    self._db.executemany(
      "INSERT OR REPLACE INTO samples VALUES (?, ?, ?)",
      [(p, scan[p].tobytes(), errors.get(p)) for p in positions],
    )
    self._db.execute("COMMIT")

  def shards(self) -> dict[str, ShardResult]:
    """Every finished shard, by name."""
    result = {}
    for name, *totals, rows, labels, parts in self._db.execute("SELECT * FROM shards"):
      rows = np.frombuffer(rows, INDEX_DTYPE)
      labels = np.frombuffer(labels, np.float32).reshape(len(rows), -1)
      parts = np.frombuffer(parts, np.int64).reshape(2, -1)
      result[name] = ShardResult(*totals, rows, labels, parts)
    return result

  def add_shard(self, name: str, result: ShardResult) -> None:
    """Journals a shard that is on the disk under its name, and not yet in a store."""
    *totals, rows, labels, parts = result
    self._db.execute("BEGIN")
    self._db.execute("DELETE FROM sent WHERE name = ?", (name,))
    self._db.execute(
      "INSERT OR REPLACE INTO shards VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
      (name, *totals, *(array.tobytes() for array in (rows, labels, parts))),
    )
    self._db.execute("COMMIT")

  def sent(self) -> dict[str, Stored]:
    """Every shard that a store has, by name, and what the store said of it."""
    rows = self._db.execute("SELECT name, bytes, tag FROM sent")
    return {name: Stored(size, tag) for name, size, tag in rows}

  def add_sent(self, name: str, stored: Stored) -> None:
    """Journals a shard that a store has, and which the disk need not have."""
    self._db.execute("INSERT OR REPLACE INTO sent VALUES (?, ?, ?)", (name, *stored))


def parts_folder(directory: str) -> str:
  """Where helpers leave parts of the journal of an output directory."""
  return os.path.join(directory, JOURNAL + "-parts")


def write_scanned(
  folder: str,
  name: str,
  positions: Sequence[int],
  rows: np.ndarray,
  errors: dict[int, str],
) -> None:
  """Leaves the rows of scanned samples; `name` is one that this step alone has."""
  reasons = json.dumps(errors)
  _write_arrays(
    os.path.join(folder, name + SCANNED),
    positions=np.asarray(positions, np.int64),
    rows=rows,
    errors=np.frombuffer(reasons.encode(), np.uint8),
  )


def read_scanned(path: str) -> tuple[list[int], np.ndarray, dict[int, str]]:
  """Positions, rows and errors of a part."""
  with np.load(path) as part:
    errors = json.loads(part["errors"].tobytes())
    positions = part["positions"].tolist()
    return positions, part["rows"], {int(p): why for p, why in errors.items()}


def write_shard(folder: str, name: str, result: ShardResult) -> None:
  """Leaves what is to be known of a shard that is in its place."""
  _write_arrays(
    os.path.join(folder, name + SHARD),
    totals=np.array(result[:4], np.int64),
    rows=result.rows,
    labels=result.labels,
    parts=result.parts,
  )


def read_shard(path: str) -> ShardResult:
  """Reads the result that `write_shard` left."""
  with np.load(path) as part:
    totals = part["totals"].tolist()
    return ShardResult(*totals, part["rows"], part["labels"], part["parts"])


def _write_arrays(path: str, **arrays: np.ndarray) -> None:
  buffer = io.BytesIO()
  np.savez(buffer, **arrays)
  write_file(path, buffer.getvalue())


def changed_source(directory: str, how: str) -> ConvertError:
  """The error for a source that is not what the journal knows."""
  return ConvertError(
    f"cannot resume {directory}: the source is not the same as when the conversion "
    f"began ({how}); restore it, or start over with {setting('existing', 'replace')}"
  )
