"""The memories of the GPU that interprets PTX: they know who touched what."""

import collections

import numpy as np

_GAP = 256  # bytes between arrays
_SEVERAL = -2
# What may be done with a byte.
_NOBODYS, _READABLE, _WRITABLE, _WRITTEN = range(4)


class Fault(Exception):
  """The kernel did what a device does not define, or what this one does not know."""


class SharedMemory:
  """A block's memory, which knows who touched a byte since the last barrier.

  Barriers of the block and of each warp are counted. Of each byte it keeps the last
  writer and its readers: a thread, or that there were several.
  """

  def __init__(self, size: int):
    self.bytes = np.full(size, 0xA5, np.uint8)
    self._epoch = 0
    self._warp_epochs = collections.Counter()
    self._wrote = _Access(size)
    self._read = _Access(size)

  def block_barrier(self) -> None:
    self._epoch += 1

  def warp_barrier(self, warp: int) -> None:
    self._warp_epochs[warp] += 1

  def touch(self, warp: int, lanes, at, writes: bool) -> None:
    """Notes an access of `lanes` to bytes `at` [lanes, size].

    Raises:
      Fault: another thread touched one, and no barrier is between.
    """
    now = (self._epoch, self._warp_epochs[warp])
    bytes_, first, count = np.unique(at, return_index=True, return_counts=True)
    lane = np.where(count > 1, _SEVERAL, lanes[first // at.shape[1]])
    if writes and np.any(count > 1):
      raise Fault(f"lanes of warp {warp} write one byte of shared memory at once")
    for earlier in (self._wrote, self._read) if writes else (self._wrote,):
      clash = earlier.of_others(bytes_, warp, lane, now)
      if np.any(clash):
        raise Fault(
          f"warp {warp} {'writes' if writes else 'reads'} byte {bytes_[clash][0]} of "
          "shared memory that another thread touched, and no barrier is between"
        )
    (self._wrote if writes else self._read).note(bytes_, warp, lane, now)


class _Access:
  """Who wrote, or who read, each byte of a memory, and when."""

  def __init__(self, size: int):
    self._epoch = np.full(size, -1)
    self._warp_epoch = np.full(size, -1)
    self._warp = np.full(size, -1)
    self._lane = np.full(size, -1)

  def of_others(self, at, warp: int, lane, now: tuple[int, int]):
    """Where a thread touched the bytes that no barrier divides from this one."""
    other_warp = self._warp[at] != warp
    other_lane = (self._warp_epoch[at] == now[1]) & (
      (self._lane[at] != lane) | (lane == _SEVERAL)
    )
    return (self._epoch[at] == now[0]) & (other_warp | other_lane)

  def note(self, at, warp: int, lane, now: tuple[int, int]) -> None:
    recent = self._epoch[at] == now[0]
    foreign = recent & (self._warp[at] != warp)
    together = recent & ~foreign & (self._warp_epoch[at] == now[1])
    same = self._lane[at] == lane
    self._lane[at] = np.where(foreign | together & ~same, _SEVERAL, lane)
    self._warp[at] = np.where(foreign, _SEVERAL, warp)
    self._epoch[at], self._warp_epoch[at] = now


class GlobalMemory:
  """Arrays, with gaps between them that nobody may touch."""

  def __init__(self):
    self.bytes = np.zeros(_GAP, np.uint8)
    self._state = np.full(_GAP, _NOBODYS, np.uint8)

  def add(self, data: np.ndarray, misplaced: int = 0, writable: bool = False) -> int:
    """Copies an array to a new address, `misplaced` bytes behind a multiple of 16."""
    data = np.ascontiguousarray(data).view(np.uint8).ravel()
    begin = len(self.bytes) + misplaced
    end = begin + len(data)
    more = -(-(end + _GAP) // 16) * 16 - len(self.bytes)
    self.bytes = np.concatenate([self.bytes, np.full(more, 0x5A, np.uint8)])
    self._state = np.concatenate([self._state, np.full(more, _NOBODYS, np.uint8)])
    self.bytes[begin:end] = data
    self._state[begin:end] = _WRITABLE if writable else _READABLE
    return begin

  def touch(self, at, writes: bool) -> None:
    if at.min() < 0 or at.max() >= len(self.bytes):
      raise Fault(f"address {at.max()} is outside of all memory")
    state = self._state[at]
    if np.any(state == _NOBODYS):
      raise Fault(f"address {at[state == _NOBODYS][0]} is outside of arrays")
    if not writes:
      return
    if np.any(state != _WRITABLE) or len(np.unique(at)) != at.size:
      raise Fault(
        f"addresses {at.min()} to {at.max()}: one is not to be written, or not again"
      )
    self._state[at] = _WRITTEN
