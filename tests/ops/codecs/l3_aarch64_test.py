"""L3 compiles for AArch64. l3_aarch64.sh also runs its tests there."""

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
class L3Aarch64Test(absltest.TestCase):
  def test_compiles_without_warnings(self):
    folder = self.create_tempdir().full_path
    done = subprocess.run(
      ["tests/ops/codecs/l3_aarch64.sh", "--compile_only", folder],
      cwd=_ROOT,
      capture_output=True,
      text=True,
    )
    self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
    symbols = subprocess.run(
      ["aarch64-linux-gnu-nm", "-C", f"{folder}/objects/l3_v2_neon.o"],
      check=True,
      capture_output=True,
      text=True,
    )
    self.assertIn("liquid::kL3NeonDecoders", symbols.stdout)


if __name__ == "__main__":
  absltest.main()
