"""Studies begin: what they import is there, and their flags are described."""

import os
import pathlib
import subprocess
import sys

from absl.testing import absltest, parameterized

_FOLDER = pathlib.Path(__file__).resolve().parent
# The others are what one of them imports, and this test.
_STUDIES = sorted(path.name for path in _FOLDER.glob("*_s*.py"))


class StudiesTest(parameterized.TestCase):
  def test_they_are_here(self):
    self.assertContainsSubset(["auto_mix_study.py", "profile_study.py"], _STUDIES)

  @parameterized.parameters(*_STUDIES)
  def test_help(self, name):
    path = os.pathsep.join([str(_FOLDER), *(p for p in sys.path if p)])
    done = subprocess.run(
      [sys.executable, _FOLDER / name, "--help"],
      env={**os.environ, "PYTHONPATH": path},
      capture_output=True,
      text=True,
      timeout=100,
    )
    self.assertNotIn("Traceback", done.stderr)
    summary = (_FOLDER / name).read_text().split('"""')[1].splitlines()[0]
    self.assertIn(summary, done.stdout + done.stderr)


if __name__ == "__main__":
  absltest.main()
