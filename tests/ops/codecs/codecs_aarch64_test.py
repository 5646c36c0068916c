"""Codecs compile for AArch64. codecs_aarch64.sh also runs their tests there."""

import pathlib
import shutil
import subprocess

from absl.testing import absltest

_COMPILER = "aarch64-linux-gnu-g++"
# The checkout, since the runfiles hold only what a target names.
_ROOT = pathlib.Path(__file__).resolve().parents[3]


@absltest.skipIf(
  shutil.which(_COMPILER) is None,
  f"there is no {_COMPILER}; Debian has it in g++-aarch64-linux-gnu",
)
class CodecsAarch64Test(absltest.TestCase):
  def test_compiles_without_warnings(self):
    folder = self.create_tempdir().full_path
    done = subprocess.run(
      ["tests/ops/codecs/codecs_aarch64.sh", "--compile_only", folder],
      cwd=_ROOT,
      capture_output=True,
      text=True,
    )
    self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
    for source, name in (
      ("l3_v2_neon", "kL3NeonDecoders"),
      ("baseline_neon", "kBaselineNeon"),
    ):
      symbols = subprocess.run(
        ["aarch64-linux-gnu-nm", "-C", f"{folder}/objects/{source}.o"],
        check=True,
        capture_output=True,
        text=True,
      )
      self.assertIn(f"liquid::{name}", symbols.stdout)


if __name__ == "__main__":
  absltest.main()
