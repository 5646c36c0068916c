"""A GPU that interprets PTX: kernels that were compiled for a device run without one.

It takes what the kernels of `ops/codecs/l3` use of NVIDIA's "Parallel Thread Execution
ISA" and refuses the rest. Warps run one after the other between barriers; lanes that
part go on with the least advanced first. It is strict where a device is not:

- every address must be a multiple of the access's size, and lie in an array;
- lanes that name each other must be together where they exchange values or wait;
- of two warps between two barriers, and of two lanes that no barrier of their warp
  divides, none may touch a byte of shared memory that the other one writes, but both by
  atomic operations;
- what is copied to shared memory asynchronously is there when its lane has waited for
  it, and nothing touches the bytes before;
- a byte of an array is written once in a launch, or by atomic operations alone.

That "least advanced first" lets lanes meet again where they can is true of code whose
branches come before the place where they meet, as compilers lay it out.
"""

import copy
import re
from collections.abc import Sequence

import numpy as np
from ptx_access import Copies
from ptx_kernel import Kernel
from ptx_memory import LANES, Fault, GlobalMemory, SharedMemory


class _Warp:
  """The threads of a warp: their registers, and where each of them is."""

  def __init__(self, machine: "Machine", kernel: "Kernel", index: int, block):
    self.machine = machine
    self.kernel = kernel
    self.index = index
    self.block = block
    self.registers = {
      name: np.zeros(LANES, dtype) for name, dtype in kernel.registers.items()
    }
    self.local = np.full((LANES, kernel.local_bytes), 0xA5, np.uint8)
    self.mask = np.ones(LANES, bool)
    self.together = True
    self.next = 0
    self.copies = Copies()
    self._waiting = {}  # the lanes that are at an instruction further on

  def set(self, name: str, value) -> None:
    register = self.registers[name]
    if value.dtype != register.dtype:
      if value.dtype.itemsize == register.dtype.itemsize:
        value = value.view(register.dtype)
      else:  # an 8-bit value in a wider register
        value = value.astype(register.dtype)
    if self.together:
      self.registers[name] = value
    else:
      self.registers[name] = np.where(self.mask, value, register)

  def part(self, taken, target: int) -> None:
    """Lets the lanes `taken` go on at `target`, the others at the next instruction."""
    here = self._waiting.pop(self.next, False) | (self.mask & ~taken)
    if here.any():
      self._waiting[self.next] = here
    there = self.mask & taken
    if there.any():
      self._waiting[target] = self._waiting.get(target, False) | there
    self._choose()

  def leave(self) -> None:
    self._choose()

  def _choose(self) -> None:
    if not self._waiting:
      self.next = None
      return
    self.next = min(self._waiting)
    self._take(self._waiting.pop(self.next))

  def _take(self, mask) -> None:
    self.mask = mask
    self.together = bool(mask.all())

  def run(self):
    """Runs to the end; yields which barrier of the block it waits at."""
    steps, barriers = self.kernel.steps, self.kernel.barriers
    counts = self.machine.counts[self.kernel]
    while self.next is not None:
      at = self.next
      if self._waiting and at in self._waiting:
        self._take(self.mask | self._waiting.pop(at))
      elif self._waiting and at > min(self._waiting):
        self._waiting[at] = self.mask
        self._choose()
        continue
      self.next = at + 1
      counts[at] += 1
      if at in barriers:
        self.need_all("bar.sync")
        yield at
        continue
      try:
        steps[at](self)
      except Fault as fault:
        raise Fault(f"{self.kernel.lines[at]}: {fault}") from fault

  def need_all(self, what: str) -> None:
    if not self.together:
      raise Fault(f"{what} while lanes of warp {self.index} are apart")


class _Block:
  def __init__(self, index: int, grid: int, threads: int, arguments, shared: int):
    self.index = index
    self.grid = grid
    self.threads = threads
    self.arguments = arguments
    self.shared = SharedMemory(shared)


class Program:
  """The kernels of a PTX file.

  Args:
    text: of the file.
  """

  def __init__(self, text: str):
    self._constants = GlobalMemory()
    symbols = {}
    for name, size, values in re.findall(
      r"\.(?:global|const) \.align \d+ \.b8 (\w+)\[(\d+)\](?: = \{([^}]*)\})?;", text
    ):
      data = np.zeros(int(size), np.uint8)
      given = np.array([int(value) for value in values.split(",") if value], np.uint8)
      data[: len(given)] = given
      symbols[name] = self._constants.add(data)
    shared = [
      (name, int(size or "0"))
      for name, size in re.findall(
        r"^(?:\.extern )?\.shared \.align \d+ \.b8 (\w+)\[(\d*)\];", text, re.MULTILINE
      )
    ]
    self._texts = {}
    for entry in re.finditer(
      r"\.entry (\w+)\(([^)]*)\)([^{]*)\{(.*?)\n\}", text, re.DOTALL
    ):
      name, parameters, limits, body = entry.groups()
      most = re.search(r"\.maxntid (\d+)", limits)
      self._texts[name] = (
        name,
        1 + text.count("\n", 0, entry.start(4)),
        body,
        re.findall(r"\.param \.\w+ (\w+)", parameters),
        symbols,
        shared,
        int(most.group(1)) if most else 1024,
      )
    self._kernels = {}

  def memory(self) -> GlobalMemory:
    """A new memory, with the file's constants."""
    return copy.deepcopy(self._constants)

  def kernel(self, name: str) -> Kernel:
    if name not in self._texts:
      raise Fault(f"there is no kernel {name}")
    if name not in self._kernels:
      self._kernels[name] = Kernel(*self._texts[name])
    return self._kernels[name]


class Machine:
  """A device.

  Args:
    program: what it runs.

  Attributes:
    memory: of the device; arrays are added to it.
    counts: of each kernel that ran, how often warps did each of its instructions.
  """

  def __init__(self, program: Program):
    self.memory = program.memory()
    self.counts: dict[Kernel, np.ndarray] = {}
    self._program = program

  def run(
    self, name: str, grid: int, threads: int, arguments: Sequence[int], shared: int
  ) -> None:
    """Runs a kernel to its end.

    Args:
      name: of the kernel.
      grid: blocks.
      threads: of a block, a multiple of 32.
      arguments: its parameters: numbers, and addresses in `memory`.
      shared: bytes of a block's shared memory.

    Raises:
      Fault: what the kernel did, or that there is no such kernel.
    """
    kernel = self._program.kernel(name)
    if threads > kernel.most_threads or threads % LANES:
      raise Fault(f"{name} takes up to {kernel.most_threads} threads, not {threads}")
    if kernel not in self.counts:
      self.counts[kernel] = np.zeros(len(kernel.lines), np.int64)
    self.memory.launch()
    for index in range(grid):
      block = _Block(index, grid, threads, arguments, kernel.shared_bytes + shared)
      warps = [_Warp(self, kernel, i, block) for i in range(threads // LANES)]
      running = [warp.run() for warp in warps]
      places = {None}
      while places != {"end"}:
        places = {next(warp, "end") for warp in running}
        if len(places) > 1:
          raise Fault("a warp waits at a barrier, and others at another one or nowhere")
        block.shared.block_barrier()
