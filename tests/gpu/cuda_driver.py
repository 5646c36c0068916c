"""What takes arrays from a GPU by CUDA's driver alone, this machine's or the fake."""

import ctypes

import numpy as np


class CudaError(RuntimeError):
  pass


class Driver:
  """A consumer of arrays, as `taken.Taken` takes one."""

  def __init__(self):
    self._cuda = ctypes.CDLL("libcuda.so.1")
    self._call("cuInit", ctypes.c_uint(0))
    self._contexts: dict[int, ctypes.c_void_p] = {}
    # Of which device a stream is.
    self._devices: dict[int, int] = {}

  def _call(self, name: str, *arguments) -> None:
    result = getattr(self._cuda, name)(*arguments)
    if result:
      text = ctypes.c_char_p()
      self._cuda.cuGetErrorName(result, ctypes.byref(text))
      raise CudaError(f"{name}: {(text.value or b'?').decode()}")

  def _handle(self, device: int) -> ctypes.c_int:
    handle = ctypes.c_int()
    self._call("cuDeviceGet", ctypes.byref(handle), device)
    return handle

  def _in_context(self, device: int, name: str, *arguments) -> None:
    """Calls a function in a device's primary context, which stays."""
    if device not in self._contexts:
      handle, context = self._handle(device), ctypes.c_void_p()
      self._call("cuDevicePrimaryCtxRetain", ctypes.byref(context), handle)
      self._contexts[device] = context
    self._call("cuCtxPushCurrent_v2", self._contexts[device])
    try:
      self._call(name, *arguments)
    finally:
      self._call("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))

  def stream(self, device: int = 0) -> int:
    """A stream, which stays for the rest of the process."""
    made = ctypes.c_void_p()
    # It does not wait for the default one.
    create = "cuStreamCreateWithPriority"
    self._in_context(device, create, ctypes.byref(made), ctypes.c_uint(1), 0)
    self._devices[made.value] = device
    return made.value

  def copy(self, stream: int, to: np.ndarray, address: int) -> None:
    """Copies device memory to the host, once the stream has come so far."""
    self._in_context(
      self._devices[stream],
      "cuMemcpyDtoHAsync_v2",
      ctypes.c_void_p(to.ctypes.data),
      ctypes.c_ulonglong(address),
      ctypes.c_size_t(to.nbytes),
      ctypes.c_void_p(stream),
    )

  def synchronize(self, stream: int) -> None:
    """Waits until the stream has done all."""
    self._in_context(
      self._devices[stream], "cuStreamSynchronize", ctypes.c_void_p(stream)
    )

  def machine(self, device: int = 0) -> dict[str, str | int]:
    """What the GPU and its driver are."""
    name, cuda = ctypes.create_string_buffer(256), ctypes.c_int()
    self._call("cuDeviceGetName", name, len(name), self._handle(device))
    self._call("cuDriverGetVersion", ctypes.byref(cuda))
    return {"gpu": name.value.decode(), "cuda_driver": cuda.value}
