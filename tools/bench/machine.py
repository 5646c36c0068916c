"""The machine under a benchmark: a rate for its disk, who else works, memory."""

import contextlib
import os
import time

from liquid_tf._measure import process, throttle


def held(
  path: str | os.PathLike, bytes_per_second: int | None
) -> contextlib.AbstractContextManager:
  """Holds this process, and those that it begins, to a rate; None leaves it alone."""
  if bytes_per_second is None:
    return contextlib.nullcontext()
  return throttle.Throttle(path, bytes_per_second)


class Others:
  """Counts the processors that other processes keep busy, from when this is made."""

  def __init__(self):
    self._start = time.monotonic()
    self._spent = _spent_by_others()

  def busy(self) -> float:
    """Processors, on average; children count as ours once they have been waited for."""
    seconds = time.monotonic() - self._start
    return max(0.0, (_spent_by_others() - self._spent) / max(seconds, 1e-9))


def _spent_by_others() -> float:
  """Processor time of the machine, in seconds, less this process and its children."""
  with open("/proc/stat") as file:
    user, nice, system, _, _, irq, softirq = map(int, file.readline().split()[1:8])
  machine = (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")
  return machine - sum(os.times()[:4])  # User and system time, ours and children's.


def anonymous_bytes() -> int:
  """Memory of this process that no file is behind."""
  return 1024 * process.count("smaps_rollup", "Anonymous")
