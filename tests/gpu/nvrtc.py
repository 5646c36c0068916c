"""CUDA's compiler at run time, for tests; it needs no GPU.

LIQUID_NVRTC names a libnvrtc.so; else that of requirements/dev.txt is taken, or the
system's.
"""

import ctypes
import importlib.util
import os
import pathlib
from collections.abc import Callable, Sequence


def _library() -> ctypes.CDLL:
  named = os.environ.get("LIQUID_NVRTC")
  if named:
    return ctypes.CDLL(named)
  packages = importlib.util.find_spec("nvidia")
  for folder in packages.submodule_search_locations if packages else ():
    for path in pathlib.Path(folder).glob("cuda_nvrtc/lib/libnvrtc.so.*"):
      return ctypes.CDLL(os.fspath(path))
  return ctypes.CDLL("libnvrtc.so")


def compile_source(source: bytes, architecture: str, only_read: bool = False) -> bytes:
  """Compiles CUDA C++.

  Args:
    source: the text, in one piece.
    architecture: sm_75 and so on, for machine code; compute_75 and so on, for PTX.
    only_read: ends where the source is read and checked, which takes a fraction of a
      second and not half a minute.

  Returns:
    A cubin, or PTX as text; nothing if it was only read.

  Raises:
    ValueError: the source does not compile; the message is the compiler's.
    OSError: there is no NVRTC.
  """
  get = _compile(source, architecture, ["--fdevice-syntax-only"] * only_read)
  if only_read:
    return b""
  return get("CUBIN" if architecture.startswith("sm_") else "PTX")


def compile_with_lines(source: bytes, architecture: str) -> tuple[str, bytes, str]:
  """Compiles CUDA C++ to machine code that tells which line of PTX it is from.

  Args:
    source: the text, in one piece.
    architecture: sm_90 and so on.

  Returns:
    The PTX, the cubin, and what ptxas says of the registers that each kernel takes.

  Raises:
    ValueError, OSError: as `compile_source`.
  """
  get = _compile(source, architecture, ["-lineinfo", "--ptxas-options=-v"])
  return get("PTX").rstrip(b"\0").decode(), get("CUBIN"), get("ProgramLog").decode()


def _compile(
  source: bytes, architecture: str, more: Sequence[str]
) -> Callable[[str], bytes]:
  """Compiles; the result gets "PTX", "CUBIN" or the "ProgramLog"."""
  nvrtc = _library()
  program = ctypes.c_void_p()
  code = nvrtc.nvrtcCreateProgram(
    ctypes.byref(program), source, b"l3.cu", 0, None, None
  )
  if code != 0:
    raise ValueError(f"nvrtcCreateProgram: error {code}")
  options = ["--std=c++17", f"--gpu-architecture={architecture}", *more]
  options = [option.encode() for option in options]
  code = nvrtc.nvrtcCompileProgram(
    program, len(options), (ctypes.c_char_p * len(options))(*options)
  )

  def get(what: str) -> bytes:
    size = ctypes.c_size_t()
    getattr(nvrtc, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
    data = ctypes.create_string_buffer(size.value)
    getattr(nvrtc, f"nvrtcGet{what}")(program, data)
    return data.raw

  if code != 0:
    raise ValueError(get("ProgramLog").decode())
  return get
