"""Holds this process to a rate of disk reads, by a version 1 blkio cgroup.

The kernel then delays reads that go past the page cache (O_DIRECT) until they keep to
the rate; what the page cache answers is not held back.
"""

import os
import pathlib

_BLKIO = pathlib.Path("/sys/fs/cgroup/blkio")
_RATE = "blkio.throttle.read_bps_device"


def why_not() -> str | None:
  """The reason why reads cannot be throttled here, or None."""
  if not (_BLKIO / _RATE).exists():
    return f"there is no {_BLKIO / _RATE}: no version 1 blkio cgroup"
  if not os.access(_BLKIO, os.W_OK):
    return f"{_BLKIO} cannot be written: only root may throttle"
  return None


def device_of(path: str | os.PathLike) -> str:
  """MAJOR:MINOR of the disk, not the partition, that holds a path."""
  number = os.stat(path).st_dev
  name = f"{os.major(number)}:{os.minor(number)}"
  block = pathlib.Path("/sys/dev/block", name).resolve()
  if (block / "partition").exists():
    name = (block.parent / "dev").read_text().strip()
  return name


class Throttle:
  """A cgroup of its own, removed at the end; a context manager.

  Args:
    path: on the disk whose reads are throttled.
    bytes_per_second: the rate.

  Raises:
    OSError: reads cannot be throttled here, see `why_not`, or the kernel takes no rate
      for this device.
  """

  def __init__(self, path: str | os.PathLike, bytes_per_second: int):
    reason = why_not()
    if reason:
      raise OSError(reason)
    self._group = _BLKIO / f"liquid_bench_{os.getpid()}"
    self._device = device_of(path)
    self._group.mkdir()
    try:
      self.set_rate(bytes_per_second)
    except OSError:
      self._group.rmdir()
      raise

  def set_rate(self, bytes_per_second: int) -> None:
    """Changes the rate, of reads under way as well."""
    (self._group / _RATE).write_text(f"{self._device} {bytes_per_second}\n")

  def __enter__(self) -> "Throttle":
    (self._group / "cgroup.procs").write_text(f"{os.getpid()}\n")
    return self

  def __exit__(self, *error: object) -> None:
    (_BLKIO / "cgroup.procs").write_text(f"{os.getpid()}\n")
    self._group.rmdir()
