"""Writes RecordIO files and their indexes."""

import contextlib
import operator
import os
import struct

import numpy as np

from liquid_tf._native import ops
from liquid_tf._recordio import files
from liquid_tf._recordio.reader import Reader, fetch
from liquid_tf._store.files import AtomicFile, SteadyFile, write_file
from liquid_tf._words import Shown
from liquid_tf.errors import RecordIOError, WrongArgument

# Of a file's end, what is read first to find its last record.
_TAIL = 1 << 20
# The library frames what it makes itself. Here a payload is written where it lies:
# passing it through an op would copy it three times (docs/formats/recordio.md).
_MAGIC = 0xCED7230A
_HEADER = struct.Struct("<II")  # magic, cflag << 29 | length
_WHOLE, _FIRST, _MIDDLE, _LAST = (flag << 29 for flag in range(4))
# dmlc-core refuses a longer payload, whatever it is split into.
_MOST = (1 << 29) - 1


class _Appended:
  """A file that grows when `commit` is called, or else is as it was.

  Until then a kill leaves bytes after its end that no index has; `Writer` refuses to
  append to them where they are not whole records.
  """

  def __init__(self, path: str):
    self._path = path

  def __enter__(self) -> "_Appended":
    self._file = SteadyFile(self._path, append=True)
    self._size = self._file.size
    return self

  def write(self, data: bytes) -> None:
    self._file.write(data)

  def commit(self) -> None:
    self._file.sync()
    self._file.close()

  def __exit__(self, *unused) -> None:
    if self._file.closed:
      return
    with contextlib.suppress(OSError):
      self._file.close()
    os.truncate(self._path, self._size)


class Writer:
  """Writes a local RecordIO file and its index. Not thread-safe.

  A new file appears under its name when `close` is called, or a `with` block ends
  without an error; otherwise there is none, and an older one stays. Where one is
  appended to, it is then as it was.

  Args:
    path: the file, NAME.rec.
    index: True for NAME.idx beside it, a path, or None for no index.
    append: write after the records of an existing file, which has an index unless
      `index` is None.

  Raises:
    RecordIOError: the file to append to, or its index, is damaged.
    OSError: a file cannot be opened.
    ValueError: `path` is not local.
  """

  def __init__(
    self,
    path: str | os.PathLike,
    *,
    index: str | os.PathLike | bool | None = True,
    append: bool = False,
  ):
    path = os.fspath(path)
    if "://" in path:
      raise WrongArgument(
        "path", Shown(path), "must be a local file: copy it when it is there"
      )
    self._path = os.path.abspath(path)
    self._index = None
    if index is not None and index is not False:
      name = files.index_path(path) if index is True else os.fspath(index)
      self._index = os.path.abspath(name)
    self._append = append
    self._keys: dict[int, None] = {}
    self._known = 0  # of these keys, how many the index has already
    self._next_key = 0
    self._size = 0
    self._offsets: list[int] = []
    self._closed = False
    if append:
      self._look_at_end()
    self._stack = contextlib.ExitStack()
    self._file = self._stack.enter_context(
      _Appended(self._path) if append else AtomicFile(self._path)
    )

  def _look_at_end(self) -> None:
    """Refuses to append to what is not whole, or not the index's."""
    self._size = files.size_of(self._path)
    try:
      last = _last_offset(self._path, self._size)
    except RecordIOError as error:
      raise RecordIOError(
        f"cannot append, since the file is damaged: {error}; Reader(repair=True) reads "
        "what is left of it"
      ) from error
    if self._index is None:
      return
    index = files.read_index(self._index)
    if max(index.offsets.tolist(), default=-1) != last:
      raise RecordIOError(
        f"cannot append: the last record of {self._path} begins at offset {last}, but "
        f"{self._index} has another: liquid_tf.recordio.write_index makes one with the "
        "keys 0, 1, 2, …"
      )
    self._keys = dict.fromkeys(index.keys.tolist())
    self._known = len(self._keys)
    self._next_key = max(self._keys, default=-1) + 1

  def write(self, data: bytes, key: int | None = None) -> None:
    """Adds a record.

    Args:
      data: its payload, bytes or what has the buffer of some, less than 2^29 bytes.
      key: in the index; by default one more than the largest so far, from 0 on.

    Raises:
      TypeError: the payload is no bytes, or the key no integer.
      ValueError: the payload is too long, the key was written before, there is no
        index for it, or the file was closed.
      OSError: the disk is full, or the like.
    """
    if self._closed:
      raise ValueError(f"{self._path} is closed: nothing can be written to it")
    if not isinstance(data, bytes):
      data = memoryview(data).tobytes()
    if len(data) > _MOST:
      raise WrongArgument(
        "data", Shown(f"{len(data)} bytes"), "must be less than 2^29 bytes"
      )
    if self._index is None:
      if key is not None:
        raise WrongArgument("key", key, "must be None where there is no index")
    else:
      key = self._next_key if key is None else operator.index(key)
      if key in self._keys or not -(2**63) <= key < 2**63:
        raise WrongArgument("key", key, "must be new, and fit into 64 bits")
      self._keys[key] = None
      self._next_key = max(self._next_key, key + 1)
    if self._index is not None:
      self._offsets.append(self._size)
    for piece in _frame(data):
      self._file.write(piece)
      self._size += len(piece)

  def close(self) -> None:
    """Writes the file through to the disk, and then the index; once.

    Raises:
      OSError: a file cannot be written.
    """
    if self._closed:
      return
    self._closed = True
    with self._stack:
      if not self._append:
        # An older index must not stand beside the new records.
        stale = {self._index} - {None}
        if self._path.endswith(".rec"):
          stale.add(files.index_path(self._path))
        for name in stale:
          with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
      self._file.commit()
    if self._index is not None:
      self._write_index()

  def _write_index(self) -> None:
    offsets = np.array(self._offsets, np.int64)
    new = np.array(list(self._keys)[self._known :], np.int64)
    lines = encode_index(new, offsets)
    if self._append:
      with open(self._index, "rb") as file:
        known = file.read()
      lines = known + (b"" if known.endswith(b"\n") or not known else b"\n") + lines
    write_file(self._index, lines)

  def __enter__(self) -> "Writer":
    return self

  def __exit__(self, kind, *unused) -> None:
    if kind is None:
      self.close()
    else:
      self._closed = True
      self._stack.close()


def _last_offset(path: str, size: int) -> int:
  """Where the last record of a file begins; -1 where it has none.

  Raises:
    RecordIOError: the file is damaged there.
  """
  tail = _TAIL
  while True:
    begin = max(0, size - tail) // 4 * 4
    row, found = np.array([0, begin, size, begin == 0, 1, -1]), -1
    while row[1] >= 0:
      records = fetch(path, row, repair=False)
      found = max(records.offsets.numpy().tolist(), default=found)
      row[1], row[3] = records.next.numpy(), 1
    if found >= 0 or begin == 0:
      return found
    tail *= 4


def encode_index(keys: np.ndarray, offsets: np.ndarray) -> bytes:
  """The bytes of a `.idx` file.

  Args:
    keys: shape [n], int64.
    offsets: shape [n], int64.
  """
  return ops.lib().liquid_write_record_index(keys=keys, offsets=offsets).numpy()


def write_index(
  path: str | os.PathLike, index: str | os.PathLike | None = None
) -> None:
  """Makes the index of a local file anew, with the keys 0, 1, 2, …

  Args:
    path: the file.
    index: the index; by default NAME.idx beside NAME.rec.

  Raises:
    RecordIOError: the file is damaged.
    OSError: the index cannot be written.
  """
  path = os.fspath(path)
  offsets = np.array([record.offset for record in Reader([path]).records()], np.int64)
  name = files.index_path(path) if index is None else os.fspath(index)
  write_file(os.path.abspath(name), encode_index(np.arange(len(offsets)), offsets))


def _frame(data: bytes) -> list[bytes | memoryview]:
  """Makes the record of a payload.

  Args:
    data: at most _MOST bytes.

  Returns:
    Its bytes in pieces, of which the payload's are not copied.
  """
  words = np.frombuffer(data, "<u4", len(data) // 4)
  cuts = np.flatnonzero(words == _MAGIC)
  if not len(cuts):
    return [_HEADER.pack(_MAGIC, _WHOLE | len(data)), data, bytes(-len(data) % 4)]
  view, pieces, begin, flag = memoryview(data), [], 0, _FIRST
  for cut in (4 * cuts).tolist():
    pieces += [_HEADER.pack(_MAGIC, flag | (cut - begin)), view[begin:cut]]
    begin, flag = cut + 4, _MIDDLE
  left = len(data) - begin
  pieces += [_HEADER.pack(_MAGIC, _LAST | left), view[begin:], bytes(-left % 4)]
  return pieces
