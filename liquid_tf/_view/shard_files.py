"""Parts of a dataset's local files, read by the thread that asks."""

import errno
import os
import resource
import weakref

import numpy as np

from liquid_tf._native.free_memory import free_memory
from liquid_tf._store import storage
from liquid_tf._store.manifest import Manifest

# Open files at most, and of what the process may have, a part.
_MOST_OPEN = 512
_PART_OPEN = 8

# What O_DIRECT asks of places, sizes and addresses, on any disk.
_BLOCK = 4096


class _File:
  """An open file that closes once no thread uses it.

  Attributes:
    past_cache: whether it is read past the page cache.
  """

  __slots__ = ("descriptor", "past_cache", "__weakref__")

  def __init__(self, path: str, past_cache: bool):
    self.descriptor, self.past_cache = _opened(path, past_cache)
    # When Python ends, the system closes it: a thread may still read, and of the
    # modules that a __del__ needs, some are gone.
    weakref.finalize(self, os.close, self.descriptor).atexit = False


def _opened(path: str, past_cache: bool) -> tuple[int, bool]:
  """Opens a file; returns its descriptor, and whether it is read past the cache."""
  flags = os.O_RDONLY | os.O_CLOEXEC
  if past_cache:
    try:
      return storage.regular(path, flags | os.O_DIRECT), True
    except OSError as error:
      if error.errno != errno.EINVAL:  # Else the file system cannot.
        raise
  descriptor = storage.regular(path, flags)
  # What lies around a record is not asked for: reading it ahead costs as much again.
  os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_RANDOM)
  return descriptor, False


class ShardFiles:
  """Reads parts of shards; thread-safe, and shared with forked children.

  Files are read, not mapped: reading a record is as fast, and a file that another
  process has cut off is an error, where a mapping ends the process. A dataset that the
  free memory has no room for is read past the page cache, which would hold few of its
  records until they are asked for again, and takes as long as the disk to fill.

  Args:
    manifest: of a local dataset.
    past_cache: whether files are read past the page cache, where the file system can;
      None for what the free memory says.
  """

  def __init__(self, manifest: Manifest, past_cache: bool | None = None):
    self._manifest = manifest
    self._files: dict[int, _File] = {}
    self._past_cache = past_cache
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
    if not file.past_cache:
      data = np.empty(length, np.uint8)
      _fill(file, data, offset, length)
      return data
    begin = offset // _BLOCK * _BLOCK
    end = -(-(offset + length) // _BLOCK) * _BLOCK
    room = np.empty(end - begin + _BLOCK, np.uint8)
    first = -room.ctypes.data % _BLOCK
    blocks = room[first : first + end - begin]
    _fill(file, blocks, begin, offset + length - begin)
    return blocks[offset - begin : offset - begin + length]

  def _open(self, shard: int) -> _File:
    if self._past_cache is None:
      self._past_cache = sum(s.bytes for s in self._manifest.shards) > free_memory()
    # No lock, which a fork might find taken for ever: of two threads that open the same
    # file, one keeps its own for this read.
    while len(self._files) >= self._most:
      self._files.pop(next(iter(list(self._files))), None)
    path = self._manifest.path(self._manifest.shards[shard].path)
    file = _File(path, self._past_cache)
    self._files[shard] = file
    return file


def _fill(file: _File, data: np.ndarray, offset: int, least: int) -> None:
  """Reads into `data`, of which `least` bytes must be there.

  Raises:
    ValueError: the file ends before.
    OSError: it cannot be read.
  """
  done = os.preadv(file.descriptor, [data], offset)
  while done < least:
    # The system takes less than all for a signal, and from two GiB on. Past the page
    # cache, what ends within a block ends the file.
    ends = file.past_cache and done % _BLOCK
    more = 0 if ends else os.preadv(file.descriptor, [data[done:]], offset + done)
    if not more:
      raise ValueError(
        f"its file ends at offset {offset + done}, {least - done} bytes too early"
      )
    done += more
