"""`tools.bench recipe`: every contestant has a row, and all do the same."""

import json
import pathlib
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

import benches
from absl.testing import absltest, parameterized
from PIL import Image

from liquid_tf.cli import wheel_images
from tools.bench import benchmark, imagenet, recipe, recipe_report

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
    self.assertEqual(set(result["skipped"]), {"dali", "ffcv", "torchvision"})
    self.assertIn("cannot import nvidia.dali", result["skipped"]["dali"])
    self.assertIn("--ffcv_python", result["skipped"]["ffcv"])
    wanted = {
      (name, loader, format_name, stored, dtype)
      for name in imagenet.RECIPES
      for stored in imagenet.STORED
      for loader, format_name, dtype in (
        *(("liquid", f, d) for f in ("jpeg", "l3") for d in imagenet.TYPES),
        ("stock", "jpeg", "float32"),
      )
    }
    keys = ("recipe", "loader", "format", "stored", "dtype")
    self.assertCountEqual(
      [tuple(row[key] for key in keys) for row in result["rows"]], wanted
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
    self.assertLen(result["rows"], 4)
    ours, theirs = result["rows"][1], result["rows"][3]
    self.assertEqual((ours["loader"], theirs["loader"]), ("liquid", "stock"))
    self.assertAlmostEqual(
      ours["ratios"]["full"]["median"], ours["median"] / theirs["median"]
    )
    self.assertNotIn("ffcv-256", ours["ratios"])
    self.assertIn("revision", result["evidence"])
    for name in ("dali", "ffcv", "torchvision"):
      self.assertIn(f"{name} was skipped", done.stderr)

  def test_a_wrong_flag(self):
    done = benches.run("recipe", f"--input={self.folder}", "--sizes=512")
    self.assertEqual(done.returncode, 2, done.stderr)
    self.assertIn("sizes (512) must be of full, 256", done.stderr)

  @parameterized.parameters(
    ({"formats": ["gif"]}, r"formats \(gif\) must be of png"),
    ({"sizes": ["512"]}, r"sizes \(512\) must be of full, 256"),
    ({"recipes": ["test"]}, r"recipes \(test\) must be of train, evaluate"),
    ({"formats": []}, r"formats \(\) must be of"),
    ({"pythons": {"ffcv": "/no/python"}}, r"ffcv_python .* must be a Python"),
  )
  def test_wrong_arguments(self, arguments, message):
    workdir = self.create_tempdir().full_path
    with self.assertRaisesRegex(ValueError, message):
      _bench(self.folder, workdir, **arguments)

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
