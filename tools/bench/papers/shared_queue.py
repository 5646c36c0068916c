"""Batches from one process to another, in memory that both share.

The receiver makes the memory, a few slots of a batch each, and a socket beside it. The
sender fills a slot that is free and sends its number; the receiver copies the batch and
sends the number back. So a sender that is ahead waits, and nothing is polled.
"""

import contextlib
import os
import pathlib
import socket
import struct
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from liquid_tf._measure import process

# Batches that are ready at most, beside those that the loader itself has ahead.
_SLOTS = 4
_FOLDER = "/dev/shm"
_POLL_SECONDS = 0.2
_MEMORY, _SOCKET = "batches", "socket"
# The slot; the sender's clock, processor seconds and bytes from the disk so far.
_SENT = struct.Struct("<Bddq")


class Counters(NamedTuple):
  """Where a sender was when it sent a batch.

  Attributes:
    seconds: of the machine's steady clock.
    cpu_seconds: that its process had used.
    disk_bytes: that its process had read.
  """

  seconds: float
  cpu_seconds: float
  disk_bytes: int


class Receiver(contextlib.ExitStack):
  """The end that takes batches; a context manager that is used by one thread.

  `close` tells the sender that no more is wanted.

  Args:
    shape: of a batch of uint8, as the sender has it.

  Attributes:
    folder: what `Sender` takes.
  """

  def __init__(self, shape: Sequence[int]):
    super().__init__()
    place = tempfile.TemporaryDirectory(prefix="liquid_bench_", dir=_FOLDER)
    self.folder = self.enter_context(place)
    self._slots = _slots(self.folder, shape, "w+")
    # Whoever writes a page first pays for it: not the sender, whose memory is limited.
    self._slots[:] = 0
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    self._listener = self.enter_context(listener)
    self._listener.bind(os.path.join(self.folder, _SOCKET))
    self._listener.listen(1)
    self._listener.settimeout(_POLL_SECONDS)

  def connect(self, gone: Callable[[], bool]) -> bool:
    """Waits for the sender; False where `gone` says that it will not come."""
    while not gone():
      with contextlib.suppress(TimeoutError):
        connection, _ = self._listener.accept()
        self._connection = self.enter_context(connection)
        self._connection.settimeout(None)
        return True
    return False

  def take(self) -> tuple[np.ndarray, Counters] | None:
    """The next batch, a copy, and its sender's counters; None where that has ended."""
    try:
      message = self._connection.recv(_SENT.size)
      if not message:
        return None
      slot, *counters = _SENT.unpack(message)
      batch = np.array(self._slots[slot])
      self._connection.send(bytes([slot]))
    except ConnectionError:
      return None
    return batch, Counters(*counters)


class Sender:
  """The end that gives batches; a context manager that is used by one thread.

  Args:
    folder: of the receiver.
    shape: of a batch, as the receiver has it.
  """

  def __init__(self, folder: str, shape: Sequence[int]):
    self._slots = _slots(folder, shape, "r+")
    self._free = list(range(_SLOTS))
    self._connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    self._connection.connect(os.path.join(folder, _SOCKET))

  def __enter__(self) -> "Sender":
    return self

  def __exit__(self, *error: object) -> None:
    try:
      # Closed before the receiver has all, it would lose what it has not taken.
      self._connection.shutdown(socket.SHUT_WR)
      while self._connection.recv(1):
        pass
    except OSError:
      pass  # The receiver has closed.
    self._connection.close()

  def give(self, batch: np.ndarray) -> bool:
    """Waits for a free slot, and sends a batch.

    Returns:
      Whether it is wanted; False once the receiver has closed.

    Raises:
      ValueError: it has another shape.
    """
    if batch.shape != self._slots.shape[1:]:
      raise ValueError(f"a batch has shape {batch.shape}, not {self._slots.shape[1:]}")
    try:
      if not self._free:
        answer = self._connection.recv(1)
        if not answer:
          return False
        self._free.append(answer[0])
      slot = self._free.pop()
      self._slots[slot] = batch
      read = process.disk_bytes() or 0
      self._connection.send(
        _SENT.pack(slot, time.monotonic(), time.process_time(), read)
      )
    except ConnectionError:
      return False
    return True


def _slots(folder: str, shape: Sequence[int], mode: str) -> np.memmap:
  path = pathlib.Path(folder, _MEMORY)
  return np.memmap(path, np.uint8, mode, shape=(_SLOTS, *shape))
