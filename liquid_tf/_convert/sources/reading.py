"""Files of a source, wherever they are."""

import io
import os
import posixpath

from liquid_tf._native.http_file import HttpFile
from liquid_tf._store import schemes, storage

# Samples of a store that are read at once, and what they may take together, in bytes.
_READS = 32
_BYTES = 256 << 20
# Bytes of one read of an opened remote file.
_STRETCH = 8 << 20


def reads_at_once(largest: int) -> int:
  """How many samples of a store are read at once.

  Args:
    largest: bytes of the largest one.
  """
  return min(_READS, max(1, _BYTES // max(largest, 1)))


def read(path: str, offset: int, length: int) -> bytes:
  """Reads a part of a file; fewer bytes come at its end. Thread-safe.

  Raises:
    OSError: it cannot be read.
  """
  if storage.is_remote(path):
    return HttpFile(path).read(offset, length)
  with open(path, "rb", buffering=0, opener=storage.regular) as file:
    parts = []
    while length and (part := os.pread(file.fileno(), length, offset)):
      parts.append(part)
      offset += len(part)
      length -= len(part)
  return parts[0] if len(parts) == 1 else b"".join(parts)


class _Remote(io.RawIOBase):
  """A file of a store or a server."""

  def __init__(self, path: str):
    self._file = HttpFile(path)
    self._size, self._offset = self._file.size(), 0

  def readable(self) -> bool:
    return True

  def seekable(self) -> bool:
    return True

  def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
    begin = {io.SEEK_SET: 0, io.SEEK_CUR: self._offset, io.SEEK_END: self._size}
    self._offset = begin[whence] + offset
    return self._offset

  def readinto(self, buffer: memoryview) -> int:
    length = min(len(buffer), max(0, self._size - self._offset))
    data = self._file.read(self._offset, length) if length else b""
    buffer[: len(data)] = data
    self._offset += len(data)
    return len(data)


def opened(path: str, stretch: int = _STRETCH) -> io.BufferedIOBase:
  """Opens a file, to seek and to read in it.

  Args:
    path: of the file, or its URL.
    stretch: bytes that a read of a remote file takes at least.

  Raises:
    OSError: it cannot be opened.
  """
  if storage.is_remote(path):
    return io.BufferedReader(_Remote(path), stretch)
  return open(path, "rb", opener=storage.regular)


def beside(path: str, extension: str) -> str | None:
  """The file beside another one that differs in its extension, if it is there.

  Args:
    path: of a file. One with a query, which may be a signature, has none beside it.
    extension: of the other.

  Raises:
    OSError: listing failed.
  """
  if path != schemes.shown(path):
    return None
  other = os.path.splitext(path)[0] + extension
  return other if storage.file_size(other) is not None else None


def folder_of(path: str) -> str:
  """The folder of a file at a path or URL, without a query."""
  if storage.is_remote(path):
    return posixpath.dirname(schemes.shown(path))
  return os.path.dirname(path)
