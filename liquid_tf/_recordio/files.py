"""RecordIO files, their indexes, and what a part has of them."""

import dataclasses
import os
from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from liquid_tf._native import ops
from liquid_tf._recordio import uri
from liquid_tf._store import schemes, storage
from liquid_tf._words import Shown
from liquid_tf.errors import RecordIOError, WrongArgument

_MAKES_INDEX = "liquid_tf.recordio.write_index makes one"

Paths = str | os.PathLike | Sequence[str | os.PathLike]


def as_paths(path: Paths, extension: str = ".rec") -> list[str]:
  """The files that a user named, as a list.

  Args:
    path: a string as `uri.expand` takes it; or paths as they are.
    extension: of the files that are meant in a folder.

  Returns:
    Absolute paths, and URLs.

  Raises:
    ValueError: there is none, or nothing stands before or after a ";".
    RecordIOError: a name in a string has no file.
    ImportError: nothing that is installed has a path's file system.
  """
  if isinstance(path, str):
    return list(map(storage.absolute, uri.expand(path, extension)))
  paths = [path] if isinstance(path, os.PathLike) else path
  paths = [os.fspath(one) for one in paths]
  if not paths:
    raise ValueError("path must name at least one file")
  for one in paths:
    schemes.require(one)
  return list(map(storage.absolute, paths))


def index_path(path: str) -> str:
  """Where the index of a file is looked for: NAME.idx beside NAME.rec."""
  return os.path.splitext(path)[0] + ".idx"


def size_of(path: str) -> int:
  """Bytes of a file of any file system.

  Raises:
    RecordIOError: it cannot be read.
  """
  try:
    size = storage.file_size(path)
  except OSError as error:
    name = schemes.shown(path)
    raise RecordIOError(f"cannot read {name}: {ops.reason(error, name)}") from error
  if size is None:
    raise RecordIOError(f"cannot read {schemes.shown(path)}: there is no such file")
  return size


@dataclasses.dataclass(frozen=True)
class Index:
  """The index of one file.

  Attributes:
    path: its own, as messages may show it.
    keys: shape [n], int64.
    offsets: shape [n], int64, of each record's first byte.
  """

  path: str
  keys: np.ndarray
  offsets: np.ndarray


def read_index(path: str) -> Index:
  """Reads a `.idx` file of any file system.

  Raises:
    RecordIOError: it cannot be read, or is damaged.
  """
  name = schemes.shown(path)
  try:
    contents = storage.read_file(path)
  except OSError as error:
    raise RecordIOError(
      f"cannot read the index {name}: {ops.reason(error, name)}; {_MAKES_INDEX}"
    ) from error
  try:
    index = ops.lib().liquid_read_record_index(contents=contents)
  except tf.errors.OpError as error:
    raise RecordIOError(f"{name}: {ops.reason(error)}") from error
  return Index(name, index.keys.numpy(), index.offsets.numpy())


def indexes_of(paths: list[str], index: Paths | bool | None) -> list[Index] | None:
  """The indexes to split by; None to split by bytes.

  Args:
    paths: the files.
    index: None or False: none; True: those beside the files; else their paths.

  Raises:
    ValueError: there are not as many as files.
    RecordIOError: one cannot be read, or is damaged.
  """
  if index is None or index is False:
    return None
  if index is True:
    names = [index_path(path) for path in paths]
  else:
    try:
      names = as_paths(index, ".idx")
    except RecordIOError as error:
      raise RecordIOError(f"{error}; {_MAKES_INDEX}") from error
  if len(names) != len(paths):
    raise WrongArgument(
      "index",
      Shown(f"{len(names)} files"),
      f"must have one for each of {len(paths)} files",
    )
  return [read_index(name) for name in names]


def part_of(
  paths: list[str], indexes: list[Index] | None, part: tuple[int, int]
) -> np.ndarray:
  """Records of the files that a part has; see the op SplitRecords.

  Args:
    paths: the files.
    indexes: of each file, to split by count; None: by bytes.
    part: (i, n): the i-th of n.

  Returns:
    Shape [k, 6], int64.

  Raises:
    RecordIOError: a file cannot be read, or its index is of another one.
    ValueError: `part` is wrong.
  """
  number, parts = part
  sizes = [size_of(path) for path in paths]
  for path, size, index in zip(paths, sizes, indexes or []):
    last = max(index.offsets.tolist(), default=-1)
    if last >= size:
      raise RecordIOError(
        f"{index.path} has a record at offset {last}, but {schemes.shown(path)} ends "
        f"at {size}: use the index that was written with it"
      )
  none = np.zeros(0, np.int64)
  try:
    ranges = ops.lib().liquid_split_records(
      sizes=np.array(sizes, np.int64),
      offsets=np.concatenate([none, *(index.offsets for index in indexes or [])]),
      counts=np.array([len(index.keys) for index in indexes or []], np.int64),
      part=number,
      parts=parts,
    )
  except tf.errors.InvalidArgumentError as error:
    raise ValueError(ops.reason(error)) from error
  return ranges.numpy()
