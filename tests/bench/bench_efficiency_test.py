"""`tools.bench efficiency`: its cells, its section, and the throttled disk."""

import json
import mmap
import os
import pathlib
import time
from unittest import mock

import benches
from absl.testing import absltest

from liquid_tf._measure import throttle
from tools.bench import page


class BenchEfficiencyTest(absltest.TestCase):
  def test_measures_every_cell(self):
    root = pathlib.Path(self.create_tempdir().full_path)
    common = (
      "efficiency",
      "--images=40",
      "--side=64",
      "--batch_size=8",
      "--cache=50%",
      "--rounds=1",
      "--threads=2",
      f"--workdir={root}",
    )
    done = benches.run(*common, "--mixes=1", "--rates=0", f"--output={root}/first.json")
    self.assertEqual(done.returncode, 0, done.stderr)
    done = benches.run(
      *common,
      "--mixes=.25",
      "--rates=0,100",
      "--repeat=2",
      f"--merge={root}/first.json",
      f"--report={root}/page.md",
      "--json",
    )
    self.assertEqual(done.returncode, 0, done.stderr)
    result = json.loads(done.stdout)
    throttled = throttle.why_not() is None
    self.assertEqual(
      [(cell["rate"], cell["raw"]) for cell in result["cells"]],
      [(0, 0.25), (100_000_000, 0.25)][: 1 + throttled],
    )
    if not throttled:
      self.assertEqual(result["skipped"], throttle.why_not())
      self.assertIn(f"left out: {throttle.why_not()}", done.stderr)
    for cell in result["cells"]:
      rate = {name: cell[name]["images_per_s"] for name in ("load", "decode")}
      self.assertEqual(rate[cell["lower"]], min(rate.values()))
      reached = cell["both"]["images_per_s"] / min(rate.values())
      self.assertAlmostEqual(cell["efficiency"], reached)
      self.assertLen(cell["rounds"], 1)
      self.assertEqual(cell["decode"]["disk_bytes_per_s"], 0)
      self.assertGreater(cell["both"]["busy"], 0)
      self.assertGreater(cell["stored_bytes"], 10 * 64 * 64 * 3)
    text = (root / "page.md").read_text()
    # The merged run's row is there, behind the command that measured it.
    self.assertIn("| whole | 100% | 50% | 40 |", text)
    self.assertIn("| whole | 25% | 50% | 80 |", text)
    self.assertIn("--mixes=1 ", text)


class ThrottleTest(absltest.TestCase):
  def test_says_why_not(self):
    folder = pathlib.Path(self.create_tempdir().full_path)
    with mock.patch.object(throttle, "_BLKIO", folder):
      self.assertIn("no version 1 blkio cgroup", throttle.why_not())
      with self.assertRaisesRegex(OSError, "no version 1 blkio cgroup"):
        throttle.Throttle(folder, 1)

  def test_holds_reads_to_the_rate(self):
    if throttle.why_not():
      self.skipTest(throttle.why_not())
    file = self.create_tempfile(content=b"x" * (8 << 20)).full_path
    try:
      device = os.open(file, os.O_RDONLY | os.O_DIRECT)
    except OSError:
      self.skipTest("this file system has no O_DIRECT")
    self.addCleanup(os.close, device)
    os.fsync(device)
    group = pathlib.Path("/proc/self/cgroup")
    before = group.read_text()
    buffer = mmap.mmap(-1, 8 << 20)
    with throttle.Throttle(file, 16 << 20):
      self.assertIn(f"liquid_bench_{os.getpid()}", group.read_text())
      start = time.monotonic()
      os.preadv(device, [buffer], 0)
      seconds = time.monotonic() - start
    self.assertGreater(seconds, 0.25)  # Half a second at the rate.
    self.assertEqual(group.read_text(), before)


class PageTest(absltest.TestCase):
  def test_writes_a_section_in_its_place(self):
    path = pathlib.Path(self.create_tempdir().full_path, "page.md")
    page.write(path, page.Section("First", "one"))
    page.write(path, page.Section("Second", "two\n"))
    page.write(path, page.Section("First", "\nthree\n\n### part\n"))
    wanted = "# Benchmarks\n\n## First\n\nthree\n\n### part\n\n## Second\n\ntwo\n"
    self.assertEqual(path.read_text(), wanted)
    page.write(path, page.Section("Second", "two"))
    self.assertEqual(path.read_text(), wanted)


if __name__ == "__main__":
  absltest.main()
