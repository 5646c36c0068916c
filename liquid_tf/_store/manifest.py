"""The manifest and the index of a dataset directory (docs/formats/liquid.md).

Every opening of a dataset goes through `load`, so that a wrong or unfinished one is
found in one place and described in one sentence.
"""

import bisect
import dataclasses
import itertools
import json
import os
from concurrent import futures
from typing import Any

import numpy as np

from liquid_tf._native import ops
from liquid_tf._store import (
  arrays,
  contents,
  foreign,
  index_rows,
  schema,
  schemes,
  versions,
)
from liquid_tf._store.formats import BY_NAME
from liquid_tf._store.formats import FORMATS as FORMATS
from liquid_tf._store.index_rows import INDEX_DTYPE as INDEX_DTYPE
from liquid_tf._store.pcr_index import DamagedIndex, PcrEntry, decode_index
from liquid_tf._store.schema import PIXELS as PIXELS
from liquid_tf._store.storage import (
  absolute,
  file_size,
  is_json,
  is_remote,
  join,
  leaves,
  read_right,
)
from liquid_tf._store.storage import crc32c as crc32c
from liquid_tf._store.versions import MANIFEST as MANIFEST
from liquid_tf._words import setting
from liquid_tf.errors import ManifestError, WrongArgument

INDEX = "index.npy"
LABELS = "labels.npy"
# With .npy and .bin.
NAMES = "names"
JOURNAL = "_journal.db"
# Of an unfinished conversion: what its source has that cannot make a dataset.
PROBLEMS = "_problems.jsonl"

# Files whose sizes a server is asked for at once.
_AT_ONCE = 32
# Largest manifest that is read, in bytes.
MOST_MANIFEST = 256 << 20


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
    file: name of the manifest's own file.
  """

  directory: str
  data: dict[str, Any]
  shards: tuple[Shard, ...]
  file: str = MANIFEST

  def __getitem__(self, key: str) -> Any:
    return self.data[key]

  @property
  def classes(self) -> list[str] | None:
    """Names of the classes, or None where the labels have none, or are none."""
    return self.data["features"].get("label", {}).get("classes")

  @property
  def index_path(self) -> str:
    """Path or URL of the index."""
    return self.path(self.data["index"]["path"])

  def path(self, name: str) -> str:
    """Path or URL of a file of the dataset."""
    return join(self.directory, name)

  def says(self, *keys: str) -> tuple[str, ...]:
    """Keys, each with the file that has it, for errors."""
    return tuple(f"{key} of {self.file}" for key in keys)

  def by_preference(self) -> list[str]:
    """The formats in the order in which another encoding of a sample is looked for.

    Those without loss come first, and of these the ones that decode fastest.
    """
    formats = self.data["formats"]

    def rank(name: str) -> tuple[bool, int, int]:
      row = BY_NAME[name]
      return not formats[name]["lossless"], row.cost, row.number

    return sorted(formats, key=rank)

  def split_index(self, split: str) -> int:
    """Number of a split in the index.

    Raises:
      ValueError: there is no such split.
    """
    splits = self.data["splits"]
    if split not in splits:
      names = ", ".join(f'"{name}"' for name in splits)
      raise WrongArgument("split", split, f"must be one of {names} of {self.directory}")
    return splits[split]["index"]


def load(
  directory: str | os.PathLike,
  version: int | None = None,
  *,
  check_files: bool = True,
) -> Manifest:
  """Reads and checks the manifest of a dataset.

  Args:
    directory: path of the dataset, or a URL of a registered file system.
    version: of the dataset; None for the newest.
    check_files: whether every file must be there with the size that the manifest
      says; one `stat` a file.

  Returns:
    The manifest, of an absolute path: the dataset is the same one wherever the process
    goes.

  Raises:
    ManifestError: the directory holds no dataset, an unfinished one, or one that
      contradicts its manifest, or of which a file is a link to elsewhere. The message
      names the file and the key.
    ValueError: the path is empty, or the URL has a query or a user.
    ImportError: nothing that is installed has its file system.
  """
  directory = absolute(directory)
  schemes.require_dataset(directory)
  file = versions.manifest_file(_choose(directory, version))
  path = join(directory, file)
  size = _size(path)
  if size is None:
    # Since it was listed.
    raise ManifestError(f"{path} is missing")
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
    if versions.manifest_file(data["version"]) != file:
      raise ManifestError(
        f"version ({data['version']}) must be that of the file's name"
      )
  except ManifestError as error:
    raise ManifestError(f"{path}: {error}") from None
  manifest = Manifest(
    directory=directory,
    data=data,
    file=file,
    shards=tuple(
      Shard(**{field.name: shard[field.name] for field in dataclasses.fields(Shard)})
      for shard in data["shards"]
    ),
  )
  _refuse_links(manifest)
  if check_files:
    problems = file_problems(manifest)
    if problems:
      raise ManifestError(problems[0])
  return manifest


def _refuse_links(manifest: Manifest) -> None:
  """Raises ManifestError where a file is a link to outside the dataset's folder.

  The author of a dataset must not choose what else of a machine is read, copied or
  exported by those who use it.
  """
  names = (file.name for file in contents.every(manifest.data))
  for path in map(manifest.path, (manifest.file, *names)):
    target = leaves(path)
    if target is not None:
      raise ManifestError(
        f"{path} is a link to {target}, outside the dataset's folder: where that is "
        "the right file, put it in the place of the link, or copy the dataset with "
        "cp -rL"
      )


def _choose(directory: str, version: int | None) -> int:
  """The version that is asked for, or the newest.

  Raises:
    ManifestError: there is none.
  """
  try:
    # A server of HTTP may have it where others before it are missing.
    if version is not None and versions.exists(directory, version):
      return version
    found = versions.in_directory(directory)
  except OSError as error:
    raise _unreadable(directory, error) from error
  if found and version is None:
    return found[-1]
  if found:
    raise ManifestError(
      f"version ({version}) of {directory} is not there: it was forgotten, or never "
      f"made; there {'are versions' if len(found) > 1 else 'is version'} "
      f"{versions.said(found)}"
    )
  if _size(join(directory, JOURNAL)) is not None:
    problems = join(directory, PROBLEMS)
    advice = f"convert or copy again with {setting('existing', 'resume')} to finish it"
    if _size(problems) is not None:
      advice = f"{problems} lists samples that do not fit: see them first"
    raise ManifestError(f"{directory} is an unfinished conversion or copy: {advice}")
  raise ManifestError(
    foreign.advice(directory)
    or (
      f"{directory} is not a Liquid dataset (no {MANIFEST}): make one with "
      "liquid_tf.convert, or finish an interrupted one with "
      f"{setting('existing', 'resume')}"
    )
  )


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
  files = [
    (
      manifest.path(shard.path),
      shard.bytes,
      f"shards[{i}].bytes of {manifest.file} says",
      f": it is shards[{i}] of {manifest.file}, {shard.records} records",
    )
    for i, shard in enumerate(manifest.shards)
  ]
  for file in contents.beside(manifest.data):
    says = f"{file.key} of {manifest.file} says"
    files.append((manifest.path(file.name), file.bytes, says))
  if not is_remote(manifest.directory):
    found = itertools.starmap(_file_problem, files)
    return [problem for problem in found if problem]
  # A server's answers are waited for together.
  with futures.ThreadPoolExecutor(_AT_ONCE) as pool:
    return [
      problem for problem in pool.map(lambda f: _file_problem(*f), files) if problem
    ]


def _file_problem(path: str, wanted: int, says: str, lost: str = "") -> str:
  """Problem of a file that must have `wanted` bytes, or ""."""
  try:
    size = _size(path)
  except ManifestError as error:
    return str(error)
  if size is None:
    return f"{path} is missing{lost}"
  return "" if size == wanted else f"{path} has {size} bytes, but {says} {wanted}"


def encode_index(rows: np.ndarray) -> bytes:
  """The bytes of `index.npy`, the same with every version of NumPy.

  Args:
    rows: shape [n], dtype INDEX_DTYPE, ascending by (split, format, shard, offset).
  """
  rows = np.ascontiguousarray(rows, INDEX_DTYPE)
  return arrays.header(INDEX_DTYPE, rows.shape) + rows.tobytes()


def write_index(directory: str, name: str, rows: np.ndarray) -> dict[str, Any]:
  """Writes an index; returns the manifest's entry of it.

  Raises:
    OSError: it cannot be written.
  """
  return arrays.write(directory, name, rows) | {"rows": len(rows)}


def load_index(manifest: Manifest) -> np.ndarray:
  """Reads the index and checks it against the manifest.

  Args:
    manifest: of the dataset.

  Returns:
    Shape [rows], dtype INDEX_DTYPE, read-only. Of a local dataset it is mapped: it
    must not be changed in place while it is in use (`convert` never does).

  Raises:
    ManifestError: the index is missing, damaged, or of another dataset.
  """
  path, entry = manifest.index_path, manifest["index"]
  says = manifest.says("index.rows", "index.crc32c")
  index = arrays.load(path, INDEX_DTYPE, (entry["rows"],), entry["crc32c"], says)
  problem = index_rows.find_problem(index, manifest.data)
  if problem:
    raise ManifestError(f"{path}: {problem}")
  return index


def run_of(index: np.ndarray, split: int, format_number: int) -> slice:
  """Where the rows of one format of one split are: they lie together."""
  key = (split, format_number)

  def at(i: int) -> tuple[int, int]:
    return int(index["split"][i]), int(index["format"][i])

  begin = bisect.bisect_left(range(len(index)), key, key=at)
  return slice(begin, bisect.bisect_right(range(len(index)), key, key=at))


def rows_of(index: np.ndarray, split: int, format_number: int) -> np.ndarray:
  """The rows of one format of one split: a view of the index."""
  return index[run_of(index, split, format_number)]


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
  path = manifest.path(manifest["pcr"]["path"])
  wanted = manifest["pcr"]["index_crc32c"]
  # Before it is read, since it is read whole.
  [says] = manifest.says("pcr.index_bytes")
  problem = _file_problem(path, manifest["pcr"]["index_bytes"], f"{says} says")
  if problem:
    raise ManifestError(problem)
  found = arrays.mapped(path, wanted)
  [says] = manifest.says("pcr.index_crc32c")
  arrays.check_crc(found, path, wanted, says)
  try:
    entries = decode_index(found.tobytes())
  except DamagedIndex as error:
    raise ManifestError(f"{path} is damaged: {error}") from None
  numbers = [i for i, shard in enumerate(manifest.shards) if shard.format == "pcr"]
  shards = [manifest.shards[i] for i in numbers]
  if [
    (entry.name, int(entry.lengths.sum()), len(entry.crc32cs)) for entry in entries
  ] != [
    (shard.path, shard.bytes, len(entry.lengths))
    for shard, entry in zip(shards, entries)
  ] or len(entries) != len(shards):
    raise ManifestError(f"{path} does not list the records of {manifest.file}")
  return dict(zip(numbers, entries))
