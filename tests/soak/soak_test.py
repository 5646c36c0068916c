"""A minute's part of the soak test: kills, resumes, churn, growth, what it reports."""

import json
import os
import pathlib
import signal
import subprocess
import sys
from typing import Any

from absl.testing import absltest

# What half a minute may hide: several batches, which are 7 MB here, beside the noise.
_MOST_GROWTH = 16 << 20


def _grows(report: dict[str, Any]) -> bool:
  return report["growth"] > 4 * report["noise"] + _MOST_GROWTH


class SoakTest(absltest.TestCase):
  def _start(self, *arguments: str) -> subprocess.Popen:
    process = subprocess.Popen(
      [
        sys.executable,
        str(pathlib.Path(__file__).absolute().with_name("soak.py")),
        # Of a size that shows: several times the smaller budget.
        *("--images=240", "--side=384", "--batch_size=16", "--pause=0.01"),
        *arguments,
      ],
      env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
      stdout=subprocess.PIPE,
      stderr=subprocess.PIPE,
      text=True,
    )
    self.enter_context(process)
    # Where this test ends early it ends its own processes too.
    self.addCleanup(process.send_signal, signal.SIGINT)
    return process

  def _end(self, process: subprocess.Popen) -> list[dict[str, Any]]:
    output, errors = process.communicate(timeout=600)
    self.assertNotEmpty(output, errors)
    reports = json.loads(output)["budgets"]
    # It ends as its reports say.
    self.assertEqual(process.returncode, int(not all(r["ok"] for r in reports)), errors)
    return reports

  def test_a_minute(self):
    whole = self._start("--minutes=0.9", "--budgets=16MiB,64MiB", "--kill_every=4")
    leaky = self._start("--minutes=0.6", "--budgets=16MiB", "--leak=3500000")
    reports, (leak,) = self._end(whole), self._end(leaky)
    self.assertEqual([r["budget"] for r in reports], ["16MiB", "64MiB"])
    self.assertGreater(sum(report["kills"] for report in reports), 0)
    for report in reports:
      self.assertGreater(report["epochs"], 1)
      self.assertEqual(report["differing"], [])
      self.assertLess(report["largest_less_bound"], 0)
      self.assertFalse(_grows(report), report)
    # Half a batch that each batch leaves behind is found, by what is looked at above.
    self.assertFalse(leak["ok"])
    self.assertTrue(_grows(leak), leak)


if __name__ == "__main__":
  absltest.main()
