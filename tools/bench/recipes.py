"""The recipes of ImageNet that `bench recipe` compares, the same for all loaders."""

from typing import Any

from liquid_tf.transforms import Resize, Step

SIDE = 224
SHORTER = 256
# Of ImageNet's pixels, from 0 to 255.
MEAN = (123.675, 116.28, 103.53)
STD = (58.395, 57.12, 57.375)

RECIPES = ("train", "evaluate")
# What images are stored as: as they are, or with a shorter side of 256 pixels.
STORED = ("full", "256")
# What our batches hold; peers give float32.
TYPES = ("uint8", "float32", "bfloat16")


def steps(recipe: str, dtype: str) -> list[dict[str, Any]]:
  """What our pipeline does, as the worker takes it: {step, arguments} each.

  Args:
    recipe: of RECIPES.
    dtype: of TYPES; uint8 is not normalised.
  """
  geometry: list[dict[str, Any]]
  if recipe == "train":
    geometry = [{"step": "RandomResizedCrop", "size": SIDE}, {"step": "Mirror"}]
  else:
    geometry = [
      {"step": "Resize", "shorter": SHORTER},
      {"step": "CenterCrop", "size": SIDE},
    ]
  numbers: list[dict[str, Any]] = []
  if dtype != "uint8":
    numbers.append({"step": "Normalize", "mean": MEAN, "std": STD})
  if dtype == "bfloat16":
    numbers.append({"step": "Cast", "dtype": dtype})
  return geometry + numbers


def before_storing(stored: str) -> list[Step]:
  """The transforms of a conversion that stores images so."""
  return [Resize(shorter=SHORTER)] if stored == "256" else []


def request(recipe: str) -> dict[str, Any]:
  """What a peer is told of a recipe; mean and std are in units of a pixel."""
  return {
    "name": recipe,
    "side": SIDE,
    "shorter": SHORTER,
    "mean": list(MEAN),
    "std": list(STD),
  }
