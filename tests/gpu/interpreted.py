"""Batches that ops/gpu/plan plans, decoded without a device.

Their kernels run as compiled for one, in an interpreter, or as compiled for the host.
"""

import ctypes
import functools
import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import built
import numpy as np
import nvrtc
import ptx
import ptx_kernel
import tensorflow as tf

# Kernels that come before and after those that decode.
BESIDE = ("liquid_l3_plan", "liquid_l3_check")

# L3DeviceOutput.
OUTPUT = np.dtype(
  [(name, "u4") for name in ("height", "width", "channels", "planar")]
  + [("mean", "f4", 4), ("std", "f4", 4), ("verified", "u4")]
  + [("unused", "u4"), ("mean_image", "u8")]
)

# Runs a kernel: its name, blocks, threads of a block, arguments (arrays, and one
# np.uint32), and bytes of a block's shared memory.
Run = Callable[[str, int, int, Sequence, int], None]

_TASK_BYTES = 80  # of an L3DeviceTask
_PLAN_THREADS = 128  # of a block that plans or checks
# By the name that kernels have for it; bfloat16 as its bits.
_ELEMENTS = {"u8": np.uint8, "u16": np.uint16, "f32": np.float32, "bf16": np.uint16}
# By StatusCode (ops/core/status.h).
_ERRORS = {
  1: tf.errors.InvalidArgumentError,
  3: tf.errors.DataLossError,
  4: tf.errors.ResourceExhaustedError,
  9: tf.errors.InternalError,
}


def source() -> bytes:
  """The kernels' source in one piece."""
  return pathlib.Path(built.find("ops/gpu/liquid_l3_module.cu")).read_bytes()


@functools.cache
def _program() -> ptx.Program:
  return ptx.Program(nvrtc.compile_source(source(), "compute_75").decode())


def on_host(
  name: str, grid: int, threads: int, arguments: Sequence, shared_bytes: int
) -> None:
  """Runs a kernel's own code as compiled for the host; see host_kernels.cc.

  Its tasks are done one after another, for any number of blocks.
  """
  assert grid > 0
  library = ctypes.CDLL(built.find("tests/ops/gpu/host_kernels.so"))
  places = [
    ctypes.c_uint32(argument)
    if isinstance(argument, np.uint32)
    else ctypes.c_void_p(argument.ctypes.data)
    for argument in arguments
  ]
  # What checks has fewer than the others.
  places += [None] * (6 - len(places))
  numbers = ctypes.c_uint32(threads), ctypes.c_uint32(shared_bytes)
  assert library.liquid_run_on_host(name.encode(), *places, *numbers) == 0, name


class Launch(NamedTuple):
  """Tasks of a batch that one kernel does.

  Attributes:
    kernel: its name; of L3 and raw its beginning, which the types follow.
    first: the first of the tasks.
    count: how many there are.
    blocks: of threads, that do them.
    threads: of a block.
    shared_bytes: shared memory of a block.
  """

  kernel: str
  first: int
  count: int
  blocks: int
  threads: int
  shared_bytes: int


class Plan(NamedTuple):
  """A batch, as ops/gpu/plan plans it.

  Attributes:
    files: the bytes of each.
    windows: uint32 [n, 4].
    bytes: uint8, what a device needs of the files.
    images: uint8, L3DeviceImage of each file of L3 and raw.
    runs: uint8, L3DeviceRun of the images.
    tasks: uint8 [tasks, 80], of JPEG; those of images the device makes.
    jpeg: uint8, JpegDeviceImage and the segments.
    launches: of kernels, which together do all tasks.
    shape: n, height, width and channels of the batch.
    bits: 8 or 16 per channel.
    jpeg_scratch_bytes: before the pixels of JPEG.
  """

  files: Sequence[bytes]
  windows: np.ndarray
  bytes: np.ndarray
  images: np.ndarray
  runs: np.ndarray
  tasks: np.ndarray
  jpeg: np.ndarray
  launches: tuple[Launch, ...]
  shape: tuple[int, ...]
  bits: int
  jpeg_scratch_bytes: int


def _ask(function: str, *arguments: Any) -> dict[str, np.ndarray]:
  """What a function of planner.cc gives, by name, each uint8 [bytes].

  Raises:
    tf.errors.OpError: its status, as an op would raise it.
  """
  library = ctypes.CDLL(built.find("tests/ops/gpu/planner.so"))
  given = {}

  @ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t)
  def give(name, data, size):
    read = ctypes.string_at(data, size) if size else b""
    given[name.decode()] = np.frombuffer(read, np.uint8).copy()

  code = getattr(library, function)(*arguments, give)
  if code:
    raise _ERRORS[code](None, None, given["message"].tobytes().decode())
  return given


def _files(files: Sequence[bytes], windows: np.ndarray) -> tuple[Any, ...]:
  """Files and windows, as functions of planner.cc take them."""
  return (
    (ctypes.c_char_p * len(files))(*files),
    (ctypes.c_size_t * len(files))(*map(len, files)),
    ctypes.c_void_p(windows.ctypes.data),
    ctypes.c_size_t(len(files)),
  )


def _plan(files: Sequence[bytes], windows: np.ndarray, given: Mapping) -> Plan:
  kernels = given["kernels"].tobytes().decode().split()
  numbers = given["launches"].view(np.uint32).reshape(-1, 5).tolist()
  *shape, bits, scratch = given["sizes"].view(np.uint64).tolist()
  return Plan(
    files,
    windows,
    given["bytes"],
    given["images"],
    given["runs"],
    given["tasks"].reshape(-1, _TASK_BYTES),
    given["jpeg"],
    tuple(Launch(name, *row) for name, row in zip(kernels, numbers, strict=True)),
    tuple(shape),
    bits,
    scratch,
  )


def plan(
  files: Sequence[bytes], windows: Sequence[Sequence[int]] | None = None
) -> Plan:
  """Plans windows (y, x, height, width) of files of L3 and raw; None is all of each.

  Raises:
    tf.errors.OpError: there is no plan for these; see PlanL3Device.
  """
  if windows is None:
    windows = [(0, 0, 0, 0)] * len(files)
  windows = np.array(windows, np.uint32)
  assert windows.shape == (len(files), 4)
  return _plan(files, windows, _ask("liquid_plan_l3", *_files(files, windows)))


def plan_jpeg(file: bytes, spacing: int, window: Sequence[int]) -> Plan:
  """Plans a window (y, x, height, width) of a JPEG file by an index of that spacing."""
  windows = np.array([window], np.uint32)
  size, entries = ctypes.c_size_t(len(file)), ctypes.c_uint32(spacing)
  place = ctypes.c_void_p(windows.ctypes.data)
  given = _ask("liquid_plan_jpeg", file, size, entries, place)
  return _plan([file], windows, given)


def decode(
  plan: Plan,
  run: Run,
  types: str,
  planar: bool = False,
  mean: Sequence[float] = (0,),
  std: Sequence[float] = (1,),
  verified: bool = False,
) -> np.ndarray:
  """Decodes a batch of L3 and raw, in all the steps of a device.

  Args:
    plan: of the batch.
    run: the kernels: `Kernels()`, or `on_host`.
    types: "u8_f32" and so on; l3_device.cu lists them.
    planar: whether channels come before rows.
    mean: one number, or one for each channel.
    std: likewise.
    verified: whether the host has checked the files' bytes, as those of datasets.

  Returns:
    An array [n, height, width, channels] or [n, channels, height, width] of the second
    of the types, where bfloat16 is uint16.

  Raises:
    tf.errors.DataLossError: an image is damaged, or was not decoded.
  """
  n, height, width, channels = plan.shape
  output = np.zeros(1, OUTPUT)
  output["height"], output["width"], output["channels"] = plan.shape[1:]
  output["planar"], output["verified"] = planar, verified
  output["mean"][0, :channels] = mean
  output["std"] = 1
  output["std"][0, :channels] = std
  count = sum(launch.count for launch in plan.launches)
  # What is not written shows.
  tasks = np.full((count, _TASK_BYTES), 0xA5, np.uint8)
  results = np.full(count, 0xA5A5A5A5, np.uint32)
  shape = (n, channels, height, width) if planar else (n, height, width, channels)
  pixels = np.empty(shape, _ELEMENTS[types.split("_")[1]])
  pixels.view(np.uint8)[...] = 0xA5
  # As a device's memory begins.
  assert plan.bytes.ctypes.data % 16 == pixels.ctypes.data % 16 == 0
  planned = plan.images, plan.runs, np.uint32(n), plan.bytes, tasks, results
  run("liquid_l3_plan", n, _PLAN_THREADS, planned, 0)
  for launch in plan.launches:
    part = slice(launch.first, launch.first + launch.count)
    places = tasks[part], np.uint32(launch.count), plan.bytes, pixels, results[part]
    assert launch.shared_bytes <= 48 << 10  # what every device has
    run(
      launch.kernel + types,
      launch.blocks,
      launch.threads,
      (output, *places),
      launch.shared_bytes,
    )
  # L3DeviceFindings: no error, and no task checked.
  findings = np.array([2**64 - 1, 0], np.uint64)
  checked = tasks, results, np.uint32(count), findings
  run("liquid_l3_check", -(-count // _PLAN_THREADS), _PLAN_THREADS, checked, 0)
  place = ctypes.c_void_p(findings.ctypes.data)
  _ask("liquid_check_l3", *_files(plan.files, plan.windows), place)
  return pixels


class Kernels:
  """Runs kernels in the interpreter: a `Run`.

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
