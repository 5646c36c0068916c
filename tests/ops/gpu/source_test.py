"""The kernels' source in one piece, as a library without compiled ones carries it.

LIQUID_NVRTC names a libnvrtc.so; else the system's is tried. Without one, nothing is
compiled here. It needs no GPU.
"""

import ctypes
import os
import pathlib
import re

from absl.testing import absltest, parameterized

_SOURCE = (
  pathlib.Path(os.path.abspath(__file__)).parents[3] / "ops/gpu/liquid_l3_module.cu"
)
_KERNELS = ("u8_u8", "u8_f32", "u8_bf16", "u16_u16", "u16_f32", "u16_bf16")
_STEPS = ("u8_u8_sequential", "u8_u8_unpack", "u8_u8_predict")


def _nvrtc():
  named = os.environ.get("LIQUID_NVRTC")
  if named:
    return ctypes.CDLL(named)
  for name in ("libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12"):
    try:
      return ctypes.CDLL(name)
    except OSError:
      continue
  return None


class SourceTest(parameterized.TestCase):
  def test_is_in_one_piece(self):
    text = _SOURCE.read_text()
    self.assertEmpty(re.findall(r'^\s*#\s*include\s+"', text, re.MULTILINE))
    for kernel in (*_KERNELS, *_STEPS):
      self.assertIn(f"liquid_l3_{kernel},", text)

  @parameterized.parameters("sm_75", "sm_80", "sm_90")
  def test_compiles_at_run_time(self, architecture):
    nvrtc = _nvrtc()
    if nvrtc is None:
      self.skipTest("there is no NVRTC")
    program = ctypes.c_void_p()
    code = nvrtc.nvrtcCreateProgram(
      ctypes.byref(program), _SOURCE.read_bytes(), b"l3.cu", 0, None, None
    )
    self.assertEqual(code, 0)
    options = [b"--std=c++17", b"--gpu-architecture=" + architecture.encode()]
    code = nvrtc.nvrtcCompileProgram(
      program, len(options), (ctypes.c_char_p * len(options))(*options)
    )
    size = ctypes.c_size_t()
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetProgramLog(program, log)
    self.assertEqual(code, 0, log.value.decode())
    self.assertEqual(nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size)), 0)
    binary = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetCUBIN(program, binary)
    for kernel in (*_KERNELS, *_STEPS):
      self.assertIn(f"liquid_l3_{kernel}\0".encode(), binary.raw)


if __name__ == "__main__":
  absltest.main()
