"""The convert tool: exit codes, one sentence on stderr, JSON on stdout."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import commands
import numpy as np
from absl.testing import absltest, flagsaver, parameterized
from PIL import Image

from liquid_tf.cli import convert as cli_convert

run = commands.run


def environment() -> dict[str, str]:
  return {
    **os.environ,
    "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
  }


def make_source(root: str, count: int = 6, side: int = 24) -> str:
  random = np.random.default_rng(0)
  for i in range(count):
    folder = pathlib.Path(root, "source", "ab"[i % 2])
    folder.mkdir(parents=True, exist_ok=True)
    pixels = random.integers(0, 256, (side, side, 3), np.uint8)
    Image.fromarray(pixels).save(folder / f"{i:04}.png")
  return f"{root}/source"


class ConvertToolTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.root = self.create_tempdir().full_path
    self.output = f"{self.root}/dataset"

  def test_turns_and_resizes(self):
    source = make_source(self.root)
    path = pathlib.Path(source, "a", "0000.png")
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.open(path).crop((0, 0, 24, 12)).save(path, exif=exif)
    arguments = [f"--input={source}", f"--output={self.output}", "--mix=png:1"]
    done = run("convert", *arguments, "--orient", "--resize_shorter=8", "--verify")
    self.assertEqual(done.returncode, 0, done.stderr)
    data = json.loads(pathlib.Path(self.output, "dataset.json").read_text())
    self.assertEqual(data["features"]["image"]["shape"], [None, 8, 3])
    self.assertTrue(data["geometry"]["orient"])
    self.assertEqual(data["geometry"]["resize"]["shorter"], 8)
    done = run("convert", *arguments, "--resize_longer=8", "--existing=resume")
    self.assertEqual(done.returncode, 1)
    self.assertIn("already holds a dataset with geometry", done.stderr)

  @parameterized.parameters(
    (["--resize_shorter=8", "--resize_longer=9"], "exclude each other"),
    (["--resize_shorter=0"], "--resize_shorter (0) must be a number of pixels"),
    (["--resize_longer=-1"], "--resize_longer (-1) must be a number of pixels"),
  )
  def test_sizes_that_are_refused(self, flags, message):
    source = make_source(self.root)
    done = run(
      "convert", f"--input={source}", f"--output={self.output}", "--mix=png:1", *flags
    )
    self.assertEqual(done.returncode, 2, done.stderr)
    self.assertIn(message, done.stderr)
    self.assertFalse(os.path.exists(self.output))

  def test_makes_a_dataset_and_says_so(self):
    source = make_source(self.root)
    pathlib.Path(source, "a", "bad.png").write_text("no image")
    done = run(
      "convert",
      f"--input={source}",
      f"--output={self.output}",
      "--mix=png:1,raw:1",
      "--on_error=skip",
      "--max_skipped=15%",
      "--json",
      "--verify",
    )
    self.assertEqual(done.returncode, 0, done.stderr)
    report = json.loads(done.stdout)
    self.assertEqual(report["samples"], 6)
    self.assertEqual(
      {n: f["samples"] for n, f in report["formats"].items()}, {"png": 3, "raw": 3}
    )
    self.assertEqual([s["path"] for s in report["skipped"]], ["a/bad.png"])
    self.assertEqual(report["splits"], {"train": 6})
    self.assertEqual(report["classes"], {"a": 3, "b": 3})
    self.assertIn("\nsplits: train 6\n2 classes: a 3, b 3\n", done.stderr)
    self.assertIn("seconds", report)
    self.assertIn("img/s", done.stderr)
    self.assertIn("skipped a/bad.png", done.stderr)
    last = done.stderr.splitlines()[-1]
    self.assertIn("skipped 1 of 7 files or records (14 %)", last)
    again = run(
      "convert", f"--input={source}", f"--output={self.output}", "--mix=raw:1"
    )
    self.assertEqual(again.returncode, 1)
    self.assertEqual(again.stdout, "")
    self.assertIn("already holds a dataset: --existing=replace", again.stderr)
    self.assertNotIn("Traceback", again.stderr)

  def test_a_dry_run_writes_nothing_and_says_what_would_be(self):
    arguments = [f"--input={make_source(self.root)}", f"--output={self.output}"]
    arguments += ["--mix=png:1,raw:1", "--check=pixels", "--dry_run"]
    done = run("convert", *arguments, "--json")
    self.assertEqual(done.returncode, 0, done.stderr)
    self.assertFalse(os.path.exists(self.output))
    report = json.loads(done.stdout)
    self.assertEqual((report["samples"], report["checked"]), (6, 6))
    self.assertEqual(report["formats"]["png"]["samples"], 3)
    self.assertIn("\nsplits: train 6\n2 classes: a 3, b 3\n", done.stderr)
    self.assertIn("6 were encoded, and nothing was written\n", done.stderr)
    done = run("convert", *arguments, "--verify")
    self.assertEqual(done.returncode, 2)

  def test_says_the_first_of_many_classes(self):
    for i in range(10):
      path = pathlib.Path(self.root, "source", f"c{i}", "0.png")
      path.parent.mkdir(parents=True)
      Image.fromarray(np.full((8, 8, 3), i, np.uint8)).save(path)
    pathlib.Path(self.root, "source", "c0", "Thumbs.db").write_bytes(b"\xd0\xcf")
    arguments = [f"--input={self.root}/source", f"--output={self.output}", "--mix=png"]
    done = run("convert", *arguments)
    self.assertEqual(done.returncode, 0, done.stderr)
    self.assertIn(
      "\n10 classes: c0 1, c1 1, c2 1, c3 1, c4 1, c5 1, c6 1, c7 1 and 2 more\n",
      done.stderr,
    )
    self.assertIn("skipped c0/Thumbs.db: is no image, by its name", done.stderr)
    self.assertIn("skipped 1 of 11 files", done.stderr)

  def test_wrong_flags_end_with_2(self):
    source = make_source(self.root)
    good = [f"--input={source}", f"--output={self.output}"]
    for arguments, message in (
      ([*good, "--mix=jpg:1"], "did you mean jpeg?"),
      ([*good, "--profile=none.json"], "--output=none.json` makes it"),
      ([*good, "--mix=raw:1", "--splits=.1"], "--splits: "),
      ([*good, "--mix=raw:1", "--sede=1"], "did you mean --seed?"),
      (good, "mix"),
      (["--mix=raw:1"], "--output and --input must be given"),
      ([*good, "--mix=raw:1", "--verfy"], "did you mean --verify?"),
      ([*good, "--mix=raw:1", "--max-pixels", "9"], "did you mean --max_pixels?"),
      ([*good, "--mix=gif:1"], "must be one of png, jpeg"),
      ([*good, "--mix=raw:1", "--seed=x"], "seed"),
      ([*good, "--mix=raw:1", "--seed=-1"], "--seed (-1) must be"),
      ([*good, "--mix=raw:1", "--existing=no"], "--existing=no: value should be"),
      ([*good, "--mix=raw:1", "--channels=5"], "--channels (5) must be"),
      ([*good, "--mix=raw:1", "--png_level=12"], "--png_level (12) must be"),
      ([*good, "--mix=raw:1", "--max_skipped=5%"], "needs --on_error=skip"),
      (
        [*good, "--mix=raw:1", "--on_error=skip", "--max_skipped=5"],
        "--max_skipped (5) must be",
      ),
      ([*good, "--mix=raw:1", "stray"], "stray"),
      (["--input=", good[1], "--mix=raw:1"], "--input must not be empty"),
    ):
      with self.subTest(message):
        done = run("convert", *arguments)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(message, done.stderr)
        self.assertNotIn("Traceback", done.stderr)
    self.assertFalse(os.path.exists(self.output))

  def test_failed_work_ends_with_1(self):
    done = run(
      "convert", f"--input={self.root}/no", f"--output={self.output}", "--mix=raw:1"
    )
    self.assertEqual(done.returncode, 1)
    self.assertRegex(done.stderr, "must be an existing folder, .*/no: there is no")
    self.assertNotIn("Traceback", done.stderr)
    source = make_source(self.root)
    with open(self.output, "w"):
      pass
    done = run("convert", f"--input={source}", f"--output={self.output}", "--mix=raw:1")
    self.assertEqual(done.returncode, 1)
    self.assertIn("but is a file: choose another folder", done.stderr)

  def test_the_advice_behind_an_interrupt_can_be_followed(self):
    begun = f"{self.root}/dataset.new.tmp/_journal.db"
    for arguments, advice in (
      (["--mix=raw:1"], "run the same command with --existing=resume to go on"),
      (["--mix=raw:1", "--existing=replace"], "run the same command again"),
      (
        ["--mix=raw:1", "--existing=replace", begun],
        "run the same command with --existing=resume in place of --existing=replace "
        "to go on",
      ),
    ):
      if begun in arguments:
        os.mkdir(os.path.dirname(begun))
        pathlib.Path(begun).touch()
      values = cli_convert.COMMAND.flags
      saved = flagsaver.save_flag_values(values)
      values(["c", f"--input={self.root}", f"--output={self.output}", *arguments])
      self.assertEqual(cli_convert.COMMAND.interrupted(), advice)
      flagsaver.restore_flag_values(saved, values)

  @parameterized.parameters(signal.SIGINT, signal.SIGTERM)
  def test_an_interrupt_says_how_to_go_on(self, number):
    source = make_source(self.root, count=300, side=160)
    arguments = [
      sys.executable,
      "-m",
      "tools.convert",
      f"--input={source}",
      f"--output={self.output}",
      "--mix=png:1,webp:1",
      "--png_level=9",
      "--workers=1",
    ]
    process = subprocess.Popen(
      arguments, env=environment(), stderr=subprocess.PIPE, text=True
    )
    for _ in range(2000):
      if os.path.exists(f"{self.output}/_journal.db") or process.poll() is not None:
        break
      time.sleep(0.1)
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    self.assertEqual(process.returncode, 1, errors)
    self.assertIn("interrupted: run the same command with --existing=resume", errors)
    self.assertNotIn("Traceback", errors)
    self.assertNotIn("dataset.json", os.listdir(self.output))
    self.assertEqual(
      [name for name in os.listdir(self.output) if name.endswith(".tmp")], []
    )
    done = run("convert", *arguments[3:], "--existing=resume")
    self.assertEqual(done.returncode, 0, done.stderr)
    self.assertIn("dataset.json", os.listdir(self.output))

  def test_help_is_fine(self):
    done = run("convert", "--help")
    self.assertEqual(done.returncode, 0)
    self.assertIn("--mix", done.stdout)


if __name__ == "__main__":
  absltest.main()
