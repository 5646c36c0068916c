"""A CuPy whose device is the host: what `liquid_tf.gpu` calls, and no more.

Kernels run for real, compiled for the host (tests/ops/gpu/host_kernels.cc), on the very
arguments that a device would get.
"""

import ctypes
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


class _RawModule:
  def __init__(self, *, code=None, path=None, options=()):
    if path is None:
      assert "liquid_l3_u8_u8" in code and options == ("--std=c++17",)
    else:
      assert pathlib.Path(path).read_bytes().startswith(_FATBIN)
    self._run = ctypes.CDLL(
      built.find("tests/ops/gpu/host_kernels.so")
    ).liquid_run_on_host

  def get_function(self, name):
    def launch(grid, block, args, *, shared_mem):
      output, tasks, count, data, pixels, results = args
      for array in (output, tasks, data, pixels, results):
        assert isinstance(array, DeviceArray), name
      assert isinstance(count, np.uint32) and grid[0] > 0
      assert shared_mem <= 48 * 1024
      failed = self._run(
        name.encode(),
        *(ctypes.c_void_p(array.ctypes.data) for array in (output, tasks)),
        ctypes.c_uint32(count),
        *(ctypes.c_void_p(array.ctypes.data) for array in (data, pixels, results)),
        ctypes.c_uint32(block[0]),
        ctypes.c_uint32(shared_mem),
      )
      assert not failed, f"there is no kernel {name}"

    return launch


def install(count: int = 1, capability: str = "90"):
  """Puts the fake in the place of CuPy; a context manager.

  Args:
    count: devices; -1 raises what CuPy does without a driver.
    capability: of the device.
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
  cupy.RawModule = _RawModule
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
