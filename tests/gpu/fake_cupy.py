"""A CuPy whose device is the host: what `liquid_tf.gpu` calls, and no more.

Kernels run for real, compiled for the host (tests/ops/gpu/host_kernels.cc), on the very
arguments that a device would get; or what a test gives runs them.
"""

import ctypes
import functools
import pathlib
import sys
import time
import types
from unittest import mock

import built
import numpy as np

_FATBIN = bytes.fromhex("50ed55ba")


class DeviceArray(np.ndarray):
  """Memory of the device: what is in it has to be asked for."""

  def set(self, array: np.ndarray) -> None:
    assert array.shape == self.shape and array.dtype == self.dtype
    self[...] = array

  def get(self) -> np.ndarray:
    return np.array(self)


def _empty(shape, dtype) -> DeviceArray:
  array = np.empty(shape, dtype).view(DeviceArray)
  assert array.ctypes.data % 16 == 0
  array.view(np.uint8)[...] = 0xA5
  return array


class CUDARuntimeError(RuntimeError):
  pass


class CUDADriverError(RuntimeError):
  pass


class _Event:
  """A moment of the host's clock: what is started here is done when it returns."""

  def record(self) -> None:
    self.seconds = time.perf_counter()

  def synchronize(self) -> None:
    pass


def _run_on_host(name, grid, threads, arguments, shared_bytes):
  library = ctypes.CDLL(built.find("tests/ops/gpu/host_kernels.so"))
  output, tasks, count, data, pixels, results = (
    ctypes.c_void_p(argument.ctypes.data)
    if isinstance(argument, np.ndarray)
    else argument and ctypes.c_uint32(argument)
    # What checks has fewer than the others.
    for argument in (*arguments, *[None] * (6 - len(arguments)))
  )
  failed = library.liquid_run_on_host(
    name.encode(),
    output,
    tasks,
    count,
    data,
    pixels,
    results,
    ctypes.c_uint32(threads),
    ctypes.c_uint32(shared_bytes),
  )
  assert not failed, f"there is no kernel {name}"


class _RawModule:
  def __init__(self, run, *, code=None, path=None, options=()):
    if path is None:
      assert "LIQUID_L3_KERNELS(v2, kV2, u8" in code and options == ("--std=c++17",)
    else:
      assert pathlib.Path(path).read_bytes().startswith(_FATBIN)
    self._run = run

  def get_function(self, name):
    def launch(grid, block, args, *, shared_mem):
      for i, argument in enumerate(args):
        assert isinstance(argument, np.uint32 if i == 2 else DeviceArray), name
      assert grid[0] > 0 and shared_mem <= 48 * 1024
      self._run(name, grid[0], block[0], args, shared_mem)

    return launch


def install(count: int = 1, capability: str = "90", run=_run_on_host):
  """Puts the fake in the place of CuPy; a context manager.

  Args:
    count: devices; -1 raises what CuPy does without a driver.
    capability: of the device.
    run: called for each kernel with its name, blocks, threads of a block, arguments
      (arrays, and one np.uint32), and bytes of shared memory.
  """

  def device_count():
    if count < 0:
      raise CUDARuntimeError("cudaErrorInsufficientDriver: the driver is too old")
    return count

  cupy = types.ModuleType("cupy")
  cupy.__version__ = "0"
  cupy.copyto = np.copyto
  cupy.empty = _empty
  cupy.get_default_memory_pool = lambda: types.SimpleNamespace(
    free_all_blocks=lambda: None
  )
  cupy.RawModule = functools.partial(_RawModule, run)
  cupy.cuda = types.SimpleNamespace(
    Device=lambda: types.SimpleNamespace(id=0, compute_capability=capability),
    Event=_Event,
    driver=types.SimpleNamespace(CUDADriverError=CUDADriverError),
    get_elapsed_time=lambda begin, end: (end.seconds - begin.seconds) * 1000,
    runtime=types.SimpleNamespace(
      CUDARuntimeError=CUDARuntimeError,
      driverGetVersion=lambda: 13000,
      getDeviceCount=device_count,
      getDeviceProperties=lambda device: {"name": b"host"},
      runtimeGetVersion=lambda: 13000,
    ),
  )
  cupyx = types.ModuleType("cupyx")
  cupyx.empty_pinned = np.empty
  return mock.patch.dict(sys.modules, {"cupy": cupy, "cupyx": cupyx})
