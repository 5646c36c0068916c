"""The inspect tool: exit codes, problems, JSON, one sample."""

import json
import os
import pathlib
import subprocess
import sys

import commands
import numpy as np
from absl.testing import absltest
from PIL import Image

from liquid_tf._convert.convert import convert


class InspectToolTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.root = self.create_tempdir().full_path
    self.dataset = f"{self.root}/dataset"
    random = np.random.default_rng(0)
    self.images = random.integers(0, 256, (6, 24, 20, 3), np.uint8)
    for i, pixels in enumerate(self.images):
      folder = pathlib.Path(self.root, "source", "a")
      folder.mkdir(parents=True, exist_ok=True)
      Image.fromarray(pixels).save(folder / f"{i}.png")
    convert(f"{self.root}/source", self.dataset, "png:1,raw:1", progress=False)

  def _run(self, *arguments: str, tool: str = "inspect") -> commands.Done:
    return commands.run(tool, *arguments)

  def test_a_sound_dataset(self):
    done = self._run(self.dataset, "--json", "--verify")
    self.assertEqual(done.returncode, 0, done.stderr)
    result = json.loads(done.stdout)
    for key in ("formats", "mix", "samples", "bytes", "problems"):
      self.assertIn(key, result)
    self.assertEqual(result["samples"], 6)
    self.assertEqual(result["verified"], 6)
    self.assertEqual(result["problems"], [])
    self.assertIn("6 samples (train 6)", done.stderr)
    self.assertRegex(done.stderr, r"class +samples\n0 a +6\n")

  def test_greetings_of_tensorflow_are_there_only_for_who_asks(self):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    environment.pop("TF_CPP_MIN_LOG_LEVEL", None)
    command = [sys.executable, "-m", "liquid_tf.cli.main", "inspect", self.dataset]
    # Without --verify it needs no TensorFlow.
    for words, asked in (
      (["--verify"], {}),
      (["--verify"], {"TF_CPP_MIN_LOG_LEVEL": "0"}),
      ([], {"TF_CPP_MIN_LOG_LEVEL": "0"}),
    ):
      done = subprocess.run(
        [*command, *words],
        env=environment | asked,
        capture_output=True,
        text=True,
        timeout=300,
      )
      self.assertEqual(done.returncode, 0, done.stderr)
      greets = bool(words and asked)
      self.assertEqual("cpu_feature_guard" in done.stderr, greets, done.stderr)

  def test_problems_end_with_1(self):
    shard = f"{self.dataset}/raw-00000-of-00001.rec"
    with open(shard, "r+b") as file:
      file.seek(100)
      byte = file.read(1)[0]
      file.seek(100)
      file.write(bytes([byte ^ 1]))
    self.assertEqual(self._run(self.dataset).returncode, 0)
    done = self._run(self.dataset, "--verify", "--json")
    self.assertEqual(done.returncode, 1)
    [problem] = json.loads(done.stdout)["problems"]
    self.assertIn(f"{shard}, record 0 (sample ", problem)
    self.assertIn(problem, done.stderr)
    done = self._run(f"{self.root}/source")
    self.assertEqual(done.returncode, 1)
    self.assertIn("is not a Liquid dataset", done.stderr)
    self.assertNotIn("Traceback", done.stderr)

  def test_one_sample(self):
    exported = f"{self.root}/x.png"
    done = self._run(self.dataset, "--sample=4", f"--export={exported}", "--json")
    self.assertEqual(done.returncode, 0, done.stderr)
    [encoding] = json.loads(done.stdout)["encodings"]
    self.assertEqual(encoding["sample"], 4)
    self.assertEqual((encoding["label"], encoding["class"]), (0, "a"))
    height, width = self.images[4].shape[:2]
    self.assertRegex(
      done.stderr,
      rf"sample 4: a/\S+, split train, label a, {height}x{width} pixels, 3 x 8 bits\n",
    )
    np.testing.assert_array_equal(np.asarray(Image.open(exported)), self.images[4])

  def test_wrong_flags_end_with_2(self):
    for arguments in (
      [],
      [self.dataset, "other"],
      [self.dataset, "--sample=6"],
      [self.dataset, "--sample=-1"],
      [self.dataset, "--export=x.png"],
      [self.dataset, "--verfy"],
    ):
      with self.subTest(str(arguments)):
        done = self._run(*arguments)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertNotIn("Traceback", done.stderr)

  def test_scan_groups_of_a_pcr(self):
    path, plot = f"{self.root}/pcr", f"{self.root}/groups.png"
    done = self._run(
      f"--input={self.root}/source",
      f"--output={path}",
      "--mix=pcr:1",
      "--pcr_images=4",
      "--pcr_groups=1,5,10",
      tool="convert",
    )
    self.assertEqual(done.returncode, 0, done.stderr)
    self.assertLen(list(pathlib.Path(path).glob("*.pcr")), 2)
    done = self._run(path, f"--plot={plot}")
    self.assertEqual(done.returncode, 0, done.stderr)
    self.assertRegex(done.stderr, r"(?s)pcr scan group.*\n3 .*100\.0%.*1\.0000")
    with Image.open(plot) as image:
      # Axes, bars and a line: more than one colour, and not a stub.
      self.assertGreater(len(image.convert("RGB").getcolors(1 << 24)), 10)
      self.assertGreater(min(image.size), 300)


if __name__ == "__main__":
  absltest.main()
