"""A TensorFlow for the processor that has a GPU, made of the host.

Its device and the driver are fakes (fake_gpu_device.cc, fake_driver.cc); the ops, and
the kernels that they launch, are the real ones.
"""

import contextlib
import ctypes
from collections.abc import Iterator

import built
import numpy as np
import tensorflow as tf


class Driver:
  """The fake driver, which stays for the rest of the process."""

  def __init__(self):
    # First, so that its name is taken when the op library asks for the driver.
    self._library = ctypes.CDLL(built.find("tests/gpu/fake_driver.so"))
    # Where the op library carries its kernels as source. A real one crashes beside the
    # fake driver.
    ctypes.CDLL(built.find("tests/ops/gpu/fake_nvrtc.so"))

  def set(self, name: str, value: int) -> None:
    """Has the process's devices be so; see fake_driver.cc."""
    self._library.fake_cuda_set(name.encode(), value)

  def count(self, name: str) -> int:
    """How often what was done: "streams", "pinned", "launches", "decoded"…"""
    return self._library.fake_cuda_count(name.encode())

  @contextlib.contextmanager
  def setting(self, name: str, value: int, usual: int = 0) -> Iterator[None]:
    """Has something fail, or be otherwise, for a while; see fake_driver.cc."""
    self._library.fake_cuda_set(name.encode(), value)
    try:
      yield
    finally:
      self._library.fake_cuda_set(name.encode(), usual)

  @contextlib.contextmanager
  def busy(self, stream: int = 0) -> Iterator[None]:
    """A stream, by default TensorFlow's, gets no further meanwhile."""
    self._library.fake_cuda_close_gate_of(ctypes.c_void_p(stream))
    try:
      yield
    finally:
      self._library.fake_cuda_open_gate()

  @contextlib.contextmanager
  def captured(self, stream: int, default_waits: bool = False) -> Iterator[None]:
    """A graph is captured of what a stream is given, and it must be valid.

    Args:
      stream: one of `stream`.
      default_waits: whether it is of the kind for which the default stream waits.
    """
    self._library.fake_cuda_begin_capture(
      ctypes.c_void_p(stream), ctypes.c_int(default_waits)
    )
    try:
      yield
    finally:
      ended = self._library.fake_cuda_end_capture(ctypes.c_void_p(stream))
    assert ended == 0, f"CUDA error {ended}"

  def stream(self, device: int = 0) -> int:
    """A stream of who takes arrays; it stays for the rest of the process."""
    self._library.fake_cuda_stream.restype = ctypes.c_void_p
    return self._library.fake_cuda_stream(device)

  def copy(self, stream: int, to: np.ndarray, address: int) -> None:
    """Copies device memory to the host, once the stream has come so far."""
    self._library.fake_cuda_copy(
      ctypes.c_void_p(stream),
      ctypes.c_void_p(to.ctypes.data),
      ctypes.c_void_p(address),
      ctypes.c_size_t(to.nbytes),
    )

  def synchronize(self, stream: int) -> None:
    """Waits until the stream has done all."""
    self._library.fake_cuda_synchronize(ctypes.c_void_p(stream))


def install(devices: int = 1) -> Driver:
  """Gives TensorFlow the device; before anything else makes it look for devices.

  Args:
    devices: as which it shows, to the driver's users too. TensorFlow's are all the
      driver's first one.
  """
  driver = Driver()
  driver.set("devices", devices)
  driver.set("tensorflow_devices", devices)
  tf.load_library(built.find("tests/gpu/fake_gpu_device.so"))
  assert len(tf.config.list_logical_devices("GPU")) == devices
  return driver
