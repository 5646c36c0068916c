"""The steps of recipes compile for AArch64; image_aarch64.sh also runs their tests."""

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
class ImageAarch64Test(absltest.TestCase):
  def test_compiles_without_warnings(self):
    done = subprocess.run(
      [
        "tests/ops/image/image_aarch64.sh",
        "--compile_only",
        self.create_tempdir().full_path,
      ],
      cwd=_ROOT,
      capture_output=True,
      text=True,
    )
    self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
  absltest.main()
