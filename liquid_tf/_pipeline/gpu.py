"""Formats, steps and features that a GPU decodes, whichever takes its batches."""

from collections.abc import Sequence

from liquid_tf._pipeline.features import PLAIN
from liquid_tf._pipeline.recipe import Recipe
from liquid_tf._store.manifest import Manifest
from liquid_tf._words import Shown, setting
from liquid_tf.errors import WrongArgument
from liquid_tf.transforms import (
  Cast,
  CenterCrop,
  ChannelsFirst,
  ColorJitter,
  Flip,
  Grayscale,
  Mirror,
  Normalize,
  Orient,
  Pad,
  RandomCrop,
  RandomResizedCrop,
  Resize,
  Seed,
  Solarize,
)

FORMATS = ("l3", "l3-compact", "raw")
_STEPS = (
  *(Orient, RandomCrop, CenterCrop, RandomResizedCrop, Resize, Pad, Mirror, Flip),
  *(ColorJitter, Grayscale, Solarize, Normalize, Cast, ChannelsFirst, Seed),
)


def check(
  manifest: Manifest, recipe: Recipe, features: Sequence[str], skip: bool
) -> None:
  """Checks what goes with decode="gpu".

  Args:
    manifest: of the dataset.
    recipe: of its images.
    features: that are asked for.
    skip: whether damaged records are left out.

  Raises:
    ValueError: something does not; the message names it, its value and what it must be.
  """
  others = sorted(set(manifest["formats"]) - set(FORMATS))
  if others:
    raise WrongArgument(
      "decode",
      "gpu",
      f'must be "cpu" where formats are not {", ".join(FORMATS)} alone: '
      f"{manifest.directory} has {', '.join(others)}",
    )
  if "image" not in features:
    raise WrongArgument(
      "features",
      Shown(", ".join(features)),
      f'must have "image" with {setting("decode", "gpu")}',
    )
  numbers = {"image", "label", "mask"}
  numbers |= {name for name, (dtype, _) in PLAIN.items() if dtype != "string"}
  columns = manifest["columns"].items()
  numbers |= {name for name, column in columns if column["dtype"] != "string"}
  strings = [name for name in features if name not in numbers]
  if strings:
    raise WrongArgument(
      "features",
      strings[0],
      f"must be of {', '.join(sorted(numbers))} with {setting('decode', 'gpu')}: "
      "others are not kept in a GPU's memory",
    )
  check_steps(recipe)
  if skip:
    raise WrongArgument(
      "on_error",
      "skip",
      f'must be "raise" with {setting("decode", "gpu")}, which finds damage when the '
      "batch is made up",
    )


def check_steps(recipe: Recipe) -> None:
  """Raises ValueError where a step is none that a GPU does."""
  for step in recipe.given:
    means = isinstance(step, Normalize) and step.mean_image is not None
    if not isinstance(step, _STEPS) or means:
      raise ValueError(
        f"transforms: {step} must not be given with {setting('decode', 'gpu')}, which "
        "turns, crops, resizes, pads, mirrors, flips, colours and normalises images: "
        "decode on the processors, or leave it to the model"
      )
