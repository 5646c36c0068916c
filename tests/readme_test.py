"""The front page runs as printed; pages name commands, flags and links that exist."""

import ast
import collections
import json
import math
import os
import pathlib
import re
import subprocess
import sys
from collections.abc import Sequence
from unittest import mock

import commands
import pages
from absl.testing import absltest

from liquid_tf import recordio
from liquid_tf._pipeline import verdict
from liquid_tf._profile import run as profile_run
from liquid_tf._profile import stake
from liquid_tf.cli import main
from liquid_tf.cli.demo import images
from tools.bench.commands import BENCH

# The checkout, whose other files the links name.
_ROOT = pathlib.Path(__file__).resolve().parent.parent


def _pages() -> list[pathlib.Path]:
  return [*_ROOT.glob("*.md"), *(_ROOT / "docs").rglob("*.md")]


class FrontPageTest(absltest.TestCase):
  """A reader's first hour, in an empty folder."""

  def _command(self, words: list[str]) -> None:
    if words[0] == "demo":
      # It has a test of its own. What the pages take from it are the photographs.
      [_, _, folder] = words[1].partition("=")
      images.make(pathlib.Path(folder, "photos"), side=128, count=160)
      return
    brief = ["--trials=2", "--seconds=.05"] if words[0] == "profile" else []
    done = commands.run(*words, *brief)
    self.assertEqual(done.returncode, 0, f"{words}: {done.stderr}")

  def test_runs_from_top_to_bottom(self):
    with (
      # A brief profile beside other tests is not sure of its advice.
      mock.patch.object(profile_run, "MOST_SECONDS", 15.0),
      mock.patch.object(stake, "check", lambda *_: None),
    ):
      [(block, printed)] = pages.run(
        _ROOT / "README.md", self.create_tempdir().full_path, command=self._command
      )
    self.assertLess(len([line for line in block.code.splitlines() if line]), 24)
    self.assertIn("Epoch 3/3", printed)
    first = float(re.findall(r"\bloss: ([\d.]+)", printed)[0])
    # Who guesses among eight classes has ln 8.
    self.assertLess(first, 2 * math.log(8))
    self.assertRegex(printed, r"val_loss.*\n.*\b(limit|few)\b.*\n\Z")

  def test_begins_with_what_sets_up_by_itself(self):
    first, *others = pages.blocks((_ROOT / "README.md").read_text(), "")
    self.assertEqual(first.code, "make demo\nmake test\n")
    self.assertLess(first.line, 16)
    # A wheel beside TensorFlow can do the others, too.
    lines = "".join(block.code for block in others)
    self.assertIn("\n. .venv/bin/activate\n", f"\n{lines}")
    self.assertNotRegex(lines, r"--(report|plot|runner|figures)|s3://")

  def test_the_environment_that_make_sets_up_has_the_command_in_every_folder(self):
    script = pathlib.Path(sys.executable).parent / "liquid-tf"
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    code = "import liquid_tf; print(liquid_tf.__file__)"
    for command in ([script, "--version"], [sys.executable, "-c", code]):
      done = subprocess.run(
        command,
        cwd=self.create_tempdir().full_path,
        env=clean,
        capture_output=True,
        text=True,
      )
      self.assertEqual(done.returncode, 0, done.stderr)
    self.assertTrue(
      os.path.samefile(done.stdout.strip(), _ROOT / "liquid_tf/__init__.py")
    )

  def test_ci_runs_the_test_command_that_the_readme_prints(self):
    [first, *_] = pages.blocks((_ROOT / "README.md").read_text(), "")
    [printed] = [line for line in first.code.splitlines() if "test" in line]
    text = (_ROOT / ".ci" / "run").read_text()
    [loop] = re.findall(r"^for version in .*?^done$", text, re.M | re.S)
    line = r'^  TF_VERSION="\$\{version\}" (.*) </dev/null$'
    tested, stopped = re.findall(line, loop, re.M)
    self.assertEqual((tested, stopped), (printed, "make stop"))


def _ratios(ours: dict, theirs: dict) -> tuple[float, float, float]:
  """Of two rows of a recipe: by the medians, the best epochs, and processor time."""
  return (
    ours["median"] / theirs["median"],
    ours["max"] / theirs["max"],
    theirs["cpu_ms"] / ours["cpu_ms"],
  )


def _range(ratios: Sequence[float]) -> str:
  """The least and the most, or one figure where these are the same."""
  low, high = f"{min(ratios):.1f}", f"{max(ratios):.1f}"
  return low if low == high else f"{low} to {high}"


class ReadmeTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.text = (_ROOT / "README.md").read_text()

  def test_example_of_records_trains_from_the_file(self):
    folder = pathlib.Path(self.create_tempdir().full_path)
    images.make(folder / "photos", side=64, count=20)
    with recordio.Writer(folder / "flowers_train.rec") as writer:
      for key, path in enumerate(sorted((folder / "photos").rglob("*.png"))):
        header = recordio.Header(label=key % 3, id=key)
        writer.write(recordio.pack(header, path.read_bytes()), key)
    [(_, printed)] = pages.run(_ROOT / "docs/formats/recordio.md", folder)
    self.assertIn("Epoch 2/2", printed)

  def test_says_how_much_faster_it_is_and_when_not_to_use_it(self):
    result = json.loads((_ROOT / "tools/bench/results/compare.json").read_text())
    words = " ".join(self.text.split())
    [said] = re.findall(r"\*\*How much faster\?\*\* .*?above", words)
    for pair in result["pairs"]:
      if pair["peer"] == "stock":
        ratios = (pair["ratio"], pair["ratio_best"], pair["ratio_cpu"])
        self.assertIn(f"{_range(ratios)} times", said, pair["format"])
    side, version = result["side"], result["evidence"]["versions"]["tensorflow-cpu"]
    for words in (
      f"On {result['images']} photographs of {side}x{side} pixels",
      f"in batches of {result['batch_size']}, by two threads on two processors",
      f"TensorFlow {version}",
      result["evidence"]["cpu"].partition("(R)")[0],
    ):
      self.assertIn(words, said)
    self.assertEqual((result["threads"], result["evidence"]["cpus"]), (2, 2))
    self.assertIn("**When not to use it.**", self.text)

  def test_figures_beside_other_loaders_are_those_measured(self):
    text = (_ROOT / "docs/which_loader.md").read_text()
    rows = json.loads((_ROOT / "tools/bench/results/recipe.json").read_text())["rows"]
    rates = {
      (row["recipe"], row["what"], row["stored"]): f"{row['median']:,.0f}"
      for row in rows
      if row["dtype"] == "float32"
    }
    for row in rows:
      what, stored, size = row["what"], row["stored"], row["bytes"] / 1e6
      train, evaluate = (rates[r, what, stored] for r in ("train", "evaluate"))
      line = f"| {what} | {stored} | {train} | {evaluate} | {size:.1f} |"
      self.assertIn(line, text)
    for files in ("png", "jpeg"):
      path = _ROOT / f"tools/bench/results/papers/liquid-6-{files}.json"
      for name, part in json.loads(path.read_text())["parts"].items():
        mix, sides = part["result"]["advised"], part["result"]["sides"]
        shares = ", ".join(f"{key} {share:.0%}" for key, share in mix.items())
        ours = sides["mix"] if "mix" in sides else sides[next(iter(mix))]
        figures = (ours, sides["tf.data"], sides["dali"])
        rates = (f"{side['median']:,.0f}" for side in figures)
        self.assertIn(f"| {' | '.join((name, shares, *rates))} |", text)

  def test_figures_of_a_gpu_are_those_measured(self):
    text = (_ROOT / "docs/gpu.md").read_text()
    found = json.loads((_ROOT / "tools/bench/results/gpu.json").read_text())
    self.assertFalse(any(part["failed"] for part in found["checks"].values()))
    rates = collections.defaultdict(list)
    for entry in found["kernels"]:
      if entry["blocks"] != entry["images"]:
        kernel = entry["format"], entry["kernel"], entry["layout"]
        rates[kernel].append(f"{entry['pixel_gb_per_s']:.0f}")
    for name, kernel in {
      "l3": ("l3 v2", "u8_u8", "NHWC"),
      "l3, to float32": ("l3 v2", "u8_f32", "NHWC"),
      "l3-compact": ("l3-compact", "u8_u8", "NHWC"),
      "raw": ("raw", "u8_u8", "NHWC"),
    }.items():
      self.assertIn(f"| {name} | {' | '.join(rates[kernel])} |", text)
    for name, part in (("l3", "l3 v2"), ("l3-compact", "l3-compact")):
      timed = found["tensorflow"][part]
      self.assertEqual(timed["wrong_steps"], 0)
      figures = timed["decode_milliseconds"], *timed["step_milliseconds"].values()
      decode, resident, decoded = (f"{figure:.2f}" for figure in figures)
      self.assertRegex(
        text, rf"\| {name} \| {decode} \| [\d.]+ \| {resident} \| {decoded} \|"
      )
    for key, epochs in found["epochs"]["kept"].items():
      if key.endswith(" gpu"):
        low, high = sorted(run["images_per_s"] for run in epochs[1:])
        self.assertIn(f" | {low:.0f} to {high:.0f} | ", text)

  def test_says_what_its_picture_proves(self):
    self.assertIn("](docs/recipe.svg)", self.text)
    result = json.loads((_ROOT / "tools/bench/results/recipe.json").read_text())
    rows = {
      row["what"]: row
      for row in result["rows"]
      if (row["recipe"], row["stored"], row["dtype"]) == ("train", "full", "float32")
    }
    others = [row for row in rows.values() if row["loader"] != "liquid"]
    best = max(others, key=lambda row: row["median"])
    self.assertStartsWith(best["what"], "FFCV")
    jpeg, l3, stock = (rows[n] for n in ("ours, jpeg", "ours, l3", "tf.data, JPEG"))
    [sentences] = re.findall(
      r"^From JPEG files in memory, .*?\n\n", self.text, re.DOTALL | re.MULTILINE
    )
    at_256 = {
      row["what"]: row
      for row in result["rows"]
      if (row["recipe"], row["stored"], row["dtype"]) == ("train", "256", "float32")
    }
    small = (at_256["ours, jpeg"], at_256["tf.data, JPEG"])
    pixels = rows["ours, raw"]["bytes"] / result["images"] / 3
    evidence = result["evidence"]
    for words in (
      f"{_range(_ratios(jpeg, best))} times as many images a second as with",
      f"{_range(_ratios(jpeg, stock))} times as many as with tf.data",
      f"{_range(_ratios(l3, best))} times as fast as with FFCV",
      f"{l3['bytes'] / jpeg['bytes']:.1f} times the space",
      f"{_range(_ratios(*small))} times as fast as with tf.data, and JPEG that",
      # What they are of.
      f"{result['distinct']} photographs",
      f"{round(pixels, -3):,.0f} on average, which come eight times each",
      f"in batches of {result['batch_size']}; by two threads on two processors of an "
      f"{evidence['cpu']}, with TensorFlow {evidence['versions']['tensorflow-cpu']}",
    ):
      self.assertIn(words, " ".join(sentences.split()))
    self.assertEqual(result["images"], 8 * result["distinct"])
    self.assertEqual((result["threads"], evidence["cpus"]), (2, 2))
    low, *_, high = sorted(_ratios(jpeg, stock))
    said = f"liquid_tf is {high:.1f} times as fast by the medians, but {low:.1f} times"
    other = (_ROOT / "docs/which_loader.md").read_text()
    self.assertIn(said, " ".join(other.split()))
    space = f"takes {l3['bytes'] / jpeg['bytes']:.1f} times the space of JPEG"
    self.assertIn(space, self.text)

  def test_links_lead_to_files(self):
    links = re.findall(r"\]\(([^)#]+)\)", self.text)
    self.assertNotEmpty(links)
    self.assertEmpty([link for link in links if not (_ROOT / link).exists()])

  def test_named_commands_and_flags_exist(self):
    text = (_ROOT / "docs" / "commands.md").read_text()
    parts = text.split("## Benchmarks\n")
    for part, program in zip(parts, (main.LIQUID_TF, BENCH), strict=True):
      rows = re.findall(r"^\| (`[^|]*`) \|[^|]*\| ([^|]*`--[^|]*)\|", part, re.M)
      named = set()
      for names, flags in rows:
        for command in re.findall(r"`([a-z-]+)", names):
          named.add(command)
          values = program.load(command).flags
          for flag in re.findall(r"--(\w+)", flags):
            self.assertIn(flag, values, f"{command} --{flag}")
      self.assertEqual(named, set(program.commands))

  def test_pages_tell_keras_not_to_shuffle(self):
    codes = [path.read_text() for path in (_ROOT / "docs/examples").glob("*.py")]
    for page in _pages():
      codes += [block.code for block in pages.blocks(page.read_text())]
    calls = [
      node
      for code in codes
      for node in ast.walk(ast.parse(code))
      if isinstance(node, ast.Call) and ast.unparse(node.func) == "model.fit"
    ]
    self.assertGreater(len(calls), 12)
    for call in calls:
      self.assertIn("shuffle=False", ast.unparse(call))

  def test_every_verdict_has_a_row_that_says_what_to_do(self):
    text = (_ROOT / "docs/slow.md").read_text()
    rows = re.findall(r"^\| `([a-z-]+)`", text, re.M)
    self.assertContainsSubset(verdict._SAYS, rows)

  def test_pages_write_commands_as_a_wheel_has_them(self):
    for page in _pages():
      if page.name != "CONTRIBUTING.md":
        text = page.read_text()
        found = re.findall(r"-m tools\b(?!\.bench)|\btools\.(?!py|bench)[a-z]+", text)
        self.assertEmpty(found, page)


if __name__ == "__main__":
  absltest.main()
