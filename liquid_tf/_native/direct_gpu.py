"""Images in a GPU's memory, from the engine (ops/direct/direct_gpu.h)."""

import ctypes
import functools
import importlib.util
import os
import pathlib
import weakref
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from liquid_tf._native import direct

CUDA = 2  # as DLPack numbers kinds of devices
_MOST_GPUS = 2**31 - 1  # as C numbers them

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


class _Files(ctypes.Structure):
  _fields_ = [
    ("number", ctypes.c_int32),
    ("files", ctypes.c_void_p),
    ("windows", ctypes.c_void_p),
    ("files_size", ctypes.c_uint64),
    ("type", _Type),
    ("planar", ctypes.c_bool),
    ("mean", ctypes.c_void_p),
    ("mean_size", ctypes.c_uint64),
    ("std", ctypes.c_void_p),
    ("std_size", ctypes.c_uint64),
    ("max_pixels", ctypes.c_uint64),
  ]


# By their code, as DLPack has it, and their bits.
_TYPES = {
  "uint8": (1, 8),
  "uint16": (1, 16),
  "float16": (2, 16),
  "bfloat16": (4, 16),
  "float32": (2, 32),
}
_NAMES = {type_: name for name, type_ in _TYPES.items()}

# What the ends of decoding raise, by their LiquidStatus.
_OK, _UNAVAILABLE = 0, 6
_WRONG = (1, 3, 4, 5)  # arguments, or files

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
  functions.liquid_direct_gpu_decode.argtypes = [pointer, pointer, direct.Problem]
  functions.liquid_direct_gpu_decode.restype = ctypes.c_int32
  functions.liquid_direct_images_describe.argtypes = [pointer, pointer, pointer]
  functions.liquid_direct_images_describe.restype = None
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
  # Which C would take for another one.
  if not 0 <= number <= _MOST_GPUS:
    return f"there is no GPU {number}: CUDA numbers them from 0"
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
    images: a LiquidImages, which this owns; or null, where a function that makes some
      puts them into it.
  """

  def __init__(self, images: ctypes.c_void_p):
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
    found, destructor = ctypes.c_void_p(), _destructor()
    try:
      end, sentence = direct.call(
        _functions().liquid_direct_images_tensor,
        self._images,
        stream,
        ctypes.addressof(found),
      )
    except BaseException:  # Ctrl-C, as the function came back
      if found.value:
        tensor = ManagedTensor.from_address(found.value)
        tensor.deleter(ctypes.pointer(tensor))
      raise
    if end:
      raise BufferError(sentence)
    # From here on it is the capsule's: Python calls no handler before that is there.
    return _new(found.value, _NAME, destructor)


class OnGpu(NamedTuple):
  """Images of a batch in a GPU's memory, of a view, or of all views.

  Attributes:
    images: that own it.
    shape: [n, height, width, channels], or with the channels before the rows; n of each
      view, or of all together.
    dtype: "uint8", "uint16", "float16", "bfloat16" or "float32".
  """

  images: Images
  shape: tuple[int, ...]
  dtype: str


def decode(
  files: Sequence[bytes],
  windows: np.ndarray | None,
  *,
  dtype: str | None,
  mean: Sequence[float],
  std: Sequence[float],
  planar: bool,
  max_pixels: int,
  number: int,
) -> OnGpu:
  """Decodes files of L3, of either profile, or raw as one batch, and waits for it.

  Args:
    files: their bytes.
    windows: uint32 [n, 4], y, x, height and width in pixels, where a height of 0 is the
      whole image; None for all of each.
    dtype: of the pixels; None as the first file is stored.
    mean: one number, or one a channel, of floating types.
    std: likewise.
    planar: whether channels come before rows.
    max_pixels: of a whole image.
    number: of the GPU.

  Raises:
    ValueError: a file is damaged, too large or of another format, they do not fit each
      other, a window lies outside, or there is no such GPU.
    OSError: the GPU has no memory for the batch.
    RuntimeError: the GPU is too old, or its driver reports an error.
  """
  offer_nvrtc()
  shown = (direct.Bytes * len(files))(*map(direct.bytes_of, files))
  numbers = [np.array(values, np.float32).reshape(-1) for values in (mean, std)]
  if windows is not None:
    windows = np.ascontiguousarray(windows, np.uint32)
  given = _Files(
    number,
    ctypes.addressof(shown),
    None if windows is None else windows.ctypes.data,
    len(files),
    _Type(*(_TYPES[dtype] if dtype else (0, 0)), 1),
    planar,
    *(numbers[0].ctypes.data, numbers[0].size),
    *(numbers[1].ctypes.data, numbers[1].size),
    max_pixels,
  )
  # Whose they are before there are any: Ctrl-C is an exception as the function returns.
  made = ctypes.c_void_p()
  images = Images(made)
  end, sentence = direct.call(
    _functions().liquid_direct_gpu_decode,
    ctypes.addressof(given),
    ctypes.addressof(made),
  )
  if end in _WRONG:
    raise ValueError(sentence)
  if end != _OK:
    raise (OSError if end == _UNAVAILABLE else RuntimeError)(sentence)
  shape, type_ = (ctypes.c_int64 * 4)(), _Type()
  _functions().liquid_direct_images_describe(
    made, ctypes.addressof(shape), ctypes.addressof(type_)
  )
  return OnGpu(images, tuple(shape), _NAMES[type_.code, type_.bits])
