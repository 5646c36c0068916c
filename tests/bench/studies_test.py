"""Studies begin: what they import is there, and their flags are described."""

import contextlib
import io
import json
import os
import pathlib
import runpy
import subprocess
import sys

import runs
from absl.testing import absltest, parameterized

_FOLDER = pathlib.Path(__file__).resolve().parent
# The others are what one of them imports, and tests.
_STUDIES = sorted(
  path.name for path in _FOLDER.glob("*_s*.py") if not path.match("*_test.py")
)


def _help(name: str) -> str:
  """What a study says of itself; for `runs.in_new_process`."""
  sys.path.insert(0, str(_FOLDER))
  sys.argv = [str(_FOLDER / name), "--help"]
  said = io.StringIO()
  with contextlib.redirect_stdout(said), contextlib.suppress(SystemExit):
    runpy.run_path(sys.argv[0], run_name="__main__")
  return said.getvalue()


class StudiesTest(parameterized.TestCase):
  def test_they_are_here(self):
    self.assertContainsSubset(["auto_mix_study.py", "profile_study.py"], _STUDIES)

  @parameterized.parameters(*_STUDIES)
  def test_help(self, name):
    said, _ = runs.in_new_process(_help, name=name)
    summary = (_FOLDER / name).read_text().split('"""')[1].splitlines()[0]
    self.assertIn(summary, said)

  def test_advice_beside_a_busy_process(self):
    output = self.create_tempfile().full_path
    # It runs from end to end; figures of such runs mean nothing: none is refused, nor
    # improved for minutes.
    flags = ["--rate=0", "--times=1", "--images=8", "--side=64", "--seconds=.02"]
    flags += ["--rounds=1", "--trials=2", "--within=1", f"--output={output}"]
    flags += ["--much=1e9", "--most_seconds=20"]
    path = os.pathsep.join([str(_FOLDER), *(p for p in sys.path if p)])
    done = subprocess.run(
      [sys.executable, _FOLDER / "busy_study.py", *flags],
      env={**os.environ, "PYTHONPATH": path},
      capture_output=True,
      text=True,
      timeout=700,
    )
    self.assertIn(done.returncode, (0, 1), done.stderr)
    with open(output) as file:
      (found,) = json.load(file)
    self.assertLen(found["mixes"], 11)
    self.assertLess(found["interval"][0], found["predicted"])
    self.assertGreater(found["interval"][1], found["predicted"])
    self.assertGreater(found["of_best"]["mean"], 0)


if __name__ == "__main__":
  absltest.main()
