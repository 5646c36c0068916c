"""The manifest and the index of a dataset directory (docs/formats/liquid.md).

Whoever opens a dataset does it through `load`, so that a wrong or unfinished one is
found in one place and described in one sentence.
"""

import bisect
import dataclasses
import json
import os
from typing import Any

import numpy as np

from liquid_tf._native import ops
from liquid_tf._store import index_rows, schema, schemes
from liquid_tf._store.pcr_index import INDEX as PCR_INDEX
from liquid_tf._store.pcr_index import PcrEntry, decode_index
from liquid_tf._store.schema import FORMATS as FORMATS
from liquid_tf._store.storage import (
  crc32c,
  file_size,
  is_json,
  join,
  map_right,
  read_right,
)
from liquid_tf.errors import ManifestError

MANIFEST = "dataset.json"
INDEX = "index.npy"
JOURNAL = "_journal.db"
# Of an unfinished conversion: what its source has that cannot make a dataset.
PROBLEMS = "_problems.jsonl"

# Largest manifest that is read, in bytes.
MOST_MANIFEST = 256 << 20

# An index of millions of rows is checked in parts, each small beside it.
_CHUNK = 16 << 20

INDEX_DTYPE = np.dtype(
  [
    ("sample", "<u8"),
    ("split", "u1"),
    ("format", "u1"),
    ("channels", "u1"),
    ("bits", "u1"),
    ("shard", "<u4"),
    ("offset", "<u8"),
    ("length", "<u8"),
    ("crc32c", "<u4"),
    ("height", "<u4"),
    ("width", "<u4"),
    ("orientation", "<u4"),
    ("pixels_hash", "<u8"),
  ]
)


@dataclasses.dataclass(frozen=True)
class Shard:
  """One file of records.

  Attributes:
    path: plain file name inside the dataset's directory.
    format: name of the format of every record.
    split: name of the split of every record.
    records: number of records.
    bytes: size of the file.
    crc32c: CRC-32C of the whole file.
  """

  path: str
  format: str
  split: str
  records: int
  bytes: int
  crc32c: int


@dataclasses.dataclass(frozen=True)
class Manifest:
  """A checked `dataset.json`.

  Attributes:
    directory: path or URL of the dataset.
    data: the JSON object as it was read; every key of the specification is there.
    shards: the files, in the order that the index's `shard` counts.
  """

  directory: str
  data: dict[str, Any]
  shards: tuple[Shard, ...]

  def __getitem__(self, key: str) -> Any:
    return self.data[key]

  @property
  def classes(self) -> list[str] | None:
    """Names of the classes, or None where the labels have none, or are none."""
    return self.data["features"].get("label", {}).get("classes")

  def path(self, name: str) -> str:
    """Path or URL of a file of the dataset."""
    return join(self.directory, name)

  def split_index(self, split: str) -> int:
    """Number of a split in the index.

    Raises:
      ValueError: there is no such split.
    """
    splits = self.data["splits"]
    if split not in splits:
      names = ", ".join(f'"{name}"' for name in splits)
      raise ValueError(f'split ("{split}") must be one of {names} of {self.directory}')
    return splits[split]["index"]


def load(directory: str | os.PathLike, *, check_files: bool = True) -> Manifest:
  """Reads and checks the manifest of a dataset.

  Args:
    directory: path of the dataset, or a URL of a registered file system.
    check_files: whether every file must be there with the size that the manifest
      says; one `stat` a file.

  Returns:
    The manifest.

  Raises:
    ManifestError: the directory holds no dataset, an unfinished one, or one that
      contradicts its manifest. The message names the file and the key.
  """
  directory = os.fspath(directory)
  schemes.require(directory)
  path = join(directory, MANIFEST)
  size = _size(path)
  if size is None:
    if _size(join(directory, JOURNAL)) is not None:
      problems = join(directory, PROBLEMS)
      advice = 'convert or copy again with existing="resume" to finish it'
      if _size(problems) is not None:
        advice = f"{problems} lists samples that do not fit: see them first"
      raise ManifestError(f"{directory} is an unfinished conversion or copy: {advice}")
    raise ManifestError(
      f"{directory} is not a Liquid dataset (no {MANIFEST}): make one with "
      'liquid_tf.convert, or finish an interrupted one with existing="resume"'
    )
  if size > MOST_MANIFEST:
    raise ManifestError(
      f"{path} has {size} bytes, and must have at most {MOST_MANIFEST}"
    )
  try:
    data = json.loads(read_right(path, is_json).decode("utf-8"))
  except OSError as error:
    raise _unreadable(path, error) from error
  except RecursionError:
    raise ManifestError(f"{path} is no manifest: its JSON is nested too deep") from None
  except ValueError as error:
    raise ManifestError(f"{path} is not JSON: {error}") from error
  try:
    schema.check(data)
  except ManifestError as error:
    raise ManifestError(f"{path}: {error}") from None
  manifest = Manifest(
    directory=directory,
    data=data,
    shards=tuple(
      Shard(**{field.name: shard[field.name] for field in dataclasses.fields(Shard)})
      for shard in data["shards"]
    ),
  )
  if check_files:
    problems = file_problems(manifest)
    if problems:
      raise ManifestError(problems[0])
  return manifest


def _unreadable(path: str, error: OSError) -> ManifestError:
  return ManifestError(f"{path} cannot be read: {ops.reason(error, path)}")


def _size(path: str) -> int | None:
  """Size of a file, or None where there is none.

  Raises:
    ManifestError: it cannot be looked at, or is no regular file.
  """
  try:
    return file_size(path)
  except OSError as error:
    raise _unreadable(path, error) from error


def file_problems(manifest: Manifest) -> list[str]:
  """Compares the manifest with the files' sizes.

  Returns:
    One sentence for each missing or irregular file or wrong size; empty where all is
    right.
  """
  rows = manifest["index"]["rows"]
  found = [
    _file_problem(
      manifest.path(shard.path),
      shard.bytes,
      f"shards[{i}].bytes of {MANIFEST} says",
      f": it is shards[{i}] of {MANIFEST}, {shard.records} records",
    )
    for i, shard in enumerate(manifest.shards)
  ]
  if "pcr" in manifest.data:
    found.append(_pcr_index_problem(manifest))
  found.append(
    _file_problem(
      manifest.path(INDEX),
      index_size(rows),
      f"index.rows of {MANIFEST} ({rows}) makes",
    )
  )
  return [problem for problem in found if problem]


def _file_problem(path: str, wanted: int, says: str, lost: str = "") -> str:
  """What is wrong with a file that must have `wanted` bytes, or ""."""
  try:
    size = _size(path)
  except ManifestError as error:
    return str(error)
  if size is None:
    return f"{path} is missing{lost}"
  return "" if size == wanted else f"{path} has {size} bytes, but {says} {wanted}"


def _pcr_index_problem(manifest: Manifest) -> str:
  wanted = manifest["pcr"]["index_bytes"]
  says = f"pcr.index_bytes of {MANIFEST} says"
  return _file_problem(manifest.path(PCR_INDEX), wanted, says)


def index_header(rows: int) -> bytes:
  """What stands before `rows` rows in an `index.npy`."""
  descr = INDEX_DTYPE.descr
  text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': ({rows},), }}"
  text += " " * (63 - (10 + len(text)) % 64) + "\n"
  return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


def index_size(rows: int) -> int:
  """Size in bytes of an `index.npy` of `rows` rows."""
  return len(index_header(rows)) + rows * INDEX_DTYPE.itemsize


def encode_index(rows: np.ndarray) -> bytes:
  """The bytes of `index.npy`, the same with every version of NumPy.

  Args:
    rows: shape [n], dtype INDEX_DTYPE, ascending by (split, format, shard, offset).
  """
  rows = np.ascontiguousarray(rows, INDEX_DTYPE)
  return index_header(len(rows)) + rows.tobytes()


def load_index(manifest: Manifest) -> np.ndarray:
  """Reads `index.npy` and checks it against the manifest.

  Args:
    manifest: of the dataset.

  Returns:
    Shape [rows], dtype INDEX_DTYPE, read-only. Of a local dataset it is mapped: it
    must not be changed in place while it is in use (`convert` never does).

  Raises:
    ManifestError: the index is missing, damaged, or of another dataset.
  """
  path = manifest.path(INDEX)
  rows = manifest["index"]["rows"]
  try:
    data = map_right(path, manifest["index"]["crc32c"])
  except OSError as error:
    raise _unreadable(path, error) from error
  header = index_header(rows)
  if len(data) != index_size(rows) or bytes(data[: len(header)]) != header:
    raise ManifestError(
      f"{path} is damaged: it does not hold the {rows} rows that index.rows "
      f"of {MANIFEST} says"
    )
  crc = 0
  for start in range(0, len(data), _CHUNK):
    crc = crc32c(bytes(data[start : start + _CHUNK]), crc)
  if crc != manifest["index"]["crc32c"]:
    raise ManifestError(
      f"{path} is damaged: its CRC-32C is 0x{crc:08x}, index.crc32c of {MANIFEST} says "
      f"0x{manifest['index']['crc32c']:08x}"
    )
  index = np.frombuffer(data, INDEX_DTYPE, offset=len(header))
  problem = index_rows.find_problem(index, manifest.data)
  if problem:
    raise ManifestError(f"{path}: {problem}")
  return index


def rows_of(index: np.ndarray, split: int, format_number: int) -> np.ndarray:
  """The rows of one format of one split: a view, for they lie together."""
  key = (split, format_number)

  def at(i: int) -> tuple[int, int]:
    return int(index["split"][i]), int(index["format"][i])

  begin = bisect.bisect_left(range(len(index)), key, key=at)
  return index[begin : bisect.bisect_right(range(len(index)), key, key=at)]


def load_pcr_index(manifest: Manifest) -> dict[int, PcrEntry]:
  """Reads `PCR_index.pb` and checks it against the manifest.

  Args:
    manifest: of the dataset.

  Returns:
    What it says of each record, by position in the manifest's shards; empty for a
    dataset without the format pcr.

  Raises:
    ManifestError: the index is missing, damaged, or of another dataset.
  """
  if "pcr" not in manifest.data:
    return {}
  path = manifest.path(PCR_INDEX)
  wanted = manifest["pcr"]["index_crc32c"]
  # Before it is read, since it is read whole.
  problem = _pcr_index_problem(manifest)
  if problem:
    raise ManifestError(problem)
  try:
    contents = read_right(path, lambda contents: crc32c(contents) == wanted)
  except OSError as error:
    raise _unreadable(path, error) from error
  crc = crc32c(contents)
  if crc != wanted:
    raise ManifestError(
      f"{path} is damaged: its CRC-32C is 0x{crc:08x}, pcr.index_crc32c of {MANIFEST} "
      f"says 0x{wanted:08x}"
    )
  import tensorflow as tf

  try:
    entries = decode_index(contents)
  except tf.errors.OpError as error:
    raise ManifestError(f"{path} is damaged: {ops.reason(error)}") from error
  numbers = [i for i, shard in enumerate(manifest.shards) if shard.format == "pcr"]
  shards = [manifest.shards[i] for i in numbers]
  if [
    (entry.name, int(entry.lengths.sum()), len(entry.crc32cs)) for entry in entries
  ] != [
    (shard.path, shard.bytes, len(entry.lengths))
    for shard, entry in zip(shards, entries)
  ] or len(entries) != len(shards):
    raise ManifestError(f"{path} does not list the records of {MANIFEST}")
  return dict(zip(numbers, entries))
