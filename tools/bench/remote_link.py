"""A network of this process's own, whose loopback interface has a speed."""

import ctypes
import os
import subprocess

_CLONE_NEWNET = 0x40000000
# What may pass at once, and what may wait for its turn.
_BURST, _WAITING = "2mb", "50ms"


def enter(gbit_per_s: float) -> None:
  """Leaves the machine's network for one where loopback carries so much.

  The calling thread does, and all processes that it starts from now on.

  Args:
    gbit_per_s: bits per second of both directions together, in 10^9.

  Raises:
    ChildProcessError: it cannot be made here; the message says why.
  """
  libc = ctypes.CDLL(None, use_errno=True)
  if libc.unshare(_CLONE_NEWNET) != 0:
    why = os.strerror(ctypes.get_errno())
    raise ChildProcessError(f"no network of its own, which needs root: {why}")
  rate = f"{gbit_per_s * 1000:.0f}mbit"
  limit = ["tc", "qdisc", "add", "dev", "lo", "root", "tbf"]
  limit += ["rate", rate, "burst", _BURST, "latency", _WAITING]
  for command in (["ip", "link", "set", "lo", "up"], limit):
    try:
      done = subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError as error:
      raise ChildProcessError(
        f"no network of its own: {command[0]} is not installed (iproute2)"
      ) from error
    if done.returncode != 0:
      said = done.stderr.strip()
      raise ChildProcessError(f"no network of its own: {' '.join(command)}: {said}")
