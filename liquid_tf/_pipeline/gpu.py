"""Formats, steps and features that a GPU decodes, whichever takes its batches."""

import re
from collections.abc import Iterable, Sequence

from liquid_tf._pipeline.recipe import Recipe
from liquid_tf._store.manifest import Manifest
from liquid_tf._words import Shown, setting
from liquid_tf.errors import WrongArgument
from liquid_tf.transforms import Ragged

_NAME = re.compile(r"gpu(?::(\d{1,6}))?", re.ASCII)
FORMATS = ("l3", "l3-compact", "raw", "jpeg")


def number(decode: str) -> int | None:
  """The number of the GPU that `decode=` names, "gpu" or "gpu:1"; None for "cpu".

  Raises:
    ValueError: it is none of these.
  """
  if decode == "cpu":
    return None
  found = _NAME.fullmatch(decode) if isinstance(decode, str) else None
  if found is None:
    raise WrongArgument(
      "decode",
      decode,
      'must be "cpu" or "gpu", or "gpu:1" with the number of a GPU; give '
      'features=["bytes", …] for images as they are stored',
    )
  return int(found[1] or 0)


def check(
  decode: str, manifest: Manifest, recipe: Recipe, features: Sequence[str], skip: bool
) -> None:
  """Checks what goes with images on a GPU.

  Args:
    decode: as given.
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
      decode,
      f'must be "cpu" where formats are not {", ".join(FORMATS)} alone: '
      f"{manifest.directory} has {', '.join(others)}",
    )
  if "image" not in features:
    raise WrongArgument(
      "features",
      Shown(", ".join(features)),
      f'must have "image" with {setting("decode", decode)}',
    )
  check_steps(recipe, manifest["formats"])
  if skip:
    raise WrongArgument(
      "on_error",
      "skip",
      f'must be "raise" with {setting("decode", decode)}, which finds damage when the '
      "batch is made up",
    )


def check_steps(recipe: Recipe, formats: Iterable[str]) -> None:
  """Raises ValueError for a step that a GPU does not do with these formats."""
  for one in recipe.each:
    for step in one.given:
      if isinstance(step, Ragged):
        raise ValueError(
          f"transforms: {step} must not be given with {setting('decode', 'gpu')}, "
          "which makes batches of one size: decode on the processors"
        )
    if one.drafts and "jpeg" in formats:
      raise ValueError(
        f"transforms: draft=True must not be given with {setting('decode', 'gpu')} "
        "where a format is jpeg: a GPU decodes at the whole size, to other pixels"
      )
