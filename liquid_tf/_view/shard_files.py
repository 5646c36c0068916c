"""Parts of a dataset's local files, read by the thread that asks."""

import os
import resource

import numpy as np

from liquid_tf._store import storage
from liquid_tf._store.manifest import Manifest

# Open files at most, and of what the process may have, a part.
_MOST_OPEN = 512
_PART_OPEN = 8


class _File:
  """An open file that closes once no thread uses it."""

  __slots__ = ("descriptor",)

  def __init__(self, path: str):
    self.descriptor = -1
    self.descriptor = storage.regular(path, os.O_RDONLY | os.O_CLOEXEC)
    # What lies around a record is not asked for: reading it ahead costs as much again.
    os.posix_fadvise(self.descriptor, 0, 0, os.POSIX_FADV_RANDOM)

  def __del__(self):
    if self.descriptor >= 0:
      os.close(self.descriptor)


class ShardFiles:
  """Reads parts of shards; thread-safe, and shared with forked children.

  Files are read, not mapped: reading a record is as fast, and a file that somebody
  has cut off is an error, where a mapping ends the process.

  Args:
    manifest: of a local dataset.
  """

  def __init__(self, manifest: Manifest):
    self._manifest = manifest
    self._files: dict[int, _File] = {}
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if limit == resource.RLIM_INFINITY:
      limit = _MOST_OPEN * _PART_OPEN
    self._most = max(1, min(_MOST_OPEN, limit // _PART_OPEN))

  def read(self, shard: int, offset: int, length: int) -> np.ndarray:
    """Bytes of a shard.

    Args:
      shard: position in the manifest's shards.
      offset: of the first byte.
      length: how many.

    Returns:
      Shape [length], uint8, the caller's own.

    Raises:
      ValueError: the file ends before.
      OSError: it cannot be read.
    """
    file = self._files.get(shard) or self._open(shard)
    data = np.empty(length, np.uint8)
    done = os.preadv(file.descriptor, [data], offset)
    while done < length:
      # The system takes less than all for a signal, and from two GiB on.
      more = os.preadv(file.descriptor, [data[done:]], offset + done)
      if not more:
        raise ValueError(
          f"its file ends at offset {offset + done}, {length - done} bytes too early"
        )
      done += more
    return data

  def _open(self, shard: int) -> _File:
    # No lock, which a fork might find taken for ever: of two threads that open the same
    # file, one keeps its own for this read.
    while len(self._files) >= self._most:
      self._files.pop(next(iter(list(self._files))), None)
    file = _File(self._manifest.path(self._manifest.shards[shard].path))
    self._files[shard] = file
    return file
