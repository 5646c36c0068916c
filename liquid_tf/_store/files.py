"""Files that are either whole or absent, whatever kills the writer."""

import contextlib
import ctypes
import errno
import os
import shutil
import uuid

# Files under this suffix are being written; a later run removes them.
TEMPORARY = ".tmp"
# Bytes, and pieces of them, that are gathered for a call of the system.
_GATHERED = 1 << 20
_PIECES = os.sysconf("SC_IOV_MAX")
# Bytes after which the disk begins with them.
_STRETCH = 16 << 20
# Of renameat2(2), which Python has no function for.
_AT_FDCWD = -100
_RENAME_EXCHANGE = 2


def sync_directory(directory: str) -> None:
  """Makes renames and removals in `directory` durable."""
  descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
  try:
    os.fsync(descriptor)
  finally:
    os.close(descriptor)


def remove(path: str) -> None:
  """Removes a file, a link, or a folder with all that is in it."""
  if os.path.isdir(path) and not os.path.islink(path):
    shutil.rmtree(path)
  else:
    os.unlink(path)


def exchange(one: str, other: str) -> None:
  """Exchanges what two paths name, in one step: no kill leaves a name without a file.

  Raises:
    OSError: ENOSYS or EINVAL where the C library or the file system cannot do it.
  """
  try:
    renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
  except AttributeError:
    raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS), one, None, other) from None
  paths = os.fsencode(one), os.fsencode(other)
  if renameat2(_AT_FDCWD, paths[0], _AT_FDCWD, paths[1], _RENAME_EXCHANGE):
    number = ctypes.get_errno()
    raise OSError(number, os.strerror(number), one, None, other)


class SteadyFile:
  """A new file, or the end of an old one, that goes to the disk while it is written.

  Left to itself the system keeps gigabytes until they are waited for.

  Args:
    path: the file.
    append: write after the bytes that it has; otherwise they are lost.

  Raises:
    OSError: it cannot be opened.
  """

  def __init__(self, path: str, *, append: bool = False):
    self._file = open(path, "r+b" if append else "wb", buffering=0)
    self._begun = self._file.seek(0, os.SEEK_END)
    self._size = self._begun
    self._gathered: list[bytes] = []
    self._gathered_bytes = 0

  @property
  def size(self) -> int:
    """Bytes of the file, those included that are not yet in it."""
    return self._size

  @property
  def closed(self) -> bool:
    return self._file.closed

  def write(self, data: bytes | memoryview) -> None:
    """Adds bytes.

    Raises:
      OSError: the disk is full, or the like; for these bytes, or for earlier ones.
    """
    # What the caller can change is copied; what is left to the system is not.
    self._gathered.append(data if isinstance(data, bytes) else bytes(data))
    self._gathered_bytes += len(data)
    self._size += len(data)
    if self._gathered_bytes >= _GATHERED or len(self._gathered) == _PIECES:
      self._flush()
    if self._size - self._begun >= _STRETCH:
      self._flush()
      # Begins to write the pages, and does not wait for them; those that are written
      # already, of which there are none yet, would be dropped.
      os.posix_fadvise(
        self._file.fileno(),
        self._begun,
        self._size - self._begun,
        os.POSIX_FADV_DONTNEED,
      )
      self._begun = self._size

  def _flush(self) -> None:
    pieces, size = self._gathered, self._gathered_bytes
    self._gathered, self._gathered_bytes = [], 0
    done = os.writev(self._file.fileno(), pieces)
    if done == size:
      return
    # The system takes less than all for a signal, from two GiB on, or before an error.
    rest = memoryview(b"".join(pieces))[done:]
    while rest:
      rest = rest[self._file.write(rest) :]

  def sync(self) -> None:
    """Waits until everything is on the disk."""
    self._flush()
    os.fsync(self._file.fileno())

  def close(self) -> None:
    """Ends writing. What no `sync` came after may be lost."""
    self._file.close()


class AtomicFile:
  """A file that appears under its name when `commit` is called, and not before.

  Used as a context manager; leaving it without `commit` removes what was written.

  Args:
    path: the final name. An existing file is replaced at `commit`.
  """

  def __init__(self, path: str):
    self._path = path
    # Two writers of one file, as a cluster may have, do not meet in it.
    self._temporary = f"{path}.{uuid.uuid4().hex[:8]}{TEMPORARY}"
    self._file: SteadyFile | None = None

  def __enter__(self) -> "AtomicFile":
    self._file = SteadyFile(self._temporary)
    return self

  def write(self, data: bytes) -> None:
    self._file.write(data)

  def commit(self, *, replace: bool = True) -> None:
    """Writes through to the disk, then gives the file its name.

    Raises:
      FileExistsError: there is such a file, and `replace` is False.
    """
    self._file.sync()
    self._file.close()
    # Unlike a rename, a link replaces nothing.
    (os.rename if replace else os.link)(self._temporary, self._path)
    sync_directory(os.path.dirname(self._path))

  def __exit__(self, *unused) -> None:
    with contextlib.suppress(OSError):  # What brought us here says what happened.
      self._file.close()
    with contextlib.suppress(FileNotFoundError):
      os.unlink(self._temporary)


def write_file(path: str, data: bytes, *, replace: bool = True) -> None:
  """Writes a whole file: temporary name, sync, rename.

  Raises:
    FileExistsError: there is such a file, and `replace` is False; it was not touched.
    OSError: the file cannot be written; nothing is left under `path`.
  """
  with AtomicFile(path) as file:
    file.write(data)
    file.commit(replace=replace)
