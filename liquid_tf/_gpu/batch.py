"""A batch of L3 and raw images on its way through a GPU, by CuPy.

The plan is made on the host, by an op: which bytes a device needs, and the images of
which it makes a task for each patch. ops/codecs/l3/device/l3_device.h has the layouts.
"""

import functools
import pathlib
import tempfile
import threading
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from liquid_tf._native import ops
from liquid_tf._pipeline.recipe import Recipe
from liquid_tf._tensorflow import tf
from liquid_tf.transforms import Cast, ChannelsFirst, Normalize, Step, by_slot

# L3DeviceOutput.
_OUTPUT = np.dtype(
  [
    ("height", "<u4"),
    ("width", "<u4"),
    ("channels", "<u4"),
    ("planar", "<u4"),
    ("mean", "<f4", 4),
    ("std", "<f4", 4),
    ("verified", "<u4"),
    ("unused", "<u4"),
    ("mean_image", "<u8"),
  ]
)

_TASK_BYTES = 80  # of an L3DeviceTask
# L3DeviceFindings: no error, and no task checked.
_NO_FINDINGS = np.array([2**64 - 1, 0], np.uint64)
_PLAN_THREADS = 128  # of a block that plans or checks


class Launch(NamedTuple):
  """Tasks of a batch that one kernel does.

  Attributes:
    kernel: the beginning of its name, which the types follow.
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
  """The bytes and images that a device needs for a batch.

  Attributes:
    contents: string [n], the files.
    windows: int32 [n, 4].
    max_pixels: of a whole image, that are accepted.
    bytes: uint8 [bytes], of the files' patches and tables.
    images: uint8 [n, bytes of an image].
    runs: uint8 [runs, bytes of a run].
    shape: n, height, width and channels of the batch.
    bits: 8 or 16 per channel.
    launches: of kernels, which together do all tasks.
  """

  contents: tf.Tensor
  windows: tf.Tensor
  max_pixels: int
  bytes: np.ndarray
  images: np.ndarray
  runs: np.ndarray
  shape: tuple[int, int, int, int]
  bits: int
  launches: tuple[Launch, ...]


def finishing(transforms: Iterable[Step], where: str) -> Recipe:
  """Checks the steps that finish images on a GPU: normalising, type and layout.

  Args:
    transforms: Normalize, Cast and ChannelsFirst.
    where: who takes them, as an error says it.

  Raises:
    ValueError: a step is wrong, or none that the kernels do.
  """
  found = by_slot(transforms, (Normalize, Cast, ChannelsFirst), where)
  cast = found.get("cast")
  if cast == Cast("float16"):
    raise ValueError(f"transforms: {cast} must be float32 or bfloat16 on a GPU")
  normalize = found.get("normalize")
  if normalize is not None and normalize.mean_image is not None:
    raise ValueError(
      f"transforms: {normalize} must have a mean, not an image, on a GPU"
    )
  return Recipe.parse(found.values())


def plan(
  contents: tf.Tensor | Sequence[bytes],
  windows: tf.Tensor | Sequence[Sequence[int]] | None,
  max_pixels: int,
) -> Plan:
  """Plans a batch; arguments and errors are those of `liquid_tf.gpu.decode`."""
  with tf.device("CPU"):
    contents = tf.convert_to_tensor(contents, tf.string)
    if windows is None:
      windows = tf.zeros([tf.size(contents), 4], tf.int32)
    planned = ops.lib().liquid_plan_l3_device(contents, windows, max_pixels=max_pixels)
  launches = zip(planned.kernels.numpy().tolist(), planned.launches.numpy().tolist())
  return Plan(
    contents,
    tf.convert_to_tensor(windows, tf.int32),
    max_pixels,
    planned.bytes.numpy(),
    planned.images.numpy(),
    planned.runs.numpy(),
    tuple(planned.shape.numpy().tolist()),
    int(planned.bits),
    tuple(Launch(kernel.decode(), *numbers) for kernel, numbers in launches),
  )


def output(
  plan: Plan, planar: bool, mean: Sequence[float], std: Sequence[float]
) -> np.ndarray:
  """The layout in which the kernels write a batch, as bytes.

  Args:
    plan: of the batch.
    planar: whether channels come before rows.
    mean: one number, or one for each channel.
    std: likewise.

  Returns:
    uint8 [bytes of an L3DeviceOutput].
  """
  channels = plan.shape[3]
  layout = np.zeros(1, _OUTPUT)
  layout["height"], layout["width"] = plan.shape[1:3]
  layout["channels"] = channels
  layout["planar"] = planar
  layout["mean"][0, :channels] = mean
  layout["std"] = 1
  layout["std"][0, :channels] = std
  return layout.view(np.uint8)


@functools.cache
def _folder() -> tempfile.TemporaryDirectory:
  """A folder that stays as long as the process."""
  return tempfile.TemporaryDirectory(prefix="liquid_tf_", ignore_cleanup_errors=True)


_loading = threading.Lock()


def module() -> Any:
  """The kernels as a cupy.RawModule, one for the process.

  Where the op library was built without a CUDA compiler, CuPy compiles them, once a
  machine, with the NVRTC that it has.
  """
  # Two first calls at once would both write the file that CuPy reads.
  with _loading:
    return _module()


@functools.cache
def _module() -> Any:
  import cupy

  with tf.device("CPU"):
    code, is_source = ops.lib().liquid_l3_device_module()
  if is_source:
    return cupy.RawModule(code=code.numpy().decode(), options=("--std=c++17",))
  # CuPy opens the file when a device first needs it.
  path = pathlib.Path(_folder().name) / "l3.fatbin"
  path.write_bytes(code.numpy())
  return cupy.RawModule(path=str(path))


def _kernel(name: str) -> Any:
  """A kernel of the module, which the driver takes when it is first asked for one.

  Raises:
    RuntimeError: the driver does not take the kernels; the message says which would.
  """
  import cupy

  try:
    return module().get_function(name)
  except cupy.cuda.driver.CUDADriverError as error:
    raise RuntimeError(
      f"l3 on a GPU: the kernels cannot be loaded ({error}); a driver as new as the "
      "CUDA that compiled them takes them"
    ) from error


class DeviceBatch:
  """A planned batch, in the memory of CuPy's current device.

  Everything happens on the current stream; only `check` waits for it.

  Args:
    plan: the batch.
    layout: what `output` gives.
  """

  def __init__(self, plan: Plan, layout: np.ndarray):
    import cupy

    self._plan = plan
    # Held until `check`, since the copies from them may still be under way.
    self._staged = []
    self._layout = self._upload(layout)
    images = self._upload(plan.images)
    self._bytes = self._upload(plan.bytes)
    self._findings = self._upload(_NO_FINDINGS)
    tasks = sum(launch.count for launch in plan.launches)
    self._tasks = cupy.empty((tasks, _TASK_BYTES), np.uint8)
    self._results = cupy.empty(tasks, np.uint32)
    runs = self._upload(plan.runs)
    count = len(plan.images)
    _kernel("liquid_l3_plan")(
      (count,),
      (_PLAN_THREADS,),
      (images, runs, np.uint32(count), self._bytes, self._tasks, self._results),
      shared_mem=0,
    )

  def _upload(self, array: np.ndarray) -> Any:
    """Copies to the device, by way of memory that the device can read itself."""
    import cupy
    import cupyx

    if array.size == 0:  # raw images alone have no runs
      return cupy.empty(array.shape, array.dtype)
    staged = cupyx.empty_pinned(array.shape, array.dtype)
    staged[...] = array
    self._staged.append(staged)
    placed = cupy.empty(array.shape, array.dtype)
    placed.set(staged)
    return placed

  def run(self, types: str, pixels: Any, blocks: int | None = None) -> None:
    """Starts the kernels.

    Args:
      types: "u8_f32" and so on; l3_device.cu lists them.
      pixels: cupy array that takes the batch, of the kernels' type.
      blocks: of threads, of each kernel; None for as many as are planned.

    Raises:
      RuntimeError: the driver is too old for the kernels.
    """
    for launch in self._plan.launches:
      end = launch.first + launch.count
      _kernel(f"{launch.kernel}{types}")(
        (blocks or launch.blocks,),
        (launch.threads,),
        (
          self._layout,
          self._tasks[launch.first : end],
          np.uint32(launch.count),
          self._bytes,
          pixels,
          self._results[launch.first : end],
        ),
        shared_mem=launch.shared_bytes,
      )

  def check(self) -> None:
    """Waits for the batch.

    Raises:
      tf.errors.DataLossError: an image is damaged; the message names it, the patch
        and the offset.
    """
    count = len(self._results)
    _kernel("liquid_l3_check")(
      (-(-count // _PLAN_THREADS),),
      (_PLAN_THREADS,),
      (self._tasks, self._results, np.uint32(count), self._findings),
      shared_mem=0,
    )
    findings = self._findings.get()
    self._staged.clear()
    plan = self._plan
    with tf.device("CPU"):
      ops.lib().liquid_check_l3_device(
        contents=plan.contents,
        windows=plan.windows,
        findings=findings,
        max_pixels=plan.max_pixels,
      )
