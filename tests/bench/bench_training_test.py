"""`tools.bench training`: the page's recipes run, and stand beside the plain one."""

import pathlib

import benches
from absl.testing import absltest
from PIL import Image

from liquid_tf.cli import wheel_images
from liquid_tf.transforms import Mix, Views
from tools.bench import benchmark, training


class BenchTrainingTest(absltest.TestCase):
  def test_the_page_has_every_recipe(self):
    for recipe in training.RECIPES:
      steps = training.transforms(recipe)
      self.assertTrue(isinstance(steps, Views) or len(steps) >= 3, recipe)
    self.assertLen(training.transforms("dino").recipes, 10)
    self.assertIsInstance(training.transforms("a1")[-1], Mix)

  def test_every_recipe_has_a_row(self):
    root = pathlib.Path(self.create_tempdir().full_path)
    photographs = list(wheel_images.wheel_photographs().values())
    for number in range(12):
      path = root / "photos" / f"c{number % 3}" / f"{number}.jpg"
      path.parent.mkdir(parents=True, exist_ok=True)
      image = Image.fromarray(photographs[number % len(photographs)])
      image.crop((0, 0, 300, 280)).save(path)
    recipes = ("plain", "a3", "simclr")
    with benches.here():
      result = benchmark.measure(
        training.bench,
        root / "work",
        input=root / "photos",
        batch_size=4,
        epochs=2,
        rounds=1,
        threads=2,
        recipes=recipes,
      )
    self.assertEqual(result["images"], 12)
    self.assertEqual(
      [(row["recipe"], row["format"], row["views"]) for row in result["rows"]],
      [(n, f, 2 if n == "simclr" else 1) for f in ("jpeg", "l3") for n in recipes],
    )
    body = training.section(result).body
    self.assertIn("| plain | l3 | 1 |", body)
    self.assertRegex(body, r"\| simclr \| jpeg \| 2 \|.*\| \d+\.\d\d \|")


if __name__ == "__main__":
  absltest.main()
