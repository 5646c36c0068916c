"""The memories of the GPU that interprets PTX: they know who touched what."""

import collections

import numpy as np

LANES = 32
_GAP = 256  # bytes between arrays
_BITS = np.uint32(1) << np.arange(LANES, dtype=np.uint32)
# What may be done with a byte.
_NOBODYS, _READABLE, _WRITABLE, _WRITTEN, _ATOMIC = range(5)


class Fault(Exception):
  """The kernel did what a device does not define, or what this one does not know."""


def _bits(lanes) -> int:
  return int(_BITS[lanes].sum())


class _Clock:
  """A warp's barriers: which accesses of each lane the others have surely seen."""

  def __init__(self):
    self.now = 0
    # What a lane (row) knows of another (column): all before this time.
    self._seen = np.zeros((LANES, LANES), np.int64)
    # What all know of all others, where that is the same.
    self._common = 0

  def barrier(self, lanes) -> None:
    """These lanes wait for each other, and so know what any of them knows."""
    self.now += 1
    if len(lanes) == LANES:
      self._common = self.now
      self._seen[...] = self.now
      return
    self._common = None
    known = self._seen[lanes].max(0)
    known[lanes] = self.now
    self._seen[lanes] = known

  def unseen(self, by, of, since):
    """Bits [n] of the lanes `of` [n] whose accesses then no lane of `by` [n] knows.

    Of these accesses the first result tells which not all lanes of `by` know, the
    second which none of them knows.
    """
    if self._common is not None:
      recent = since >= self._common
      alone = by & (by - np.uint32(1)) == 0
      some = np.where(recent, np.where(alone, of & ~by, of), np.uint32(0))
      return some, np.where(recent, of & ~by, np.uint32(0))
    some = np.zeros_like(of)
    none = of.copy()
    for lane in range(LANES):
      present = by & _BITS[lane] != 0
      if not present.any():
        continue
      late = (self._seen[lane] <= since[:, None]) @ _BITS.astype(np.int64)
      late = of & late.astype(np.uint32) & ~_BITS[lane]
      some[present] |= late[present]
      none[present] &= late[present]
    return some, none


class SharedMemory:
  """A block's memory, which knows who touched a byte since the last barrier.

  Barriers of the block, and those of lanes of a warp, order what is done around them.
  Of each byte it keeps who wrote it last, who read it since, and who changed it by an
  atomic operation. Nothing touches a byte that a copy is on its way to.
  """

  def __init__(self, size: int):
    self.bytes = np.full(size, 0xA5, np.uint8)
    self._epoch = 0
    self._clocks = collections.defaultdict(_Clock)
    self._wrote = _Access(size)
    self._read = _Access(size)
    self._changed = _Access(size)
    self._awaited = np.zeros(size, bool)

  def block_barrier(self) -> None:
    self._epoch += 1

  def warp_barrier(self, warp: int, lanes) -> None:
    self._clocks[warp].barrier(lanes)

  def touch(self, warp: int, lanes, at, writes: bool, atomic: bool = False) -> None:
    """Notes an access of `lanes` to bytes `at` [lanes, size].

    Raises:
      Fault: another thread touched one, and no barrier is between; or a copy to it is
        on its way.
    """
    bytes_, which = np.unique(at, return_inverse=True)
    by = np.zeros(len(bytes_), np.uint32)
    owner = np.repeat(_BITS[lanes], at.shape[1])
    np.bitwise_or.at(by, which.ravel(), owner)
    if writes and not atomic and len(bytes_) != at.size:
      raise Fault(f"lanes of warp {warp} write one byte of shared memory at once")
    if self._awaited[bytes_].any():
      byte = bytes_[self._awaited[bytes_]][0]
      raise Fault(f"a copy to byte {byte} of shared memory has not been waited for")
    against = [self._wrote]
    if not atomic:
      against.append(self._changed)
    if writes:
      against.append(self._read)
    clock = self._clocks[warp]
    for earlier in against:
      clash = earlier.of_others(bytes_, warp, by, self._epoch, clock)
      if np.any(clash):
        raise Fault(
          f"warp {warp} {'writes' if writes else 'reads'} byte {bytes_[clash][0]} of "
          "shared memory that another thread touched, and no barrier is between"
        )
    log = self._changed if atomic else self._wrote if writes else self._read
    log.note(bytes_, warp, by, self._epoch, clock, alone=writes and not atomic)

  def send(self, warp: int, lanes, at) -> None:
    """Copies to these bytes are on their way."""
    self.touch(warp, lanes, at, True)
    self._awaited[at] = True
    self.bytes[at] = 0x5A

  def arrive(self, warp: int, lanes, at, values) -> None:
    """They are there, for the lanes that started them."""
    self._awaited[at] = False
    self.touch(warp, lanes, at, True)
    self.bytes[at] = values


class _Access:
  """Who did something with each byte of a memory, and when."""

  _NONE, _SEVERAL = -1, -2

  def __init__(self, size: int):
    self._epoch = np.full(size, -1)
    self._warp = np.full(size, self._NONE)
    self._lanes = np.zeros(size, np.uint32)
    self._time = np.full(size, -1)

  def of_others(self, at, warp: int, by, epoch: int, clock: _Clock):
    """Where a thread did it to the bytes that no barrier divides from one of `by`."""
    recent = self._epoch[at] == epoch
    clash = recent & (self._warp[at] != warp)
    own = np.flatnonzero(recent & ~clash)
    if len(own):
      some, _ = clock.unseen(by[own], self._lanes[at[own]], self._time[at[own]])
      clash[own] = some != 0
    return clash

  def note(self, at, warp: int, by, epoch: int, clock: _Clock, alone: bool) -> None:
    """Notes who does it now; `alone`: in the place of who did it before."""
    lanes, warps = by, np.full(len(at), warp)
    if not alone:
      recent = self._epoch[at] == epoch
      foreign = recent & (self._warp[at] != warp)
      warps[foreign] = self._SEVERAL
      own = np.flatnonzero(recent & ~foreign)
      if len(own):
        lanes = by.copy()
        _, none = clock.unseen(by[own], self._lanes[at[own]], self._time[at[own]])
        lanes[own] |= none
    self._lanes[at], self._warp[at] = lanes, warps
    self._epoch[at], self._time[at] = epoch, clock.now


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

  def launch(self) -> None:
    """What earlier kernels wrote may be written again."""
    self._state[self._state > _WRITABLE] = _WRITABLE

  def touch(self, at, writes: bool, atomic: bool = False) -> None:
    if at.min() < 0 or at.max() >= len(self.bytes):
      raise Fault(f"address {at.max()} is outside of all memory")
    state = self._state[at]
    if np.any(state == _NOBODYS):
      raise Fault(f"address {at[state == _NOBODYS][0]} is outside of arrays")
    if not writes:
      if np.any(state == _ATOMIC):
        raise Fault(
          f"address {at[state == _ATOMIC][0]}: read, and changed by atomic operations"
        )
      return
    allowed = (state == _WRITABLE) | (atomic & (state == _ATOMIC))
    if not np.all(allowed) or not atomic and len(np.unique(at)) != at.size:
      raise Fault(
        f"addresses {at.min()} to {at.max()}: one is not to be written, or not again"
      )
    self._state[at] = _ATOMIC if atomic else _WRITTEN
