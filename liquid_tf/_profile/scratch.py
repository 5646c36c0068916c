"""The folder of a profile's files, which goes with its process at the latest."""

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator

_PREFIX = ".liquid_profile_"


@contextlib.contextmanager
def folder(parent: str) -> Iterator[str]:
  """A new folder, which is gone afterwards.

  What a killed process left beside it is removed first: a process holds the lock of its
  folder for as long as it lives.

  Args:
    parent: where it is made.
  """
  for name in os.listdir(parent):
    if name.startswith(_PREFIX):
      _remove_if_left(os.path.join(parent, name))
  path, descriptor = _make(parent)
  try:
    yield path
  finally:
    shutil.rmtree(path, ignore_errors=True)
    os.close(descriptor)


def _make(parent: str) -> tuple[str, int]:
  """A new folder, and the descriptor that holds its lock."""
  while True:
    path = tempfile.mkdtemp(prefix=_PREFIX, dir=parent)
    with contextlib.suppress(FileNotFoundError):
      descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
      # Where a file system has no locks, the next process removes nothing either.
      with contextlib.suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_EX)
      # Another process may have found it before it was held.
      if os.path.isdir(path):
        return path, descriptor
      os.close(descriptor)


def _remove_if_left(path: str) -> None:
  """Removes a folder whose process is gone."""
  try:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
  except OSError:
    return  # It is gone, no folder, or another user's.
  try:
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    shutil.rmtree(path, ignore_errors=True)
  except OSError:
    pass  # Its process lives.
  finally:
    os.close(descriptor)
