"""`tools.bench access`: what it measures, and what it says."""

import json
import shutil
from unittest import mock

import benches
import runs
from absl.testing import absltest

from tools.bench import access, disk


class BenchAccessTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.path = runs.make(self.create_tempdir().full_path, "raw:1,png:1")

  def test_reads_from_memory_and_the_disk(self):
    done = benches.run("access", f"--dataset={self.path}", "--rounds=2", "--json")
    self.assertEqual(done.returncode, 0, done.stderr)
    result = json.loads(done.stdout)
    self.assertEqual(result["reads"], 100)
    for key in ("memory", "filling", "disk", "memory_cpu_us"):
      self.assertLen(result[key], 2)
      self.assertGreater(min(result[key]), 0)
    self.assertEqual("ratios" in result, shutil.which("fio") is not None)
    self.assertIn("from memory: ", done.stderr)

  def test_without_fio(self):
    said = []
    with mock.patch.object(shutil, "which", return_value=None):
      result = access.bench(self.path, rounds=1, reads=7, say=said.append)
    self.assertEqual(result["reads"], 7)
    self.assertEqual(result["fio"], [])
    self.assertEqual(result["skipped"], "fio is not installed")
    self.assertEqual(said[0], "nothing to compare with: fio is not installed")
    self.assertStartsWith(said[1], "7 reads of ")
    self.assertNotIn("fio", "".join(said[1:]))

  def test_fio_reads_records_of_the_same_size_once(self):
    with (
      mock.patch.object(shutil, "which", return_value="fio"),
      mock.patch.object(disk.subprocess, "run") as run,
    ):
      read = {"total_ios": 50, "runtime": 100}
      run.return_value.returncode = 0
      run.return_value.stdout = json.dumps({"jobs": [{"read": read}]})
      result = access.bench(self.path, rounds=1, reads=50, say=lambda text: None)
    (command,) = run.call_args.args
    self.assertIn("--bs=4096", command)
    self.assertIn("--direct=1", command)
    self.assertIn("--iodepth=1", command)
    self.assertIn("--number_ios=50", command)
    self.assertEqual(result["fio"], [500.0])
    for name in ("filling", "disk"):
      self.assertEqual(result["ratios"][name], result[name][0] / 500)

  def test_remote_datasets_are_refused(self):
    done = benches.run("access", f"--dataset=file://{self.path}")
    self.assertEqual(done.returncode, 2, done.stderr)
    self.assertIn("must be a local folder", done.stderr)


if __name__ == "__main__":
  absltest.main()
