"""The kernels' source in one piece, as a library without compiled ones carries it."""

import os
import pathlib
import re

import nvrtc
from absl.testing import absltest

_SOURCE = (
  pathlib.Path(os.path.abspath(__file__)).parents[3] / "ops/gpu/liquid_l3_module.cu"
)
_KINDS = ("v2", "compact", "v1", "raw")
_JPEG = ("codes", "blocks", "pixels")
_STEPS = ("sequential", "unpack", "predict")


class SourceTest(absltest.TestCase):
  def test_is_in_one_piece(self):
    text = _SOURCE.read_text()
    self.assertEmpty(re.findall(r'^\s*#\s*include\s+"', text, re.MULTILINE))
    for kind in _KINDS:
      self.assertIn(f"LIQUID_L3_KERNELS({kind}, ", text)
    for step in _STEPS:
      self.assertIn(f"LIQUID_L3_KERNEL(v1_u8_u8_{step}, ", text)
    for name in _JPEG:
      self.assertIn(f"LIQUID_JPEG_KERNEL({name}, ", text)
    self.assertIn("LIQUID_IMAGE_KERNELS(u16, ", text)

  def test_the_compiler_of_run_time_takes_it(self):
    # ptx_test compiles it whole.
    source = _SOURCE.read_bytes()
    nvrtc.compile_source(source, "sm_90", only_read=True)
    with self.assertRaisesRegex(ValueError, '"nothing_like_this" is undefined'):
      wrong = source + b"__device__ int x = nothing_like_this;\n"
      nvrtc.compile_source(wrong, "sm_90", only_read=True)


if __name__ == "__main__":
  absltest.main()
