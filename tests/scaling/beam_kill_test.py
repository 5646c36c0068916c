"""A conversion by Apache Beam that is killed in both of its passes goes on."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest

import beam_test
import photos
from absl.testing import absltest


def _tool(*flags: str) -> subprocess.Popen:
  return subprocess.Popen(
    [sys.executable, "-m", "tools.convert", *flags],
    env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    stdout=subprocess.PIPE,
    stderr=subprocess.PIPE,
    text=True,
  )


@unittest.skipIf(beam_test.apache_beam is None, "Apache Beam is not installed")
class BeamKillTest(absltest.TestCase):
  def test_killed_and_resumed(self):
    """By the tool, with workers that are processes, in both of its passes."""
    source, wanted = beam_test.make(self.create_tempdir().full_path)
    flags = [
      f"--input={source}",
      f"--mix={beam_test.MIX}",
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
    self.assertEqual(photos.files(output), wanted)


if __name__ == "__main__":
  absltest.main()
