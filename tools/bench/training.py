"""Times every recipe of docs/training.md over your own photographs, beside a plain one.

  python -m tools.bench training --input=photos --workdir=work

The recipes are read from the page. All take turns, each time in a fresh process: over
JPEG files as they are, and over L3 whose shorter side has 256 pixels. *plain* takes a
random window resized to 224x224, mirrors half of them and normalises.
"""

import ast
import functools
import pathlib
import re
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from liquid_tf._graph.dataset import dataset as open_dataset
from liquid_tf._pipeline.tuning import Tuning
from liquid_tf.transforms import Resize, Views
from tools.bench import clock, imagenet, page, photographs, turns

_PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "training.md"
_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.M | re.S)

# Names that the page gives to its recipes; of these, each image is shown twice.
RECIPES = ("plain", "deit", "deit_3", "a1", "a2", "a3", "simclr", "moco_2", "dino")
_PAIRS = ("simclr", "moco_2")
# What a format holds: JPEG files stay as they are.
_STORED: dict[str, list] = {"jpeg": [], "l3": [Resize(shorter=imagenet.SHORTER)]}


def transforms(recipe: str) -> Any:
  """What docs/training.md calls by this name, of RECIPES, as `transforms=` takes it."""
  names: dict[str, Any] = {}
  for block in _BLOCK.findall(_PAGE.read_text()):
    tree = ast.parse(block)
    tree.body = [one for one in tree.body if not _opens(one)]
    exec(compile(tree, _PAGE.name, "exec"), names)
  if recipe == "plain":
    return [names["window"](imagenet.SIDE), names["Mirror"](), names["normalize"]]
  steps = names[recipe]
  return Views([steps] * 2) if recipe in _PAIRS else steps


def _opens(statement: ast.stmt) -> bool:
  """Whether a statement of the page opens a dataset, or reads one."""
  return isinstance(statement, ast.For) or "liquid_tf.dataset(" in ast.unparse(
    statement
  )


def measure(
  path: str, *, recipe: str, batch_size: int, epochs: int, threads: int
) -> dict[str, Any]:
  """Runs epochs of a recipe; all records are in memory from the second one on.

  Args:
    path: a dataset directory whose images have classes.
    recipe: of RECIPES.
    batch_size: samples in a batch.
    epochs: to run.
    threads: of tf.data, and decoding tasks per batch.

  Returns:
    What `clock.run` gives, of the first view, and the number of `views`.
  """
  steps = transforms(recipe)
  dataset = open_dataset(
    path,
    batch_size,
    cache="100%",
    transforms=steps,
    tuning=Tuning(parallelism=threads),
  )
  ran = clock.run(
    epochs,
    lambda: map(lambda batch: tf.nest.flatten(batch)[0], dataset),
    lambda images: images.numpy(),
  )
  return ran | {"views": len(steps.recipes) if isinstance(steps, Views) else 1}


def bench(
  folder: str,
  *,
  input: str,  # noqa: A002
  batch_size: int,
  epochs: int,
  rounds: int,
  threads: int,
  recipes: Sequence[str] = RECIPES,
  say: Callable[[str], None] = lambda line: None,
) -> dict[str, Any]:
  """Measures every recipe over every format in turn.

  Args:
    folder: gets the datasets; those that are there are used.
    input: folder of JPEG files in class folders.
    batch_size: samples in a batch.
    epochs: of each process; the first one does not count.
    rounds: processes of each recipe and format.
    threads: on all sides.
    recipes: of RECIPES.
    say: receives a line of progress.

  Returns:
    `images` of an epoch, and `rows` [{recipe, format, views, median, max, cpu_ms}]:
    images in a second, and milliseconds of processor time an image.

  Raises:
    ChildProcessError: a measurement failed.
  """
  sides = {}
  for name, stored in _STORED.items():
    path = photographs.converted(
      pathlib.Path(input),
      pathlib.Path(folder, f"{name}.liquid"),
      name,
      transforms=stored,
    )
    for recipe in recipes:
      sides[f"{recipe} {name}"] = functools.partial(
        turns.apart,
        measure,
        path=path,
        recipe=recipe,
        batch_size=batch_size,
        epochs=epochs,
        threads=threads,
      )
  rates, answers = turns.alternate(sides, rounds, "", say)
  rows = []
  for side, rate in rates.items():
    recipe, name = side.split()
    row = {"recipe": recipe, "format": name, "views": answers[side]["views"]}
    row |= {key: rate[key] for key in ("median", "max")}
    rows.append(row | {"cpu_ms": 1e3 / rate["cpu"]})
  images = answers[side]["epochs"][0]["images"]
  return {"images": images, "rows": rows}


def text(result: dict[str, Any]) -> str:
  """The table of recipes, each beside the plain one in its format."""
  rows = result["rows"]
  plain = {row["format"]: row for row in rows if row["recipe"] == RECIPES[0]}

  def ratio(row: dict[str, Any], key: str) -> str:
    if row["format"] not in plain:
      return ""
    return f"{row[key] / plain[row['format']][key]:.2f}"

  return page.columns(
    rows,
    [
      ("recipe", lambda row: row["recipe"]),
      ("stored", lambda row: row["format"]),
      ("views", lambda row: row["views"]),
      ("images/s, median", lambda row: f"{row['median']:,.0f}"),
      ("best", lambda row: f"{row['max']:,.0f}"),
      ("processor ms an image", lambda row: f"{row['cpu_ms']:.3f}"),
      ("to plain, images/s", lambda row: ratio(row, "median")),
      ("to plain, processor time", lambda row: ratio(row, "cpu_ms")),
    ],
    (0, 1),
  )


def section(result: dict[str, Any]) -> page.Section:
  """What was measured, how, with what, and the table."""
  return page.section("training", result, table=text(result))
