"""Arrays on a GPU, taken by DLPack as another library takes them."""

import ctypes
from typing import Any

import cuda_driver
import fake_gpu
import numpy as np

from liquid_tf._loader.device_array import DeviceArray
from liquid_tf._native import direct_gpu

# As DLPack numbers them.
_NAMES = {
  (1, 8): "uint8",
  (1, 16): "uint16",
  (2, 16): "float16",
  (2, 32): "float32",
  (4, 16): "bfloat16",
}
_NAME = b"dltensor"
_USED = b"used_dltensor"
_python = ctypes.PyDLL(None)
_valid = _python.PyCapsule_IsValid
_valid.argtypes = [ctypes.py_object, ctypes.c_char_p]
_get = _python.PyCapsule_GetPointer
_get.argtypes, _get.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_void_p
_rename = _python.PyCapsule_SetName
_rename.argtypes = [ctypes.py_object, ctypes.c_char_p]


def is_tensor(capsule: Any) -> bool:
  """Whether a capsule has a tensor that nobody has taken."""
  return bool(_valid(capsule, _NAME))


class Taken:
  """An array as another library takes it.

  Args:
    driver: that has it.
    array: to take.
    stream: of who takes it.
    **options: of `__dlpack__`.
  """

  def __init__(
    self,
    driver: fake_gpu.Driver | cuda_driver.Driver,
    array: DeviceArray,
    stream: int,
    **options,
  ):
    assert array.__dlpack_device__()[0] == 2
    capsule = array.__dlpack__(stream=stream, **options)
    assert is_tensor(capsule)
    self.tensor = direct_gpu.ManagedTensor.from_address(_get(capsule, _NAME))
    _rename(capsule, _USED)
    self.stream = stream
    self._driver = driver
    tensor = self.tensor
    self.shape = tuple(tensor.shape[: tensor.dimensions])
    self.dtype = _NAMES[tensor.type.code, tensor.type.bits]
    self.device = tensor.device.number
    assert not tensor.strides
    assert tensor.data % 256 == tensor.offset == 0

  def begin(self) -> np.ndarray:
    """Its bits, once the stream has come so far."""
    kind = "uint16" if self.dtype == "bfloat16" else self.dtype
    found = np.zeros(self.shape, kind)
    self._driver.copy(self.stream, found, self.tensor.data)
    return found

  def numpy(self) -> np.ndarray:
    found = self.begin()
    self._driver.synchronize(self.stream)
    return found

  def free(self) -> None:
    self.tensor.deleter(ctypes.pointer(self.tensor))


def pixels(
  driver: fake_gpu.Driver | cuda_driver.Driver, array: DeviceArray
) -> np.ndarray:
  """The bits of an array, taken on a new stream and given back."""
  found = Taken(driver, array, driver.stream(array.device))
  try:
    assert (found.shape, found.dtype) == (array.shape, array.dtype), repr(array)
    return found.numpy()
  finally:
    found.free()
