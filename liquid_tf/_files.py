"""Files that are either whole or absent, whatever kills the writer."""

import os
import uuid
from typing import BinaryIO

# Files under this suffix are being written; a later run removes them.
TEMPORARY = ".tmp"


def sync_directory(directory: str) -> None:
  """Makes renames and removals in `directory` durable."""
  descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
  try:
    os.fsync(descriptor)
  finally:
    os.close(descriptor)


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
    self._file: BinaryIO | None = None

  def __enter__(self) -> "AtomicFile":
    self._file = open(self._temporary, "wb")
    return self

  def write(self, data: bytes) -> None:
    self._file.write(data)

  def commit(self) -> None:
    """Writes through to the disk, then renames."""
    self._file.flush()
    os.fsync(self._file.fileno())
    self._file.close()
    os.rename(self._temporary, self._path)
    sync_directory(os.path.dirname(self._path))

  def __exit__(self, *unused) -> None:
    if self._file.closed:
      return
    try:
      self._file.close()
    except OSError:
      pass  # The error that brought us here says what happened.
    os.unlink(self._temporary)


def write_file(path: str, data: bytes) -> None:
  """Writes a whole file: temporary name, sync, rename.

  Raises:
    OSError: the file cannot be written; nothing is left under `path`.
  """
  with AtomicFile(path) as file:
    file.write(data)
    file.commit()
