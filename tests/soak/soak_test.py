"""A minute's part of the soak test: kills, resumes, churn, and what it reports."""

import json
import os
import pathlib
import subprocess
import sys

from absl.testing import absltest


class SoakTest(absltest.TestCase):
  def test_a_minute(self):
    done = subprocess.run(
      [
        sys.executable,
        str(pathlib.Path(__file__).absolute().with_name("soak.py")),
        # Of a size that shows: several times the smaller budget, in batches of 7 MB.
        *("--minutes=0.9", "--budgets=16MiB,64MiB", "--images=240", "--side=384"),
        *("--batch_size=16", "--pause=0.01", "--kill_every=4"),
      ],
      env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
      capture_output=True,
      text=True,
      timeout=240,
    )
    # Too short for a slope: what it says of growth is not looked at.
    self.assertIn(done.returncode, (0, 1), done.stderr)
    self.assertNotEmpty(done.stdout, done.stderr)
    reports = json.loads(done.stdout)["budgets"]
    self.assertEqual([r["budget"] for r in reports], ["16MiB", "64MiB"])
    self.assertGreater(sum(report["kills"] for report in reports), 0)
    for report in reports:
      self.assertGreater(report["epochs"], 2)
      self.assertEqual(report["differing"], [])
      self.assertLess(report["largest_less_bound"], 0)


if __name__ == "__main__":
  absltest.main()
