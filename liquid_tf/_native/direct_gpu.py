"""Images in a GPU's memory, from the engine (ops/direct/direct_gpu.h)."""

import ctypes
import functools
import importlib.util
import os
import pathlib
import weakref
from typing import Any

from liquid_tf._native import direct

CUDA = 2  # as DLPack numbers kinds of devices

_NAME = b"dltensor"


class _Device(ctypes.Structure):
  _fields_ = [("type", ctypes.c_int32), ("number", ctypes.c_int32)]


class _Type(ctypes.Structure):
  _fields_ = [
    ("code", ctypes.c_uint8),
    ("bits", ctypes.c_uint8),
    ("lanes", ctypes.c_uint16),
  ]


class ManagedTensor(ctypes.Structure):
  """A tensor as DLPack lays it out before version 1.0."""


_Deleter = ctypes.CFUNCTYPE(None, ctypes.POINTER(ManagedTensor))

ManagedTensor._fields_ = [
  ("data", ctypes.c_void_p),
  ("device", _Device),
  ("dimensions", ctypes.c_int32),
  ("type", _Type),
  ("shape", ctypes.POINTER(ctypes.c_int64)),
  ("strides", ctypes.POINTER(ctypes.c_int64)),
  ("offset", ctypes.c_uint64),
  ("owner", ctypes.c_void_p),
  ("deleter", _Deleter),
]

# Of its own, as others may tell ctypes.pythonapi other types.
_python = ctypes.PyDLL(None)
_new = _python.PyCapsule_New
_new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_new.restype = ctypes.py_object


class _Capsules(ctypes.Structure):
  _fields_ = [
    (name, ctypes.c_void_p)
    for name in ("is_valid", "pointer", "save_thread", "restore_thread")
  ]


@functools.cache
def _functions() -> ctypes.CDLL:
  functions = direct.functions()
  pointer = ctypes.c_void_p
  functions.liquid_direct_gpu_check.argtypes = [ctypes.c_int32, direct.Problem]
  functions.liquid_direct_gpu_check.restype = ctypes.c_int32
  functions.liquid_direct_gpu_compiles.argtypes = []
  functions.liquid_direct_gpu_compiles.restype = ctypes.c_bool
  functions.liquid_direct_images_tensor.argtypes = [
    *(pointer, ctypes.c_uint64, pointer),
    direct.Problem,
  ]
  functions.liquid_direct_images_tensor.restype = ctypes.c_int32
  functions.liquid_direct_images_free.argtypes = [pointer]
  functions.liquid_direct_images_free.restype = None
  functions.liquid_direct_capsule_destructor.argtypes = [_Capsules]
  functions.liquid_direct_capsule_destructor.restype = pointer
  return functions


@functools.cache
def _destructor() -> int:
  """Finds a capsule's destructor, which frees the tensor that no library has taken.

  It is no function of Python, since an exception may be pending where it is called.
  """
  address = [
    ctypes.cast(function, ctypes.c_void_p)
    for function in (
      *(_python.PyCapsule_IsValid, _python.PyCapsule_GetPointer),
      *(_python.PyEval_SaveThread, _python.PyEval_RestoreThread),
    )
  ]
  return _functions().liquid_direct_capsule_destructor(_Capsules(*address))


def problem(number: int) -> str | None:
  """The reason why GPU `number` cannot be used here, with what to do, or None."""
  end, sentence = direct.call(_functions().liquid_direct_gpu_check, number)
  return sentence if end else None


def _has_kernel_source() -> bool:
  return _functions().liquid_direct_gpu_compiles()


@functools.cache
def offer_nvrtc() -> None:
  """Opens the NVRTCs that pip has installed, if the kernels are still to be compiled.

  The packages of TensorFlow, PyTorch and JAX for GPUs bring one, in a folder where no
  loader of libraries looks; what a process has opened is found by its name.
  """
  packages = importlib.util.find_spec("nvidia")
  if packages is None or not _has_kernel_source():
    return
  for folder in packages.submodule_search_locations:
    for path in sorted(pathlib.Path(folder).glob("*/lib/libnvrtc.so.*")):
      ctypes.CDLL(os.fspath(path))


class Images:
  """Images of a batch, whose memory stays as long as this or a capsule of it.

  Args:
    images: a LiquidImages, which this owns.
  """

  def __init__(self, images: int):
    self._images = images
    # Not when Python ends, where a thread may still use them.
    weakref.finalize(
      self, _functions().liquid_direct_images_free, images
    ).atexit = False

  def capsule(self, stream: int) -> Any:
    """The images for DLPack.

    Args:
      stream: of who takes them: 1, the legacy default one, or the address of one.

    Raises:
      BufferError: the stream is of another context, a graph is captured of it, or the
        driver reports an error; the message is a sentence.
    """
    found = ctypes.c_void_p()
    end, sentence = direct.call(
      _functions().liquid_direct_images_tensor,
      self._images,
      stream,
      ctypes.addressof(found),
    )
    if end:
      raise BufferError(sentence)
    return _new(found.value, _NAME, _destructor())
