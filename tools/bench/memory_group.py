"""Limits how much of the page cache this process may use, by a version 1 cgroup.

The kernel charges a page of a file to the group that reads it first. What was read, or
taken as memory, before the group was entered is not limited.
"""

import os
import pathlib

_MEMORY = pathlib.Path("/sys/fs/cgroup/memory")


def why_not() -> str | None:
  """Why the page cache cannot be limited here, or None where it can."""
  if not (_MEMORY / "memory.limit_in_bytes").exists():
    return f"there is no {_MEMORY}: no version 1 memory cgroup"
  if not os.access(_MEMORY, os.W_OK):
    return f"{_MEMORY} cannot be written: only root may limit memory"
  return None


class MemoryGroup:
  """A cgroup of its own, unlimited at first and removed at the end; a context manager.

  Raises:
    OSError: `why_not` says why.
  """

  def __init__(self):
    reason = why_not()
    if reason:
      raise OSError(reason)
    self._group = _MEMORY / f"liquid_bench_{os.getpid()}"
    self._before = _own_group()

  def __enter__(self) -> "MemoryGroup":
    self._group.mkdir()
    (self._group / "cgroup.procs").write_text(f"{os.getpid()}\n")
    return self

  def __exit__(self, *error: object) -> None:
    (self._before / "cgroup.procs").write_text(f"{os.getpid()}\n")
    self._group.rmdir()

  def own_bytes(self) -> int:
    """What the group uses beside the page cache: its processes' memory, the kernel's.

    Not the difference of all and of the page cache: these are counted at different
    times, and differ by megabytes while files are read.
    """
    kernel = int((self._group / "memory.kmem.usage_in_bytes").read_text())
    for line in (self._group / "memory.stat").read_text().splitlines():
      if line.startswith("rss "):
        return kernel + int(line.split()[1])
    raise OSError(f"{self._group}/memory.stat has no rss")

  def limit(self, limit_bytes: int) -> None:
    """Limits the group, page cache and all; the kernel drops what is above it."""
    (self._group / "memory.limit_in_bytes").write_text(f"{limit_bytes}\n")


def _own_group() -> pathlib.Path:
  for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines():
    _, controllers, path = line.split(":", 2)
    if "memory" in controllers.split(","):
      return _MEMORY / path.lstrip("/")
  raise OSError("/proc/self/cgroup names no memory cgroup")
