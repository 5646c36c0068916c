"""The sizes that a recipe gives the images of a dataset."""

import dataclasses
from collections.abc import Iterator, Mapping

import numpy as np

from liquid_tf import transforms as steps
from liquid_tf._native.limits import Limits
from liquid_tf._pipeline.recipe import Recipe
from liquid_tf._words import said

# From this orientation of EXIF on, rows become columns.
_TURNED = 5


@dataclasses.dataclass(frozen=True)
class Sizes:
  """Sizes of the images that come out.

  Attributes:
    one: height and width, where all images have the same; else None.
    pixels: of an image, on average; windows of random size count as whole images.
  """

  one: tuple[int, int] | None
  pixels: float


class Misfit(ValueError):
  """A step does not fit an image; says which, and the size that the image then has."""

  def __init__(self, step: steps.Step, height: int, width: int):
    super().__init__(f"transforms: {step} must fit every image")
    self.step = step
    self.size = f"{height}x{width} pixels"


def results(
  recipe: Recipe,
  rows: Mapping[str, np.ndarray],
  check: bool = True,
  most: int = Limits().pixels,
) -> Sizes:
  """Sizes that a recipe gives to the images of a dataset.

  Args:
    recipe: of the images.
    rows: of the index, by format.
    check: whether an image that a step does not fit is an error.
    most: pixels of an image that is decoded; larger ones do not count in the average.

  Raises:
    ValueError: a crop is larger than an image, or `Pad` smaller, or an image becomes
      larger than `most`; the message names one.
  """
  found: dict[tuple[int, int], int] = {}
  for name, some in rows.items():
    for (height, width), members in _distinct(recipe, some):
      try:
        size = result(recipe, height, width)
      except Misfit as misfit:
        if check:
          raise ValueError(
            f"{misfit}, but not {len(members)} of {name}: sample "
            f"{some['sample'][members[0]]} then has {misfit.size}"
          ) from None
        continue
      grown = size[0] * size[1] > most and size != (height, width)
      if grown and check:
        raise ValueError(
          f"transforms: sample {some['sample'][members[0]]} of {name}, of "
          f"{height}x{width} pixels, becomes {size[0]}x{size[1]}, over the limit of "
          f"{most}: crop it, or raise it with "
          f"{said('limits=Limits(pixels=N)')}"
        )
      found[size] = found.get(size, 0) + len(members)
  counted = [(h * w, count) for (h, w), count in found.items() if h * w <= most]
  total = sum(count for _, count in counted)
  pixels = sum(size * count for size, count in counted) / max(1, total)
  random = recipe.random_size is not None and not _fixed(recipe)
  if random or len(found) > 1:
    return Sizes(None, pixels)
  # No image at all is of any size.
  height, width = next(iter(found), (1, 1))
  return Sizes((height, width), height * width)


def _fixed(recipe: Recipe) -> bool:
  """Whether a step gives windows of any shape one size."""
  exact = recipe.resize is not None and recipe.resize.size is not None
  return exact or "pad" in recipe.found or "second_crop" in recipe.found


def _distinct(
  recipe: Recipe, rows: np.ndarray
) -> Iterator[tuple[tuple[int, int], np.ndarray]]:
  """Yields each size of the (turned) images, with the rows that have it."""
  if not len(rows):
    return
  height, width = rows["height"].astype(np.uint64), rows["width"].astype(np.uint64)
  if "orient" in recipe.found:
    turned = rows["orientation"] >= _TURNED
    height, width = np.where(turned, width, height), np.where(turned, height, width)
  keys, inverse = np.unique(height << np.uint64(32) | width, return_inverse=True)
  order = np.argsort(inverse, kind="stable")
  ends = np.cumsum(np.bincount(inverse))
  for key, members in zip(keys, np.split(order, ends[:-1])):
    yield (int(key) >> 32, int(key) & (2**32 - 1)), members


def result(recipe: Recipe, height: int, width: int) -> tuple[int, int]:
  """Height and width of what comes out of a (turned) image of that size.

  Raises:
    Misfit: a step does not fit it. Windows of random shape are taken to fit.
  """
  crop, pad = recipe.crop, recipe.found.get("pad")
  second = recipe.found.get("second_crop")
  if crop is not None:
    if crop.size[0] > height or crop.size[1] > width:
      raise Misfit(crop, height, width)
    height, width = crop.size
  if recipe.resize is not None:
    height, width = resized(recipe.resize, height, width)
  if pad is not None:
    known = recipe.random_size is None or _fixed(recipe)
    if known and (height > pad.size[0] or width > pad.size[1]):
      raise Misfit(pad, height, width)
    height, width = pad.size
  if second is not None:
    if second.size[0] > height or second.size[1] > width:
      raise Misfit(second, height, width)
    height, width = second.size
  return height, width


def resized(step: steps.Resize, height: int, width: int) -> tuple[int, int]:
  """Height and width of an image of that size, resized; as ops/image/resize_size.h."""
  if step.size is not None:
    return step.size
  side = step.shorter or step.longer
  by_height = height < width if step.shorter else height > width
  if by_height:
    return side, max(1, side * width // height)
  return max(1, side * height // width), side
