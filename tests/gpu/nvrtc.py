"""CUDA's compiler at run time, for tests; it needs no GPU.

LIQUID_NVRTC names a libnvrtc.so; else that of requirements/dev.txt is taken, or the
system's.
"""

import ctypes
import importlib.util
import os
import pathlib


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
  nvrtc = _library()
  program = ctypes.c_void_p()
  code = nvrtc.nvrtcCreateProgram(
    ctypes.byref(program), source, b"l3.cu", 0, None, None
  )
  if code != 0:
    raise ValueError(f"nvrtcCreateProgram: error {code}")
  options = [b"--std=c++17", b"--gpu-architecture=" + architecture.encode()]
  if only_read:
    options.append(b"--fdevice-syntax-only")
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
  if only_read:
    return b""
  return get("CUBIN") if architecture.startswith("sm_") else get("PTX")
