"""How PTX reads and writes memory: an interpreter's steps."""

import numpy as np
from ptx_math import TYPES
from ptx_memory import LANES, Fault

# What there is of it; what is not here has not been thought about.
KNOWN = (
  r"ld\.param\.[bu](32|64)"
  r"|(ld\.(global\.nc|const)|(ld|st)\.(volatile\.)?(global|shared|local))(\.v[24])?"
  r"\.([bsu](8|16|32|64)|f(32|64))"
  r"|(atom|red)\.(global|shared)\.((add|min|max)\.[su](32|64)|(and|or|xor)\.b32)"
  r"|atom\.(global|shared)\.(exch|cas)\.b(32|64)"
  r"|cp\.async\.(ca|cg)\.shared\.global(\.L2::(64|128|256)B)?"
  r"|cp\.async\.(commit_group|wait_group|wait_all)"
  r"|membar\.(cta|gl)"
)
_CHANGE = {
  "add": lambda old, new: old + new,
  "min": min,
  "max": max,
  "and": lambda old, new: old & new,
  "or": lambda old, new: old | new,
  "xor": lambda old, new: old ^ new,
  "exch": lambda old, new: new,
}


class Copies:
  """What a warp's lanes have had copied to shared memory, and have not waited for."""

  def __init__(self):
    self._group = np.zeros(LANES, np.int64)  # that a lane's next copy belongs to
    self._sent = []  # lanes, their groups, bytes [lanes, size], values

  def send(self, lanes, at, values) -> None:
    self._sent.append((lanes, self._group[lanes], at, values))

  def commit(self, mask) -> None:
    self._group[mask] += 1

  def wait(self, warp, latest) -> None:
    """Lanes that are here have all but their `latest` groups; None: all copies."""
    rest = []
    for lanes, groups, at, values in self._sent:
      there = warp.mask[lanes]
      if latest is not None:
        there &= groups < self._group[lanes] - latest
      if there.any():
        warp.block.shared.arrive(warp.index, lanes[there], at[there], values[there])
      if not there.all():
        left = ~there
        rest.append((lanes[left], groups[left], at[left], values[left]))
    self._sent = rest


class Access:
  """Steps by the names of instructions; `_read` and `_address` are the kernel's."""

  def _access(self, parts, text: str, operand: str):
    """The registers' names, their bytes in memory, and a function that finds those."""
    names = [name.strip() for name in operand.strip("{}").split(",")]
    dtype = np.dtype(TYPES[parts[-1].replace("f", "b")])
    space = next(
      part for part in parts if part in ("shared", "local", "global", "const")
    )
    find = self._bytes(space, ".".join(parts), text, dtype.itemsize * len(names))
    return names, dtype, find

  def _bytes(self, space: str, what: str, text: str, size: int):
    """A function that finds `size` bytes of each lane, and may fail."""
    address = self._address(text)
    offsets = np.arange(size)

    def find(warp, writes, atomic=False):
      lanes = np.flatnonzero(warp.mask)
      at = address(warp)[lanes]
      if np.any(at % size):
        raise Fault(f"{what} at {at[at % size != 0][0]}: no multiple of {size}")
      at = at[:, None] + offsets
      if space == "shared":
        shared = warp.block.shared
        if at.min() < 0 or at.max() >= len(shared.bytes):
          raise Fault(f"byte {at.max()} of {len(shared.bytes)} of shared memory")
        if writes is None:
          shared.send(warp.index, lanes, at)
        else:
          shared.touch(warp.index, lanes, at, writes, atomic)
        return lanes, shared.bytes, at
      if space == "local":
        if at.min() < 0 or at.max() >= self.local_bytes:
          raise Fault(f"byte {at.max()} of {self.local_bytes} of local memory")
        return lanes, warp.local.reshape(-1), at + lanes[:, None] * self.local_bytes
      memory = warp.machine.memory
      memory.touch(at, writes, atomic)
      return lanes, memory.bytes, at

    return find

  def _ld(self, parts, operands):
    if parts[1] == "param":
      number = self._parameters[operands[1].strip("[]")]
      dtype = np.dtype(TYPES[parts[-1]])
      return lambda warp: warp.set(
        operands[0], np.full(LANES, warp.block.arguments[number], dtype)
      )
    names, dtype, find = self._access(parts, operands[1], operands[0])

    def step(warp):
      lanes, memory, at = find(warp, False)
      values = np.zeros((LANES, len(names)), dtype)
      values[lanes] = memory[at].view(dtype)
      for i, name in enumerate(names):
        warp.set(name, values[:, i].copy())

    return step

  def _st(self, parts, operands):
    names, dtype, find = self._access(parts, operands[0], operands[1])
    reads = [self._read(name, parts[-1].replace("f", "b")) for name in names]

    def step(warp):
      values = np.stack([read(warp) for read in reads], 1).astype(dtype)
      lanes, memory, at = find(warp, True)
      memory[at] = np.ascontiguousarray(values[lanes]).view(np.uint8)

    return step

  def _atom(self, parts, operands):
    to, place, *given = operands
    return self._atomic(parts, to, place, given)

  def _red(self, parts, operands):
    place, *given = operands
    return self._atomic(parts, None, place, given)

  def _atomic(self, parts, to, place: str, given):
    """One lane after the other, the first one first."""
    kind = parts[-1]
    dtype = np.dtype(TYPES[kind])
    find = self._bytes(parts[1], ".".join(parts), place, dtype.itemsize)
    reads = [self._read(text, kind) for text in given]
    change = _CHANGE.get(parts[2])

    def step(warp):
      values = [read(warp) for read in reads]
      lanes, memory, at = find(warp, True, True)
      olds = np.zeros(LANES, dtype)
      with np.errstate(over="ignore"):
        for lane, place in zip(lanes, at):
          old = olds[lane] = memory[place].view(dtype)[0]
          if change is None:  # what it is compared with, and what it becomes
            new = values[1][lane] if old == values[0][lane] else old
          else:
            new = change(old, values[0][lane])
          memory[place] = np.array([new], dtype).view(np.uint8)
      if to is not None:
        warp.set(to, olds)

    return step

  def _cp(self, parts, operands):
    if parts[2] == "commit_group":
      return lambda warp: warp.copies.commit(warp.mask)
    if parts[2] == "wait_group":
      latest = int(operands[0])
      return lambda warp: warp.copies.wait(warp, latest)
    if parts[2] == "wait_all":
      return lambda warp: warp.copies.wait(warp, None)
    size = int(operands[2])
    if size not in ((16,) if parts[2] == "cg" else (4, 8, 16)):
      raise ValueError("a size that is not copied")
    target = self._bytes("shared", "cp.async", operands[0], size)
    address = self._address(operands[1])
    # What is not read becomes 0.
    given = self._read(operands[3], "u32") if len(operands) > 3 else None

    def step(warp):
      lanes, _, at = target(warp, None)
      values = np.zeros(at.shape, np.uint8)
      memory = warp.machine.memory
      count = np.full(LANES, size) if given is None else given(warp)
      for i, (lane, begin) in enumerate(zip(lanes, address(warp)[lanes])):
        if begin % size:
          raise Fault(f"cp.async from {begin}: no multiple of {size}")
        if count[lane] > size:
          raise Fault(f"cp.async of {count[lane]} bytes, of {size}")
        if count[lane]:
          source = np.arange(begin, begin + count[lane])
          memory.touch(source, False)
          values[i, : count[lane]] = memory.bytes[source]
      warp.copies.send(lanes, at, values)

    return step

  def _membar(self, parts, operands):
    # Here all see a thread's accesses in their order.
    return lambda warp: None
