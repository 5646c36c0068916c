"""A kernel's PTX as steps that the warps of an interpreter take."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
from ptx_memory import Fault

LANES = 32
_LANE = np.arange(LANES)
_TYPES = {
  **{f"{kind}{bits}": f"u{bits // 8}" for kind in "bu" for bits in (8, 16, 32, 64)},
  **{f"s{bits}": f"i{bits // 8}" for bits in (8, 16, 32, 64)},
  "f32": "f4",
  "f64": "f8",
  "pred": "?",
}
_COMPARE = {
  "eq": np.equal,
  "ne": np.not_equal,
  "lt": np.less,
  "le": np.less_equal,
  "gt": np.greater,
  "ge": np.greater_equal,
}

# The instructions there are; what is not here has not been thought about.
_KNOWN = re.compile(
  r"(add|sub|min|max)\.[su](16|32|64)|(abs|neg)\.s(16|32|64)|(sub|neg)\.f32"
  r"|(add|mul)\.rn\.f(32|64)"
  r"|mul\.lo\.[su](16|32|64)|mul\.wide\.[su](16|32)|mul\.hi\.u32"
  r"|mad\.lo\.[su](16|32|64)|mad\.wide\.[su](16|32)"
  r"|div\.(u(16|32|64)|rn\.f(32|64))|rem\.u(16|32|64)"
  r"|(and|or|xor|not)\.(pred|b(16|32|64))|shl\.b(16|32|64)|shr\.[su](16|32|64)"
  r"|shf\.r\.(wrap|clamp)\.b32|prmt\.b32|bfi\.b(32|64)|popc\.b32|clz\.b32"
  r"|dp4a\.u32\.u32|dp2a\.lo\.u32\.u32"
  r"|setp\.(eq|ne|lt|le|gt|ge)\.([bsu](16|32|64)|f(32|64))"
  r"|selp\.([bsu](16|32|64)|f(32|64))"
  r"|cvt\.[su](8|16|32|64)\.[su](8|16|32|64)|cvt\.rn\.f(32|64)\.u(8|16|32)"
  r"|cvt\.rn\.f32\.s32|cvt\.rzi\.s32\.f(32|64)"
  r"|cvta(\.to)?\.(global|shared)\.u64|mov\.(pred|[bsu](16|32|64)|f(32|64))"
  r"|ld\.param\.[bu](32|64)"
  r"|(ld\.global\.nc|(ld|st)\.(global|shared|local))(\.v[24])?"
  r"\.([bsu](8|16|32|64)|f(32|64))"
  r"|shfl\.sync\.(up|bfly|idx)\.b32|vote\.sync\.ballot\.b32"
  r"|bar\.sync|bar\.warp\.sync|bra(\.uni)?|ret"
)

# What an instruction does to a warp (ptx.py).
Step = Callable[[Any], None]


class Kernel:
  """A kernel's instructions as steps, compiled from its text."""

  def __init__(
    self, body: str, parameters: list[str], symbols: dict[str, int], most_threads: int
  ):
    self.most_threads = most_threads
    self._parameters = {name: i for i, name in enumerate(parameters)}
    self._symbols = dict(symbols)
    self.registers = {}
    self.local_bytes = 0
    self.steps: list[Step] = []
    self.barriers = set()
    self._labels = {}
    self.lines = []
    for line in body.splitlines():
      line = line.split("//")[0].strip()
      # A scope of its own for a register, as the compiler writes them.
      line = re.sub(r"^\{ (?=\.reg)|(?<=;) \}$", "", line)
      local = re.match(r"\.local \.align \d+ \.b8\s+(\w+)\[(\d+)\]", line)
      declared = re.match(r"\.reg \.(\w+)\s+(%\w+)(?:<(\d+)>)?;", line)
      label = re.match(r"(\$\w+):", line)
      if local:
        self._symbols[local.group(1)] = 0
        self.local_bytes = int(local.group(2))
      elif declared:
        kind, name, count = declared.groups()
        dtype = np.dtype(_TYPES[kind.replace("f", "b")])
        names = [f"{name}{i}" for i in range(int(count))] if count else [name]
        self.registers.update(dict.fromkeys(names, dtype))
      elif label:
        self._labels[label.group(1)] = len(self.lines)
      elif line and not re.match(r"\.(loc|file|pragma) |[{}]$", line):
        self.lines.append(line.rstrip(";"))
    for i, line in enumerate(self.lines):
      try:
        self.steps.append(self._compile(line, i))
      except (AssertionError, IndexError, KeyError, ValueError) as error:
        raise Fault(f"this device does not know: {line}") from error

  # Operands.

  def _read(self, text: str, kind: str):
    """A function of a warp that gives the lanes' values of an operand."""
    dtype = np.dtype(_TYPES[kind])
    if text in self.registers:

      def register(warp):
        value = warp.registers[text]
        if value.dtype.itemsize != dtype.itemsize:
          return value.astype(dtype)
        return value.view(dtype)

      return register
    special = {
      "%tid.x": lambda warp: _LANE + warp.index * LANES,
      "%ctaid.x": lambda warp: np.full(LANES, warp.block.index),
      "%ntid.x": lambda warp: np.full(LANES, warp.block.threads),
      "%nctaid.x": lambda warp: np.full(LANES, warp.block.grid),
    }
    if text in special:
      return lambda warp: special[text](warp).astype(dtype)
    if text.startswith("0d"):
      number = np.full(LANES, int(text[2:], 16), np.uint64).view(dtype)
    elif text.startswith("0f"):
      number = np.full(LANES, int(text[2:], 16), np.uint32).view(dtype)
    else:
      value = self._symbols[text] if text in self._symbols else int(text, 0)
      bits = 8 * dtype.itemsize
      unsigned = np.dtype(f"u{max(dtype.itemsize, 1)}")
      number = np.full(LANES, value % (1 << bits), unsigned)
      number = number.astype(bool) if kind == "pred" else number.view(dtype)
    return lambda warp: number

  def _address(self, text: str):
    """Of [register+offset] or [symbol+offset], as signed numbers."""
    base, _, offset = text.strip("[]").partition("+")
    read, offset = self._read(base, "s64"), int(offset or "0")
    return lambda warp: read(warp) + offset

  # Instructions.

  def _compile(self, line: str, number: int) -> Step:
    guard = re.match(r"@(!?)(%p\d+)\s+(.*)", line)
    if guard:
      line = guard.group(3)
    name, _, rest = line.partition("\t") if "\t" in line else line.partition(" ")
    parts = name.strip().split(".")
    operands = [
      operand.strip() for operand in re.findall(r"\{[^}]*\}|\[[^\]]*\]|[^,\s]+", rest)
    ]
    if not _KNOWN.fullmatch(name.strip()):
      raise ValueError(name)
    if parts[0] == "bra":
      return self._branch(operands[0], guard)
    if guard:
      raise ValueError("only branches have conditions")
    if parts[:2] == ["bar", "sync"]:
      if operands != ["0"]:
        raise ValueError("only all warps wait for each other")
      self.barriers.add(number)
      return None
    return getattr(self, "_" + parts[0])(parts, operands)

  def _branch(self, label: str, guard) -> Step:
    def go(warp):
      target = self._labels[label]
      if guard is None:
        taken = warp.mask
      else:
        taken = warp.registers[guard.group(2)] ^ (guard.group(1) == "!")
      if warp.together and taken.all():
        warp.next = target
      elif not warp.together or taken.any():
        warp.part(taken, target)

    return go

  def _ret(self, parts, operands) -> Step:
    return lambda warp: warp.leave()

  def _bar(self, parts, operands) -> Step:
    members = self._read(operands[0], "u32")

    def step(warp):
      warp.need_all("bar.warp.sync")
      if np.any(~members(warp)):
        raise Fault("only all lanes wait for each other")
      warp.block.shared.warp_barrier(warp.index)

    return step

  def _math(self, operands, kind: str, function, result: str = "") -> Step:
    """`function` of the operands' values, all of one kind."""
    sources = [self._read(text, kind) for text in operands[1:]]
    dtype = np.dtype(_TYPES[result or kind])

    def step(warp):
      with np.errstate(all="ignore"):
        value = function(*(source(warp) for source in sources))
      warp.set(operands[0], value.astype(dtype, copy=False))

    return step

  def _add(self, parts, operands):
    return self._math(operands, parts[-1], np.add)

  def _sub(self, parts, operands):
    return self._math(operands, parts[-1], np.subtract)

  def _min(self, parts, operands):
    return self._math(operands, parts[-1], np.minimum)

  def _max(self, parts, operands):
    return self._math(operands, parts[-1], np.maximum)

  def _and(self, parts, operands):
    return self._math(operands, parts[-1], np.bitwise_and)

  def _or(self, parts, operands):
    return self._math(operands, parts[-1], np.bitwise_or)

  def _xor(self, parts, operands):
    return self._math(operands, parts[-1], np.bitwise_xor)

  def _not(self, parts, operands):
    return self._math(operands, parts[-1], np.invert)

  def _neg(self, parts, operands):
    return self._math(operands, parts[-1], np.negative)

  def _abs(self, parts, operands):
    return self._math(operands, parts[-1], np.abs)

  def _rem(self, parts, operands):
    return self._math(operands, parts[-1], np.remainder)

  def _div(self, parts, operands):
    if parts[-1] in ("f32", "f64"):
      return self._math(operands, parts[-1], np.divide)
    return self._math(operands, parts[-1], np.floor_divide)

  def _mul(self, parts, operands):
    kind = parts[-1]
    if parts[1] == "wide":
      wide = kind[0] + str(2 * int(kind[1:]))
      dtype = np.dtype(_TYPES[wide])
      return self._math(
        operands, kind, lambda a, b: a.astype(dtype) * b.astype(dtype), wide
      )
    if parts[1] == "hi":
      bits = int(kind[1:])
      return self._math(
        operands,
        kind,
        lambda a, b: (a.astype(np.uint64) * b.astype(np.uint64)) >> np.uint64(bits),
      )
    return self._math(operands, kind, np.multiply)

  def _mad(self, parts, operands):
    kind = parts[-1]
    if parts[1] == "wide":
      wide = kind[0] + str(2 * int(kind[1:]))
      a, b = (self._read(text, kind) for text in operands[1:3])
      c = self._read(operands[3], wide)
      dtype = np.dtype(_TYPES[wide])

      def step(warp):
        with np.errstate(all="ignore"):
          product = a(warp).astype(dtype) * b(warp).astype(dtype)
          warp.set(operands[0], product + c(warp))

      return step
    return self._math(operands, kind, lambda a, b, c: a * b + c)

  def _shift(self, parts, operands, function):
    kind = parts[-1]
    bits = int(kind[1:])
    source, count = self._read(operands[1], kind), self._read(operands[2], "u32")

    def step(warp):
      value, by = source(warp), count(warp)
      low = np.minimum(by, bits - 1).astype(value.dtype)
      moved = function(value, low)
      # What is moved out altogether is gone; of a signed number, its sign stays.
      if kind[0] != "s":
        moved = np.where(by >= bits, value.dtype.type(0), moved)
      warp.set(operands[0], moved)

    return step

  def _shl(self, parts, operands):
    return self._shift(["", "b" + parts[-1][1:]], operands, np.left_shift)

  def _shr(self, parts, operands):
    return self._shift(parts, operands, np.right_shift)

  def _shf(self, parts, operands):
    def funnel(low, high, by):
      by = (by & 31) if parts[2] == "wrap" else np.minimum(by, 32)
      both = high.astype(np.uint64) << np.uint64(32) | low
      return both >> by.astype(np.uint64)

    return self._math(operands, "u32", funnel)

  def _prmt(self, parts, operands):
    def permute(a, b, which):
      both = np.stack([a, b], 1).view(np.uint8)  # [lanes, 8]
      result = np.empty((LANES, 4), np.uint8)
      for i in range(4):
        digit = which >> np.uint32(4 * i) & np.uint32(15)
        byte = both[_LANE, digit & 7]
        sign = np.where(byte & 128, 255, 0).astype(np.uint8)
        result[:, i] = np.where(digit & 8, sign, byte)
      return result.view(np.uint32).ravel()

    return self._math(operands, "u32", permute)

  def _bfi(self, parts, operands):
    kind = parts[-1]
    bits = int(kind[1:])
    a, b = (self._read(text, kind) for text in operands[1:3])
    at, size = (int(text) for text in operands[3:5])
    if at + size > bits:
      raise ValueError("bits that there are not")
    mask = ((1 << size) - 1) << at
    dtype = np.dtype(_TYPES[kind]).type

    def step(warp):
      inserted = a(warp) << dtype(at) & dtype(mask)
      warp.set(operands[0], inserted | b(warp) & dtype(~mask % (1 << bits)))

    return step

  def _popc(self, parts, operands):
    source = self._read(operands[1], "u32")

    def step(warp):
      bits = np.unpackbits(source(warp).view(np.uint8).reshape(LANES, 4), axis=1)
      warp.set(operands[0], bits.sum(1).astype(np.uint32))

    return step

  def _clz(self, parts, operands):
    source = self._read(operands[1], "u32")

    def step(warp):
      bits = np.unpackbits(source(warp).byteswap().view(np.uint8).reshape(LANES, 4), 1)
      zeros = np.where(bits.any(1), bits.argmax(1), 32)
      warp.set(operands[0], zeros.astype(np.uint32))

    return step

  def _dp4a(self, parts, operands):
    def dot(a, b, c):
      products = a.view(np.uint8).astype(np.uint32) * b.view(np.uint8)
      return products.reshape(LANES, 4).sum(1).astype(np.uint32) + c

    return self._math(operands, "u32", dot)

  def _dp2a(self, parts, operands):
    def dot(a, b, c):
      halves = a.view(np.uint16).astype(np.uint32).reshape(LANES, 2)
      factors = b.view(np.uint8).reshape(LANES, 4)[:, :2]
      return (halves * factors).sum(1).astype(np.uint32) + c

    return self._math(operands, "u32", dot)

  def _setp(self, parts, operands):
    return self._math(operands, parts[-1], _COMPARE[parts[1]], "pred")

  def _selp(self, parts, operands):
    a, b = (self._read(text, parts[-1]) for text in operands[1:3])
    chosen = self._read(operands[3], "pred")

    def step(warp):
      warp.set(operands[0], np.where(chosen(warp), a(warp), b(warp)))

    return step

  def _cvt(self, parts, operands):
    return self._math(operands, parts[-1], lambda value: value, parts[-2])

  def _cvta(self, parts, operands):
    return self._math(operands, "u64", lambda value: value)

  def _mov(self, parts, operands):
    kind = parts[-1]
    to, source = operands
    if "{" not in to + source:
      return self._math(operands, kind, lambda value: value)
    packed = np.dtype(_TYPES[kind])
    names = [
      name.strip() for name in (to + source).split("{")[1].split("}")[0].split(",")
    ]
    part = np.dtype(f"u{packed.itemsize // len(names)}")
    part_kind = f"u{8 * part.itemsize}"
    if to.startswith("{"):
      read = self._read(source, kind)

      def unpack(warp):
        values = read(warp).view(part).reshape(LANES, -1)
        for i, name in enumerate(names):
          if name != "_":
            warp.set(name, values[:, i].copy())

      return unpack
    reads = [self._read(name, part_kind) for name in names]

    def pack(warp):
      values = np.stack([read(warp) for read in reads], 1)
      warp.set(to, np.ascontiguousarray(values).view(packed).ravel())

    return pack

  def _shfl(self, parts, operands):
    to, _, told = operands[0].partition("|")
    source, by, last, members = (self._read(text, "u32") for text in operands[1:])

    def step(warp):
      warp.need_all("shfl.sync")
      if np.any(~members(warp)) or np.any(last(warp) != 31 * (parts[2] != "up")):
        raise Fault("this device exchanges values between all lanes only")
      value, count = source(warp), by(warp).astype(np.int64)
      if parts[2] == "up":
        lane = _LANE - (count & 31)
      elif parts[2] == "bfly":
        lane = _LANE ^ (count & 31)
      else:
        lane = count & 31
      valid = (lane >= 0) & (lane < LANES)
      warp.set(to, value[np.where(valid, lane, _LANE)])
      if told:
        warp.set(told, valid)

    return step

  def _vote(self, parts, operands):
    says, members = self._read(operands[1], "pred"), self._read(operands[2], "u32")

    def step(warp):
      warp.need_all("vote.sync")
      if np.any(~members(warp)):
        raise Fault("this device asks all lanes only")
      bits = np.uint32(np.sum(says(warp).astype(np.uint32) << _LANE.astype(np.uint32)))
      warp.set(operands[0], np.full(LANES, bits, np.uint32))

    return step

  # Memory.

  def _access(self, parts, text: str, operand: str):
    """The registers' names, their bytes in memory, and a function that finds those."""
    names = [name.strip() for name in operand.strip("{}").split(",")]
    dtype = np.dtype(_TYPES[parts[-1].replace("f", "b")])
    size = dtype.itemsize * len(names)
    address = self._address(text)
    offsets = np.arange(size)

    def find(warp, writes):
      lanes = np.flatnonzero(warp.mask)
      at = address(warp)[lanes]
      if np.any(at % size):
        raise Fault(
          f"{'.'.join(parts)} at {at[at % size != 0][0]}: no multiple of {size}"
        )
      at = at[:, None] + offsets
      if parts[1] == "shared":
        shared = warp.block.shared
        if at.min() < 0 or at.max() >= len(shared.bytes):
          raise Fault(f"byte {at.max()} of {len(shared.bytes)} of shared memory")
        shared.touch(warp.index, lanes, at, writes)
        return lanes, shared.bytes, at
      if parts[1] == "local":
        if at.min() < 0 or at.max() >= self.local_bytes:
          raise Fault(f"byte {at.max()} of {self.local_bytes} of local memory")
        return lanes, warp.local.reshape(-1), at + lanes[:, None] * self.local_bytes
      memory = warp.machine.memory
      memory.touch(at, writes)
      return lanes, memory.bytes, at

    return names, dtype, find

  def _ld(self, parts, operands) -> Step:
    if parts[1] == "param":
      number = self._parameters[operands[1].strip("[]")]
      dtype = np.dtype(_TYPES[parts[-1]])
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

  def _st(self, parts, operands) -> Step:
    names, dtype, find = self._access(parts, operands[0], operands[1])
    reads = [self._read(name, parts[-1].replace("f", "b")) for name in names]

    def step(warp):
      values = np.stack([read(warp) for read in reads], 1).astype(dtype)
      lanes, memory, at = find(warp, True)
      memory[at] = np.ascontiguousarray(values[lanes]).view(np.uint8)

    return step
