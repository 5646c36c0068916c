"""`tools.bench recipe`: every contestant has a row, and all do the same."""

import json
import os
import pathlib
import random
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

import benches
from absl.testing import absltest, parameterized
from PIL import Image

from liquid_tf._measure import fresh
from liquid_tf.cli import wheel_images
from tools.bench import (
  benchmark,
  imagenet,
  imagenet_loader,
  peers,
  recipe,
  recipe_report,
  recipe_sets,
  window,
)

_PYTHONS = {
  name: os.environ.get(f"LIQUID_{name.upper()}_PYTHON")
  for name, peer in peers.PEERS.items()
  if peer.script
}

_SIZES = ((300, 260), (240, 330), (280, 280))


def _make(folder: pathlib.Path, count: int) -> None:
  """Writes JPEG files of several sizes, one of them gray, and a PNG."""
  photographs = list(wheel_images.wheel_photographs().values())
  for i in range(count):
    width, height = _SIZES[i % len(_SIZES)]
    image = Image.fromarray(photographs[i % len(photographs)])
    image.crop((0, 0, width, height)).save(folder / f"{i}.jpg", quality=95)
  image.convert("L").save(folder / "gray.jpg")
  image.save(folder / "other.png")


def _bench(folder: pathlib.Path, workdir: str, **arguments) -> dict:
  given = {
    "batch_size": 8,
    "epochs": 2,
    "rounds": 1,
    "threads": 2,
    **arguments,
  }
  return benchmark.measure(recipe.bench, workdir, input=folder, **given)


class BenchRecipeTest(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    folder = tempfile.TemporaryDirectory()
    cls.addClassCleanup(folder.cleanup)
    cls.folder = pathlib.Path(folder.name)
    _make(cls.folder, 10)

  def test_every_contestant_has_a_row(self):
    workdir = self.create_tempdir().full_path
    with benches.here():
      result = _bench(self.folder, workdir, images=18, pythons={"dali": sys.executable})
    self.assertEqual((result["images"], result["distinct"]), (18, 10))
    self.assertEqual(result["left_out"], 2)
    self.assertEqual(set(result["skipped"]), set(_PYTHONS))
    self.assertIn("cannot import nvidia.dali", result["skipped"]["dali"])
    self.assertIn("--ffcv_python", result["skipped"]["ffcv"])
    wanted = {
      (name, loader, face, format_name, stored, dtype)
      for name in ("train", "evaluate")
      for stored in imagenet.STORED
      for loader, face, format_name, dtype in (
        *(("liquid", "dataset", f, d) for f in ("jpeg", "l3") for d in imagenet.TYPES),
        *(("liquid", "loader", f, "float32") for f in ("jpeg", "l3")),
        ("stock", None, "jpeg", "float32"),
      )
    }
    keys = ("recipe", "loader", "face", "format", "stored", "dtype")
    self.assertCountEqual(
      [tuple(row.get(key) for key in keys) for row in result["rows"]], wanted
    )
    for row in result["rows"]:
      self.assertEqual(row["shape"], [8, 224, 224, 3])
      self.assertBetween(row["median"], row["min"], row["max"])
      self.assertGreater(row["min"], 0)
      self.assertGreater(row["cpu_ms"], 0)
      self.assertGreater(row["bytes"], 0)
    self.assertEmpty(result["unlike"])

    section = recipe_report.section(result, "plots/x.svg").body
    self.assertIn("(plots/x.svg)", section)
    for name in result["skipped"]:
      self.assertIn(f"{name} was skipped", section)
    self.assertIn(recipe_report.table(result, "train"), section)
    self.assertIn("18 JPEG files (10 different ones", section)
    # Less than all peers cannot show that the best one is beaten.
    self.assertLen(list(recipe_report.promises(result)), 2)

    self._check_picture(recipe_report.draw(result), result)

    with self.assertRaisesRegex(ValueError, "workdir .* must be empty"):
      _bench(self.folder, workdir, images=17)

  def _check_picture(self, picture: str, result: dict):
    drawn = [row for row in result["rows"] if row["recipe"] == "train"]
    drawn = [r for r in drawn if (r["stored"], r["dtype"]) == ("full", "float32")]
    drawn.sort(key=lambda row: -row["median"])
    root = ElementTree.fromstring(picture)
    space = "{http://www.w3.org/2000/svg}"
    texts = [text.text for text in root.iter(f"{space}text")]
    rates = [text for text in texts if text.replace(",", "").isdigit()]
    self.assertEqual(rates, [f"{row['median']:,.0f}" for row in drawn])
    _, *bars = root.iter(f"{space}rect")
    lengths = [float(bar.get("width")) for bar in bars]
    for row, length in zip(drawn, lengths, strict=True):
      share = row["median"] / drawn[0]["median"]
      self.assertAlmostEqual(length, share * lengths[0], delta=1)

  def test_one_run_of_the_command(self):
    plot = pathlib.Path(self.create_tempdir().full_path, "x.svg")
    done = benches.run(
      *(
        "recipe",
        "--json",
        f"--input={self.folder}",
        "--formats=jpeg",
        "--sizes=full",
        "--recipes=train",
      ),
      *("--epochs=2", "--rounds=1", "--batch_size=4", f"--plot={plot}"),
    )
    self.assertEqual(done.returncode, 0, done.stderr)
    result = json.loads(done.stdout)
    self._check_picture(plot.read_text(), result)
    self.assertLen(result["rows"], 5)
    _, ours, _, by_loader, theirs = result["rows"]
    self.assertEqual((ours["loader"], theirs["loader"]), ("liquid", "stock"))
    self.assertEqual(by_loader["what"], "ours, jpeg, loader")
    self.assertEqual(by_loader["ratios"].keys(), {"full", "same"})
    self.assertIn("uint8", ours["ratios"])
    self.assertAlmostEqual(
      ours["ratios"]["full"]["median"], ours["median"] / theirs["median"]
    )
    self.assertNotIn("ffcv-256", ours["ratios"])
    self.assertIn("revision", result["evidence"])
    for name in _PYTHONS:
      self.assertIn(f"{name} was skipped", done.stderr)

  def test_every_peer_is_told_the_recipe_in_its_own_python(self):
    root = pathlib.Path(self.create_tempdir().full_path)
    answer = {
      "epochs": [{"images": 10, "seconds": 5.0, "cpu_seconds": 4.0}] * 2,
      "shape": [8, 3, 224, 224],
      "dtype": "float32",
      "mean": 9.0,
      "versions": {"it": "1"},
      "settings": "as told",
    }
    pythons = {}
    for name in _PYTHONS:
      python = root / name
      python.write_text(
        f"#!/bin/sh\ncat > {root}/{name}.json\necho '{json.dumps(answer)}'\n"
      )
      python.chmod(0o755)
      pythons[name] = str(python)
    # FFCV's own file, which it would have made.
    (root / "work").mkdir()
    (root / "work" / "full.beton").touch()
    with benches.here():
      result = _bench(
        self.folder,
        str(root / "work"),
        formats=["jpeg"],
        sizes=["full"],
        recipes=["evaluate"],
        pythons=pythons,
      )
    self.assertEmpty(result["skipped"])
    theirs = {row["loader"]: row for row in result["rows"]}
    self.assertEqual(theirs.keys(), {"liquid", *peers.PEERS})
    for name in _PYTHONS:
      self.assertEqual(theirs[name]["median"], 2.0)
      self.assertStartsWith(theirs[name]["what"], peers.PEERS[name].title)
      self.assertEqual(result["peers"][name]["settings"], {"evaluate": "as told"})
      request = json.loads((root / f"{name}.json").read_text())
      self.assertLen(request["files"], 10)
      self.assertEqual(request["recipe"], imagenet.request("evaluate"))
      self.assertEqual(request["threads"], 2)
    # All of them have another mean than ours.
    self.assertLen(result["unlike"], len(_PYTHONS))

  @parameterized.parameters("grain", "spdl")
  def test_a_peer_does_what_ours_does(self, name):
    python = _PYTHONS[name]
    if not python:
      raise unittest.SkipTest(f"LIQUID_{name.upper()}_PYTHON names no Python with it")
    workdir = self.create_tempdir().full_path
    # Whole batches, so that no epoch ends in photographs of the next one.
    given = {"images": 16, "formats": ["jpeg"], "pythons": {name: python}}
    with benches.here():
      result = _bench(self.folder, workdir, **given)
    rows = [row for row in result["rows"] if row["loader"] == name]
    self.assertLen(rows, 4)
    for row in rows:
      self.assertEqual((row["shape"], row["dtype"]), ([8, 224, 224, 3], "float32"))
    self.assertEmpty(result["unlike"])

  def test_the_loader_is_measured_without_tensorflow(self):
    workdir = self.create_tempdir().full_path
    photographs = recipe_sets.prepare(
      self.folder, workdir, images=0, sizes=["full"], workers=2
    )
    request = {
      "path": os.fspath(photographs.dataset("jpeg", "full")),
      "epochs": 2,
      "threads": 1,
      "batch_size": 4,
      "transforms": imagenet.steps("evaluate", "float32"),
    }
    answer = imagenet_loader.apart(**request)
    self.assertEqual(answer["shape"], [4, 224, 224, 3])
    self.assertEqual([epoch["images"] for epoch in answer["epochs"]], [10, 10])
    # This process has it.
    self.assertIn("tensorflow", sys.modules)
    with self.assertRaisesRegex(AssertionError, "TensorFlow is in the process"):
      imagenet_loader._main(request)

  def test_a_wrong_flag(self):
    done = benches.run("recipe", f"--input={self.folder}", "--sizes=512")
    self.assertEqual(done.returncode, 2, done.stderr)
    self.assertIn("sizes (512) must be of full, 256", done.stderr)

  def test_windows_of_peers_are_those_of_the_recipe(self):
    rng = random.Random(0)
    shares, ratios = [], []
    for _ in range(2000):
      left, top, width, height = window.random_window(300, 200, rng)
      self.assertBetween(left, 0, 300 - width)
      self.assertBetween(top, 0, 200 - height)
      shares.append(width * height / 300 / 200)
      ratios.append(width / height)
    self.assertBetween(min(shares), 0.075, 0.09)
    self.assertBetween(max(shares), 0.85, 1)
    self.assertBetween(min(ratios), 0.72, 0.77)
    self.assertBetween(max(ratios), 1.3, 1.38)
    # Nothing of such a ratio fits into a strip.
    self.assertEqual(window.random_window(1000, 10, rng), (495, 0, 10, 10))
    self.assertEqual(window.central_window(320, 256, 224 / 256), (48, 16, 224, 224))

  @parameterized.parameters(
    ({"formats": ["gif"]}, r"formats \(gif\) must be of png"),
    ({"sizes": ["512"]}, r"sizes \(512\) must be of full, 256"),
    ({"recipes": ["test"]}, r"recipes \(test\) must be of train, trivial, "),
    ({"formats": []}, r"formats \(\) must be of"),
    ({"pythons": {"ffcv": "/no/python"}}, r"ffcv_python .* must be a Python"),
  )
  def test_wrong_arguments(self, arguments, message):
    workdir = self.create_tempdir().full_path
    with self.assertRaisesRegex(ValueError, message):
      _bench(self.folder, workdir, **arguments)

  def test_policies_are_of_those_who_have_them(self):
    for name, policy in imagenet.POLICIES.items():
      last = imagenet.steps(name, "uint8")[-1]
      (step,) = fresh.steps([last])
      self.assertEqual(type(step).__name__, policy)
      self.assertEqual(imagenet.request(name)["policy"], policy)
      files = recipe_sets.Photographs(pathlib.Path("x"), 1, 0, {"full": ["a.jpg"]})
      found = dict.fromkeys(peers.PEERS, "python")
      theirs = recipe._theirs(name, files, found, ["full"], {})
      self.assertEqual({one.row["loader"] for one in theirs}, {"dali", "torchvision"})

  def test_a_folder_without_jpegs(self):
    folder = pathlib.Path(self.create_tempdir().full_path)
    Image.new("RGB", (30, 30)).save(folder / "a.png")
    with self.assertRaisesRegex(ValueError, "input .* must hold JPEG"):
      _bench(folder, self.create_tempdir().full_path)

  def test_who_does_something_else_is_named(self):
    row = {"recipe": "evaluate", "what": "ours", "stored": "full", "dtype": "float32"}
    ours = {**row, "shape": [8, 224, 224, 3], "mean": 0.1}
    first = {**ours, "what": "channels first", "shape": [8, 3, 224, 224]}
    smaller = {**ours, "what": "smaller", "shape": [8, 192, 192, 3]}
    raw = {**ours, "what": "not normalised", "mean": 110.0}
    found = recipe._unlike([ours, first, smaller, raw])
    self.assertLen(found, 2)
    self.assertStartsWith(found[0], "evaluate: smaller, full, gives [8, 192")
    self.assertStartsWith(found[1], "evaluate: not normalised, full")


if __name__ == "__main__":
  absltest.main()
