"""The first examples run as printed, and the README's links lead somewhere."""

import collections
import json
import pathlib
import re
import shlex

import keras
import pages
from absl.testing import absltest

from liquid_tf.cli import main
from liquid_tf.cli.demo import images

# The checkout, whose other files the links name.
_ROOT = pathlib.Path(__file__).resolve().parent.parent


class ReadmeTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.text = (_ROOT / "README.md").read_text()

  def _run(self, page: str, source: str, names=None) -> str:
    """What a page prints where it finds photographs in a folder."""
    folder = pathlib.Path(self.create_tempdir().full_path)
    images.make(folder / source, side=128, count=160)
    [(_, printed)] = pages.run(_ROOT / page, folder, names)
    return printed

  def test_example_runs_as_printed(self):
    [example] = pages.blocks(self.text)
    lines = [line for line in example.code.splitlines() if line.strip()]
    self.assertLessEqual(len(lines), 12)
    printed = self._run("README.md", "demo_data/photos")
    self.assertIn("Epoch 3/3", printed)
    # Three epochs of each format's samples in the split.
    self.assertIn("'samples': 258", printed)
    self.assertIn("'samples': 174", printed)

  def test_example_of_the_start_page_runs_as_printed(self):
    layers = keras.layers
    model = keras.Sequential(
      [layers.Rescaling(1 / 255), layers.GlobalAveragePooling2D(), layers.Dense(8)]
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("adam", loss)
    printed = self._run("docs/index.md", "photos", {"model": model})
    self.assertIn("Epoch 3/3", printed)
    self.assertRegex(printed, r"val_loss.*\n.* is the limit.*\n\Z")

  def test_says_how_much_faster_it_is_and_when_not_to_use_it(self):
    result = json.loads((_ROOT / "docs/benchmarks/compare.json").read_text())
    for pair in result["pairs"]:
      if pair["peer"] == "stock":
        self.assertIn(f"{pair['ratio']:.2f} times", self.text, pair["format"])
    self.assertIn("**When not to use it.**", self.text)
    self.assertIn("pip install -e .", self.text)

  def test_figures_beside_other_loaders_are_those_measured(self):
    text = (_ROOT / "docs/which_loader.md").read_text()
    rows = json.loads((_ROOT / "docs/benchmarks/recipe.json").read_text())["rows"]
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
      path = _ROOT / f"docs/benchmarks/papers/liquid-6-{files}.json"
      for name, part in json.loads(path.read_text())["parts"].items():
        mix, sides = part["result"]["advised"], part["result"]["sides"]
        shares = ", ".join(f"{key} {share:.0%}" for key, share in mix.items())
        ours = sides["mix"] if "mix" in sides else sides[next(iter(mix))]
        figures = (ours, sides["tf.data"], sides["dali"])
        rates = (f"{side['median']:,.0f}" for side in figures)
        self.assertIn(f"| {' | '.join((name, shares, *rates))} |", text)

  def test_figures_of_a_gpu_are_those_measured(self):
    text = (_ROOT / "docs/gpu.md").read_text()
    found = json.loads((_ROOT / "docs/benchmarks/gpu.json").read_text())
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
    result = json.loads((_ROOT / "docs/benchmarks/recipe.json").read_text())
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
    for ratio in (
      f"{jpeg['median'] / best['median']:.2f} times as many images a second as with",
      f"{jpeg['median'] / stock['median']:.2f} times as many as with tf.data",
      f"{l3['median'] / best['median']:.2f} times as fast as with FFCV",
      f"{l3['bytes'] / jpeg['bytes']:.1f} times the space",
    ):
      self.assertIn(ratio, " ".join(sentences.split()))

  def test_links_lead_to_files(self):
    links = re.findall(r"\]\(([^)#]+)\)", self.text)
    self.assertNotEmpty(links)
    self.assertEmpty([link for link in links if not (_ROOT / link).exists()])

  def test_named_commands_and_flags_exist(self):
    text = (_ROOT / "docs" / "commands.md").read_text()
    rows = re.findall(r"^\| (`[^|]*`) \|[^|]*\| ([^|]*)\|", text, re.M)
    named = set()
    for names, flags in rows:
      for name in re.findall(r"`([a-z -]+)", names):
        command = " ".join(name.split()[: 2 if name.startswith("bench") else 1])
        named.add(command)
        values = main.COMMANDS[command].load().flags
        for flag in re.findall(r"--(\w+)", flags):
          self.assertIn(flag, values, f"{command} --{flag}")
    self.assertEqual(named, set(main.COMMANDS))

  def test_every_command_of_the_pages_parses(self):
    files = [_ROOT / "README.md", *(_ROOT / "docs").rglob("*.md")]
    lines = [
      line.replace("\\\n", " ")
      for page in files
      for line in re.findall(
        r"^(?:python -m tools\.|liquid-tf )((?:.*\\\n)*.*)$", page.read_text(), re.M
      )
    ]
    self.assertGreater(len(lines), 20)
    for line in lines:
      with self.subTest(line):
        words = line.split()
        name = " ".join(words[: 2 if words[0] == "bench" else 1])
        values = main.COMMANDS[name].load().flags
        for word in shlex.split(line, comments=True):
          if word.startswith("--"):
            flag = word[2:].partition("=")[0]
            self.assertTrue(flag in values or flag.removeprefix("no") in values, flag)


if __name__ == "__main__":
  absltest.main()
