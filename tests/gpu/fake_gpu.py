"""A TensorFlow for the processor that has a GPU, made of the host.

Its device and the driver are fakes (fake_gpu_device.cc, fake_driver.cc); the ops, and
the kernels that they launch, are the real ones.
"""

import contextlib
import ctypes
from collections.abc import Iterator

import built
import tensorflow as tf


class Driver:
  """The fake driver, which stays for the rest of the process."""

  def __init__(self):
    # First, so that its name is taken when the op library asks for the driver.
    self._library = ctypes.CDLL(built.find("tests/gpu/fake_driver.so"))
    # Where the op library carries its kernels as source. A real one crashes beside the
    # fake driver.
    ctypes.CDLL(built.find("tests/ops/gpu/fake_nvrtc.so"))

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
  def busy(self) -> Iterator[None]:
    """TensorFlow's stream gets no further meanwhile."""
    self._library.fake_cuda_close_gate()
    try:
      yield
    finally:
      self._library.fake_cuda_open_gate()


def install() -> Driver:
  """Gives TensorFlow the device; before anything else makes it look for devices."""
  driver = Driver()
  tf.load_library(built.find("tests/gpu/fake_gpu_device.so"))
  assert len(tf.config.list_logical_devices("GPU")) == 1
  return driver
