"""`tools.bench constancy`: its figures, its section, and the limited page cache."""

import os
import pathlib
import tempfile

import benches
from absl.testing import absltest, parameterized

from liquid_tf._measure import process
from tools.bench import benchmark, constancy, memory_group


class BenchConstancyTest(parameterized.TestCase):
  def test_measures_every_policy(self):
    # Beside the test, since /tmp may be memory.
    folder = os.environ.get("TEST_TMPDIR", os.getcwd())
    root = self.enter_context(tempfile.TemporaryDirectory(dir=folder))
    result = benchmark.measure(
      constancy.bench,
      root,
      images=240,
      side=96,
      data=None,
      batch_size=16,
      cache="30%",
      epochs=3,
      mixes=["raw:1"],
    )
    rows = {row["policy"]: row for row in result["rows"]}
    self.assertEqual(list(rows), list(constancy.POLICIES))
    for policy, row in rows.items():
      self.assertEqual(row["batches"], 2 * 240 // 16)
      if policy == "page":
        continue
      self.assertAlmostEqual(row["loads"]["mean"], 0.7 * 16, delta=0.1)
      self.assertAlmostEqual(
        row["disk_bytes"]["mean"] * row["batches"] / 2,
        row["epoch_disk_bytes"],
        delta=0.01 * row["epoch_disk_bytes"],
      )
    liquid, minio = rows["liquid"], rows["minio"]
    self.assertLessEqual(liquid["loads"]["deviation"], constancy.MOST_DEVIATION)
    # Small records have many aligned blocks beside them.
    self.assertLessEqual(liquid["bytes_deviation_in_samples"], 0.6)
    self.assertGreater(minio["loads"]["deviation"], 2 * constancy.MOST_DEVIATION)
    section = constancy.section(result).body
    for row in result["rows"]:
      line = f"| {row['mix']} | {row['policy']} | {row['loads']['mean']:.1f} |"
      self.assertIn(line, section)

  def test_two_formats_do_not_step_together(self):
    folder = os.environ.get("TEST_TMPDIR", os.getcwd())
    root = self.enter_context(tempfile.TemporaryDirectory(dir=folder))
    result = constancy.bench(
      root,
      images=240,
      side=96,
      data=None,
      batch_size=16,
      cache="30%",
      epochs=3,
      mixes=["raw:1,bmp:1"],
      policies=["liquid"],
    )
    (row,) = result["rows"]
    self.assertLessEqual(row["loads"]["max"], row["loads"]["min"] + 1)
    self.assertLessEqual(row["loads"]["deviation"], constancy.MOST_DEVIATION)
    # Small records have many aligned blocks beside them.
    self.assertLessEqual(row["bytes_deviation_in_samples"], 0.6)

  @parameterized.parameters("auto", "500000", 500000, 0, "1GiB", "101%", "%", "many")
  def test_a_cache_that_is_no_share_is_refused(self, cache):
    settings = {"side": 96, "data": None, "batch_size": 16, "epochs": 3}
    root = self.create_tempdir().full_path
    with self.assertRaisesRegex(ValueError, r"cache \(.*\) must be a share such as"):
      constancy.bench(root, images=240, cache=cache, mixes=[], **settings)

  def test_photographs_that_come_along_have_a_largest_side(self):
    settings = {"data": None, "batch_size": 1, "epochs": 3, "mixes": ["raw:1"]}
    root = self.create_tempdir().full_path
    with self.assertRaisesRegex(ValueError, r"side \(1024\) must be at most \d+, or "):
      constancy.bench(root, images=2, side=1024, cache="30%", **settings)

  def test_a_cache_that_is_no_share(self):
    done = benches.run("constancy", "--cache=auto")
    self.assertEqual(done.returncode, 2, done.stderr)
    self.assertIn('cache ("auto") must be a share', done.stderr)


class MemoryGroupTest(absltest.TestCase):
  def test_limits_the_page_cache(self):
    reason = memory_group.why_not()
    if reason:
      self.skipTest(reason)
    with memory_group.MemoryGroup() as group:
      folder = os.environ.get("TEST_TMPDIR", os.getcwd())
      with tempfile.TemporaryDirectory(dir=folder) as root:
        path = pathlib.Path(root, "file")
        path.write_bytes(bytes(32 << 20))
        process.drop_from_page_cache(root)
        before = process.disk_bytes()
        path.read_bytes()
        if process.disk_bytes() == before:
          self.skipTest(f"{folder} is no disk: the kernel counts no reads")
        before = process.disk_bytes()
        path.read_bytes()
        self.assertEqual(process.disk_bytes(), before)
        group.limit(group.own_bytes() + (8 << 20))
        for _ in range(2):
          before = process.disk_bytes()
          with path.open("rb", buffering=0) as file:
            while file.read(1 << 20):
              pass
        # Of 32 MiB, in order, 8 MiB hold nothing that comes again.
        self.assertGreater(process.disk_bytes() - before, 16 << 20)


if __name__ == "__main__":
  absltest.main()
