"""The kernels' source in one piece, as a library without compiled ones carries it."""

import os
import pathlib
import re

import nvrtc
from absl.testing import absltest

_SOURCE = (
  pathlib.Path(os.path.abspath(__file__)).parents[3] / "ops/gpu/liquid_l3_module.cu"
)
_KERNELS = ("u8_u8", "u8_f32", "u8_bf16", "u16_u16", "u16_f32", "u16_bf16")
_STEPS = ("u8_u8_sequential", "u8_u8_unpack", "u8_u8_predict")


class SourceTest(absltest.TestCase):
  def test_is_in_one_piece(self):
    text = _SOURCE.read_text()
    self.assertEmpty(re.findall(r'^\s*#\s*include\s+"', text, re.MULTILINE))
    for kernel in (*_KERNELS, *_STEPS):
      self.assertIn(f"liquid_l3_{kernel},", text)

  def test_the_compiler_of_run_time_takes_it(self):
    # ptx_test compiles it whole.
    source = _SOURCE.read_bytes()
    nvrtc.compile_source(source, "sm_90", only_read=True)
    with self.assertRaisesRegex(ValueError, '"nothing_like_this" is undefined'):
      wrong = source + b"__device__ int x = nothing_like_this;\n"
      nvrtc.compile_source(wrong, "sm_90", only_read=True)


if __name__ == "__main__":
  absltest.main()
