"""The kernels of L3 as compiled for a device, in an interpreter in the place of one."""

import ctypes
import functools
import pathlib
from collections.abc import Sequence
from typing import NamedTuple

import built
import numpy as np
import nvrtc
import ptx
import ptx_kernel

# Kernels that come before and after those that decode.
BESIDE = ("liquid_l3_plan", "liquid_l3_check")


def source() -> bytes:
  """The kernels' source in one piece."""
  return pathlib.Path(built.find("ops/gpu/liquid_l3_module.cu")).read_bytes()


@functools.cache
def _program() -> ptx.Program:
  return ptx.Program(nvrtc.compile_source(source(), "compute_75").decode())


def on_host(name: str, arguments: Sequence, threads: int, shared_bytes: int) -> None:
  """Runs a kernel's own code as compiled for the host; see host_kernels.cc."""
  library = ctypes.CDLL(built.find("tests/ops/gpu/host_kernels.so"))
  places = [
    ctypes.c_uint32(argument)
    if isinstance(argument, np.uint32)
    else ctypes.c_void_p(argument.ctypes.data)
    for argument in arguments
  ]
  numbers = ctypes.c_uint32(threads), ctypes.c_uint32(shared_bytes)
  assert library.liquid_run_on_host(name.encode(), *places, *numbers) == 0, name


class JpegPlan(NamedTuple):
  """A window of a JPEG file, as ops/gpu/plan plans it.

  Attributes:
    tasks: uint8 [tasks, 80].
    launches: uint32 [launches, 5]: kind, first task, count, threads, shared bytes.
    images: uint8, JpegDeviceImage and the segments.
    bytes: uint8, of the scan.
    blocks: bytes of scratch memory before the pixels.
  """

  tasks: np.ndarray
  launches: np.ndarray
  images: np.ndarray
  bytes: np.ndarray
  blocks: int


def plan_jpeg(file: bytes, spacing: int, window: Sequence[int]) -> JpegPlan:
  """Plans a window (y, x, height, width) by an index of that spacing."""
  library = ctypes.CDLL(built.find("tests/ops/gpu/jpeg_planner.so"))
  given = {}

  @ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t)
  def give(what, data, size):
    given[what] = np.frombuffer(ctypes.string_at(data, size), np.uint8)

  numbers = (ctypes.c_uint32 * 4)(*window)
  size, entries = ctypes.c_size_t(len(file)), ctypes.c_uint32(spacing)
  assert library.liquid_plan_jpeg(file, size, entries, numbers, give) == 0
  return JpegPlan(
    given[0].reshape(-1, 80),
    given[1].view(np.uint32).reshape(-1, 5),
    given[2],
    given[3],
    int(given[4].view(np.uint64)[0]),
  )


class Kernels:
  """Runs kernels; what `fake_cupy.install` takes as `run`.

  Args:
    misplaced: elements that the array for pixels begins behind a multiple of 16 bytes.
    blocks: that do all tasks; None for one a task.
    program: the kernels; by default as compiled for compute capability 7.5.

  Attributes:
    counts: of each kernel that ran, how often warps did each of its instructions.
  """

  def __init__(
    self,
    misplaced: int = 0,
    blocks: int | None = None,
    program: ptx.Program | None = None,
  ):
    self.counts: dict[ptx_kernel.Kernel, np.ndarray] = {}
    self._program = program or _program()
    self._misplaced = misplaced
    self._blocks = blocks

  @property
  def issued(self) -> int:
    """Instructions that warps have done, in all kernels together."""
    return sum(int(counts.sum()) for counts in self.counts.values())

  def __call__(
    self, name: str, grid: int, threads: int, arguments: Sequence, shared_bytes: int
  ) -> None:
    machine = ptx.Machine(self._program)
    pixels = 4
    written = (3,) if name == "liquid_l3_check" else (pixels, 5)
    # What plans writes tasks in the place of pixels.
    misplaced = 0 if name in BESIDE else self._misplaced
    places = [
      int(argument)
      if isinstance(argument, np.uint32)
      else machine.memory.add(
        argument,
        misplaced=misplaced * argument.itemsize if i == pixels else 0,
        writable=i in written,
      )
      for i, argument in enumerate(arguments)
    ]
    machine.run(name, self._blocks or grid, threads, places, shared_bytes)
    for kernel, counts in machine.counts.items():
      self.counts[kernel] = self.counts.get(kernel, 0) + counts
    for i in written:
      found = machine.memory.bytes[places[i] : places[i] + arguments[i].nbytes]
      arguments[i][...] = found.view(arguments[i].dtype).reshape(arguments[i].shape)
