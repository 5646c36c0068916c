"""`tools.bench recordio`: what it measures, and what it says."""

import json
import os
import shutil
from unittest import mock

import benches
from absl.testing import absltest


class BenchRecordIOTest(absltest.TestCase):
  def test_reads_and_writes(self):
    folder = self.create_tempdir().full_path
    done = benches.run(
      *("recordio", "--json"),
      f"--workdir={folder}",
      "--rounds=2",
      "--size=4194304",
      "--record_bytes=100000",
    )
    self.assertEqual(done.returncode, 0, done.stderr)
    result = json.loads(done.stdout)
    # 41 records with 8 bytes of header.
    self.assertEqual(result["bytes"], 41 * 100008)
    for entry, other in ((result["read"], "fio"), (result["write"], "dd")):
      self.assertLen(entry["ours"], 2)
      self.assertGreater(min(entry["ours"]), 0)
      self.assertEqual("ratio" in entry, shutil.which(other) is not None)
    self.assertEqual(set(result["parts"]), {"1", "2", "8"})
    self.assertIn("reading: ", done.stderr)
    self.assertIn("writing: ", done.stderr)
    self.assertEmpty(os.listdir(folder))

  def test_without_fio_and_dd(self):
    words = ("--rounds=1", "--size=300000", "--record_bytes=1000", "--json")
    with mock.patch.dict(os.environ, PATH=self.create_tempdir().full_path):
      done = benches.run("recordio", *words)
    self.assertEqual(done.returncode, 0, done.stderr)
    result = json.loads(done.stdout)
    self.assertEqual(result["skipped"], "fio is not installed")
    self.assertNotIn("ratio", result["read"])
    self.assertNotIn("ratio", result["write"])

  def test_wrong_flags(self):
    for flag, message in (("--size=10", "size"), ("--block=1000", "block")):
      done = benches.run("recordio", flag)
      self.assertEqual(done.returncode, 2, done.stderr)
      self.assertIn(message, done.stderr)


if __name__ == "__main__":
  absltest.main()
