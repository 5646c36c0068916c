"""Conversion by Apache Beam: the bytes of a conversion without it, whatever happens."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

import photos
from absl.testing import absltest, parameterized

from liquid_tf._convert import plan
from liquid_tf._convert.convert import convert
from liquid_tf.errors import ConvertError

try:
  import apache_beam
except ImportError:
  apache_beam = None

_MIX = "png:5,raw:3,pcr:1"
_OPTIONS = {
  "shard_size": 65536,
  "encoders": {"pcr": {"images": 8}},
  "on_error": "skip",
  "progress": False,
}


def _direct(workers: int, mode: str) -> list[str]:
  return [
    "--runner=DirectRunner",
    f"--direct_num_workers={workers}",
    f"--direct_running_mode={mode}",
  ]


def _tool(*flags: str) -> subprocess.Popen:
  return subprocess.Popen(
    [sys.executable, "-m", "tools.convert", *flags],
    env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    stdout=subprocess.PIPE,
    stderr=subprocess.PIPE,
    text=True,
  )


class WithoutBeamTest(absltest.TestCase):
  def test_says_what_to_install(self):
    if apache_beam is not None:
      self.skipTest("Apache Beam is there")
    with self.assertRaisesRegex(ImportError, 'pip install "apache-beam>='):
      convert("nowhere", "nothing", _MIX, workers=[])


class ArgumentsTest(parameterized.TestCase):
  @parameterized.parameters("--runner=DirectRunner", 2.5, ([2],), 0)
  def test_workers_are_a_number_or_flags(self, workers):
    with self.assertRaisesRegex(ValueError, r"workers \(.*\) must be"):
      convert("nowhere", "nothing", _MIX, workers=workers)


@unittest.skipIf(apache_beam is None, "Apache Beam is not installed")
class BeamTest(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    folder = tempfile.TemporaryDirectory()
    cls.addClassCleanup(folder.cleanup)
    cls.source, wanted = f"{folder.name}/source", f"{folder.name}/wanted"
    photos.class_folders(cls.source, per_class=60, classes=4, sides=(24, 40))
    pathlib.Path(cls.source, "coffee", "bad.png").write_bytes(b"\x89PNG\r\n\x1a\nbad")
    convert(cls.source, wanted, _MIX, **_OPTIONS)
    cls.wanted = photos.files(wanted)

  @parameterized.parameters((1, "in_memory"), (4, "multi_threading"))
  def test_the_same_bytes(self, workers, mode):
    output = self.create_tempdir().full_path
    report = convert(
      self.source, output, _MIX, workers=_direct(workers, mode), **_OPTIONS
    )
    self.assertEqual(photos.files(output), self.wanted)
    self.assertLen(report.skipped, 1)

  def test_killed_and_resumed(self):
    """By the tool, with workers that are processes, in both of its passes."""
    flags = [
      f"--input={self.source}",
      f"--mix={_MIX}",
      "--shard_size=65536",
      "--pcr_images=8",
      "--on_error=skip",
      "--max_skipped=2%",
      "--runner=DirectRunner",
      "--beam_options=--direct_num_workers=2 --direct_running_mode=multi_processing",
    ]
    output = self.create_tempdir().full_path
    for pattern in ("*.scanned.npz", "*.shard.npz"):
      process = _tool(*flags, f"--output={output}", "--existing=resume")
      folder = pathlib.Path(output, "_journal.db-parts")
      while not list(folder.glob(pattern)) and process.poll() is None:
        time.sleep(0.02)
      process.send_signal(signal.SIGKILL)
      process.communicate()
    process = _tool(*flags, f"--output={output}", "--existing=resume", "--json")
    stdout, stderr = process.communicate()
    self.assertEqual(process.returncode, 0, stderr)
    self.assertEqual(json.loads(stdout)["samples"], 240)
    self.assertEqual(photos.files(output), self.wanted)

  def test_what_a_worker_says_is_the_error(self):
    """A file that changes between the passes, which a worker sees."""
    output, source = (self.create_tempdir().full_path for _ in range(2))
    photos.class_folders(source, per_class=4, classes=1, sides=(24, 24))
    [first, second, *_] = sorted(pathlib.Path(source).rglob("*.png"))
    plan_shards = plan.plan_shards

    def change(*arguments):
      first.write_bytes(second.read_bytes())
      return plan_shards(*arguments)

    with mock.patch.object(plan, "plan_shards", change):
      with self.assertRaisesRegex(ConvertError, f"{first.name} has changed since"):
        convert(source, output, _MIX, workers=_direct(1, "in_memory"), **_OPTIONS)


if __name__ == "__main__":
  absltest.main()
