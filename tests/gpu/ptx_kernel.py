"""A kernel's PTX as steps that the warps of an interpreter take."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import ptx_access
import ptx_lanes
import ptx_math
from ptx_math import LANE, TYPES
from ptx_memory import LANES, Fault

_KNOWN = re.compile(
  "|".join(
    (ptx_math.KNOWN, ptx_lanes.KNOWN, ptx_access.KNOWN, r"bar\.sync|bra(\.uni)?|ret")
  )
)
_SPECIAL = {
  "%tid.x": lambda warp: LANE + warp.index * LANES,
  "%ctaid.x": lambda warp: np.full(LANES, warp.block.index),
  "%ntid.x": lambda warp: np.full(LANES, warp.block.threads),
  "%nctaid.x": lambda warp: np.full(LANES, warp.block.grid),
  "%laneid": lambda warp: LANE,
  "%lanemask_eq": lambda warp: 1 << LANE,
  "%lanemask_lt": lambda warp: (1 << LANE) - 1,
  "%lanemask_le": lambda warp: (2 << LANE) - 1,
  "%lanemask_gt": lambda warp: (1 << LANES) - (2 << LANE),
  "%lanemask_ge": lambda warp: (1 << LANES) - (1 << LANE),
}

# What an instruction does to a warp (ptx.py).
Step = Callable[[Any], None]


class Kernel(ptx_math.Math, ptx_lanes.Lanes, ptx_access.Access):
  """A kernel's instructions as steps, compiled from its text."""

  def __init__(
    self,
    name: str,
    first_line: int,
    body: str,
    parameters: list[str],
    symbols: dict[str, int],
    shared: list[tuple[str, int]],
    most_threads: int,
  ):
    """
    Args:
      name: by which it is started.
      first_line: of the file, in which the body begins.
      body: between the braces.
      parameters: their names.
      symbols: where the file's constants lie.
      shared: the file's arrays in shared memory, and their bytes; of 0 bytes is what
        a launch gives.
      most_threads: of a block.
    """
    self.name = name
    self.most_threads = most_threads
    self._parameters = {name: i for i, name in enumerate(parameters)}
    self._symbols = dict(symbols)
    self.registers = {}
    self.local_bytes = 0
    self.steps: list[Step] = []
    self.barriers = set()
    self._labels = {}
    self.lines = []
    self.places = []  # in the file, of each of them
    # Of the arrays that all blocks have, those in the file are named with it.
    own = re.findall(r"\.shared \.align \d+ \.b8\s+(\w+)\[(\d+)\];", body)
    self.shared_bytes = 0
    for name, size in sorted((*shared, *own), key=lambda named: int(named[1]) == 0):
      self._symbols[name] = self.shared_bytes
      self.shared_bytes += -(-int(size) // 16) * 16
    for place, line in self._statements(body, first_line):
      local = re.match(r"\.local \.align \d+ \.b8\s+(\w+)\[(\d+)\]", line)
      declared = re.match(r"\.reg \.(\w+)\s+(%?\w+)(?:<(\d+)>)?;", line)
      label = re.match(r"(\$\w+):", line)
      if local:
        self._symbols[local.group(1)] = 0
        self.local_bytes = int(local.group(2))
      elif declared:
        kind, name, count = declared.groups()
        dtype = np.dtype(TYPES[kind.replace("f", "b")])
        names = [f"{name}{i}" for i in range(int(count))] if count else [name]
        self.registers.update(dict.fromkeys(names, dtype))
      elif label:
        self._labels[label.group(1)] = len(self.lines)
      elif line and not re.match(r"\.(loc|file|pragma|shared)\s|[{}]$", line):
        self.lines.append(line.rstrip(";"))
        self.places.append(place)
    for i, line in enumerate(self.lines):
      try:
        self.steps.append(self._compile(line, i))
      except (AssertionError, IndexError, KeyError, ValueError) as error:
        raise Fault(f"this device does not know: {line}") from error

  @property
  def block_ends(self) -> list[int]:
    """Behind which instructions others go on, or come from elsewhere."""
    branches = [
      i + 1 for i, line in enumerate(self.lines) if re.search(r"\bbra|ret", line)
    ]
    return sorted({*self._labels.values(), *branches})

  @staticmethod
  def _statements(body: str, first_line: int):
    for place, line in enumerate(body.splitlines(), first_line):
      line = line.split("//")[0].strip()
      # A scope of its own for a register, as the compiler writes them.
      line = re.sub(r"^\{ (?=\.reg)|(?<=;) \}$", "", line)
      for part in re.findall(r"[^;]+;?", line):
        yield place, part.strip()

  # Operands.

  def _read(self, text: str, kind: str):
    """A function of a warp that gives the lanes' values of an operand."""
    dtype = np.dtype(TYPES[kind])
    if text in self.registers:

      def register(warp):
        value = warp.registers[text]
        if value.dtype.itemsize != dtype.itemsize:
          return value.astype(dtype)
        return value.view(dtype)

      return register
    if text in _SPECIAL:
      return lambda warp: _SPECIAL[text](warp).astype(dtype)
    if text[:2] in ("0f", "0d"):
      bits = np.uint32 if text[1] == "f" else np.uint64
      number = np.full(LANES, int(text[2:], 16), bits).view(dtype)
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
    guard = re.match(r"@(!?)(%?\w+)\s+(.*)", line)
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
    if guard and name.strip() in ("bar.sync", "ret"):
      raise ValueError("that has no condition here")
    if parts[:2] == ["bar", "sync"]:
      if operands != ["0"]:
        raise ValueError("only all warps wait for each other")
      self.barriers.add(number)
      return None
    step = getattr(self, "_" + parts[0])(parts, operands)
    return self._guarded(step, guard) if guard else step

  def _guarded(self, step: Step, guard) -> Step:
    says = self._read(guard.group(2), "pred")
    inverse = guard.group(1) == "!"

    def some(warp):
      before = warp.mask, warp.together
      warp.mask = warp.mask & (says(warp) ^ inverse)
      warp.together = bool(warp.mask.all())
      if warp.mask.any():
        step(warp)
      warp.mask, warp.together = before

    return some

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

  def _math(self, operands, kind: str, function, result: str = "") -> Step:
    """`function` of the operands' values, all of one kind."""
    sources = [self._read(text, kind) for text in operands[1:]]
    dtype = np.dtype(TYPES[result or kind])

    def step(warp):
      with np.errstate(all="ignore"):
        value = function(*(source(warp) for source in sources))
      warp.set(operands[0], value.astype(dtype, copy=False))

    return step
