"""What the kernels take of a multiprocessor does not grow."""

import os
import pathlib
import pipes
import shutil
import subprocess
import tempfile
import unittest
from typing import NamedTuple

import count
import interpreted
from absl.testing import absltest, parameterized

_NVCC = os.environ.get("LIQUID_NVCC") or shutil.which("nvcc")
_NVDISASM = os.environ.get("LIQUID_NVDISASM") or shutil.which("nvdisasm")


class Most(NamedTuple):
  """Upper bounds; of instructions of warps, for as many pixels as a patch of 64x64."""

  ptx: int
  code: int  # of machine code, by all pipes: a warp starts one a cycle at best
  alu: int  # of these, by the pipe for integers, which takes two cycles
  fma: int


# Of the portrait's middle; what was counted, and up to a tenth more. Make them less.
_MOST = (
  (
    count.Case("l3 v2", "u8_u8"),
    Most(7_400, 5_500, 2_750, 1_800),
  ),
  (
    count.Case("l3 v2", "u8_f32"),
    Most(16_000, 21_000, 6_750, 7_750),
  ),
  (
    count.Case("l3 v2", "u8_bf16"),
    Most(23_700, 27_000, 11_700, 7_900),
  ),
  (
    count.Case("l3-compact", "u8_u8"),
    Most(30_000, 24_100, 13_400, 5_600),
  ),
  (
    count.Case("l3 v1", "u8_u8"),
    Most(103_400, 102_600, 46_300, 23_400),
  ),
)


# Bytes that are stored and loaded, of kernels that spill: what nvcc 13 and NVRTC 12.9
# said, and a tenth more. No kernel takes more than 80 registers. Make them less.
_SPILLS_OF_NVCC = {
  "l3_compact_u16_f32": 26,
  "l3_compact_u8_bf16": 88,
  "l3_compact_u8_f32": 101,
  "l3_v1_u8_f32": 26,
  "l3_v2_u16_bf16": 26,
  "l3_v2_u16_f32": 26,
  "l3_v2_u8_bf16": 52,
  "l3_v2_u8_f32": 13,
}
_SPILLS_OF_NVRTC = {
  "l3_compact_u16_f32": 17,
  "l3_compact_u8_bf16": 286,
  "l3_compact_u8_f32": 140,
  "l3_compact_u8_u8": 83,
  "l3_v2_u8_bf16": 211,
  "l3_v2_u8_f32": 184,
  "l3_v2_u8_u8": 35,
}


class CountTest(parameterized.TestCase):
  @parameterized.parameters(*_MOST)
  def test_kernel_takes_no_more(self, case, most):
    # One patch, or as many as a warp of version 2 does.
    side = 64 if case.stored == "l3 v1" else 128
    patches = side * side // count.PATCH
    kernels = count.run(count.portrait(side), case)
    code, _ = count.compiled()
    self.assertLessEqual(kernels.issued, patches * most.ptx)
    self.assertGreater(kernels.issued, 0.75 * patches * most.ptx)
    by_ptx = pipes.of_ptx(kernels.counts)
    self.assertGreater(by_ptx["alu"], by_ptx["lsu"])
    if not _NVDISASM:
      self.skipTest("there is no nvdisasm: machine code is not counted")
    by_code = code.of_machine_code(kernels.counts, _NVDISASM)
    self.assertLessEqual(sum(by_code.values()), patches * most.code)
    self.assertLessEqual(by_code["alu"], patches * most.alu)
    self.assertLessEqual(by_code["fma"], patches * most.fma)
    # The last compiler spills, but reads and writes no memory less.
    self.assertBetween(by_code["lsu"], 0.85 * by_ptx["lsu"], 1.35 * by_ptx["lsu"])

  def test_every_kernel_tells_what_it_takes(self):
    code, program = count.compiled()
    names = {f"liquid_l3_{kind}_u8_u8" for kind in ("v2", "compact", "v1", "raw")}
    self.assertContainsSubset(names, code.resources)
    for name in code.resources:
      self.assertEqual(program.kernel(name).name, name)
    self._check_resources(code.resources, _SPILLS_OF_NVRTC)

  @unittest.skipUnless(_NVCC, "there is no nvcc")
  def test_what_kernels_take_with_nvcc(self):
    with tempfile.TemporaryDirectory() as folder:
      source = pathlib.Path(folder) / "module.cu"
      source.write_bytes(interpreted.source())
      options = ["-std=c++17", "-O3", "-arch=sm_90", "-Xptxas=-v", "-cubin"]
      done = subprocess.run(
        [_NVCC, *options, "-o", source.with_suffix(".cubin"), source],
        check=True,
        capture_output=True,
        text=True,
      )
    self._check_resources(pipes.resources(done.stderr), _SPILLS_OF_NVCC)

  def _check_resources(self, resources, spills):
    self.assertContainsSubset({f"liquid_{name}" for name in spills}, resources)
    for name, taken in resources.items():
      with self.subTest(name):
        self.assertBetween(taken["registers"], 16, 80)
        most = spills.get(name.removeprefix("liquid_"), 0)
        self.assertLessEqual(taken["spills"], most)


class PipesTest(absltest.TestCase):
  def test_names(self):
    self.assertEqual(pipes._pipe("mad.lo.s32", pipes._PTX), "fma")
    self.assertEqual(pipes._pipe("ld.shared.v4.u32", pipes._PTX), "lsu")
    self.assertEqual(pipes._pipe("lop3.b32", pipes._PTX), "alu")
    self.assertEqual(pipes._pipe("cvt.rn.f32.u32", pipes._PTX), "xu")
    self.assertEqual(pipes._pipe("cvt.u32.u64", pipes._PTX), "alu")
    self.assertIsNone(pipes._pipe("mov.u32", pipes._PTX))
    self.assertEqual(pipes._pipe("IMAD.MOV.U32", pipes._SASS), "fma")
    self.assertEqual(pipes._pipe("IDP.2A.LO.U16.U8", pipes._SASS), "fma")
    self.assertEqual(pipes._pipe("UIADD3", pipes._SASS), "uniform")
    self.assertEqual(pipes._pipe("LDGSTS.E", pipes._SASS), "lsu")
    self.assertEqual(pipes._pipe("LDC.64", pipes._SASS), "control")
    with self.assertRaisesRegex(ValueError, "which pipe"):
      pipes._pipe("HMMA", pipes._SASS)


if __name__ == "__main__":
  absltest.main()
