"""The demo tool: its figures, its traces on the disk, and a user's own folder."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
from unittest import mock

import commands
import numpy as np
import steady
from absl.testing import absltest
from PIL import Image


class DemoTest(absltest.TestCase):
  def test_photographs_of_the_wheel(self):
    temporary = self.create_tempdir().full_path
    # A profile of a machine that others keep busy may take its five minutes.
    with (
      steady.Machine().timed(),
      mock.patch.object(tempfile, "tempdir", temporary),
    ):
      done = commands.run("demo", "--count=320", "--side=48", "--json")
    self.assertEqual(done.returncode, 0, done.stderr)
    result = json.loads(done.stdout)
    self.assertEqual(result["samples"], 320)
    self.assertEqual(result["classes"], 8)
    self.assertIn("profiling this machine", done.stderr)
    self.assertLessEqual(set(result["mix"]), {"png", "l3-compact", "l3", "raw"})
    self.assertAlmostEqual(sum(result["mix"].values()), 1)
    self.assertLen(result["loss"], 2)
    self.assertLess(result["loss"][1], result["loss"][0])
    self.assertGreater(result["baseline_images_per_s"], 0)
    self.assertGreater(result["liquid_images_per_s"], 0)
    # Each pipeline has its rate, and what limited it.
    self.assertContainsSubset(["png", "raw"], result["pipelines"])
    for found in result["pipelines"].values():
      self.assertGreater(found["images_per_s"], 0)
      self.assertIn(
        found["limit"], ("the disk", "decoding", "the reader of the batches")
      )
    disk = result["disk"]
    self.assertEqual(disk["bytes_per_s"] is None, disk["reason"] is not None)
    self.assertRegex(done.stderr, r"png alone +\d+ ")
    self.assertRegex(done.stderr, r"raw alone +\d+ ")
    self.assertIn("With all images in memory: ", done.stderr)
    left = [n for n in os.listdir(temporary) if n.startswith("liquid_demo_")]
    self.assertEqual(left, [])

  def test_a_folder_of_ones_own(self):
    root = pathlib.Path(self.create_tempdir().full_path)
    random = np.random.default_rng(0)
    for i in range(40):
      shape = (*random.integers(40, 90, 2), 3)
      pixels = random.integers(0, 256, shape, np.uint8)
      path = root / "own" / "ab"[i % 2] / f"{i}.{'jpg' if i % 4 < 2 else 'png'}"
      path.parent.mkdir(parents=True, exist_ok=True)
      Image.fromarray(pixels).save(path)
    (root / "own" / "a" / "broken.png").write_bytes(b"no image")
    arguments = [
      f"--data={root}/own",
      f"--workdir={root}/demo",
      "--side=32",
      "--mix=raw:1",
      "--steps=1",
      "--json",
    ]
    done = subprocess.run(
      [sys.executable, "-m", "tools.demo", *arguments],
      env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
      capture_output=True,
      text=True,
      timeout=200,
    )
    self.assertEqual(done.returncode, 0, done.stderr)
    self.assertIn("broken.png: cannot be decoded", done.stderr)
    result = json.loads(done.stdout)
    self.assertEqual((result["samples"], result["classes"]), (40, 2))
    self.assertEqual(result["mix"], {"raw": 1.0})
    self.assertFalse(result["profiled"])
    self.assertCountEqual(result["pipelines"], ["png", "raw"])
    made = sorted((root / "demo" / "photos").glob("*/*.png"))
    self.assertLen(made, 40)
    with Image.open(made[0]) as image:
      self.assertEqual((image.size, image.mode), ((32, 32), "RGB"))
    self.assertTrue((root / "demo" / "photos.liquid" / "dataset.json").is_file())
    again = commands.run("demo", *arguments)
    self.assertEqual(again.returncode, 2)
    self.assertIn("already has photos", again.stderr)

  def test_wrong_flags_end_with_2(self):
    root = self.create_tempdir().full_path
    for arguments, message in (
      (["--count=1"], "count"),
      (["--mix=gif:1", "--count=8"], "must be one of png"),
      (["--mix=pcr:1", "--count=8"], "must have no pcr"),
      ([f"--data={root}/none"], "must be an existing folder"),
      ([f"--data={root}"], "must hold images"),
      (["x"], '"x" is no flag'),
    ):
      with self.subTest(message):
        done = commands.run("demo", *arguments)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(message, done.stderr)
        self.assertNotIn("Traceback", done.stderr)


if __name__ == "__main__":
  absltest.main()
