"""Photographs for the demo and the benchmarks, from scikit-image's wheel."""

import importlib.util
import os
import pathlib
from collections.abc import Iterator

import numpy as np
from PIL import Image, ImageOps

from liquid_tf.errors import WrongArgument

# The colour photographs that the wheel itself holds, one of the stereo pair;
# nothing is downloaded. Its drawings, test patterns and gray images are left out.
_NAMES = (
  "astronaut.png",
  "chelsea.png",
  "coffee.png",
  "hubble_deep_field.jpg",
  "ihc.png",
  "motorcycle_left.png",
  "retina.jpg",
  "rocket.jpg",
)
_EXTENSIONS = (".bmp", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp")


def _wheel_folder() -> pathlib.Path:
  found = importlib.util.find_spec("skimage")
  if found is None or found.origin is None:
    raise ImportError(
      "scikit-image is not installed, whose photographs are used where no folder is "
      "given: pip install scikit-image, or give a folder of images"
    )
  return pathlib.Path(found.origin).parent / "data"


def wheel_photographs() -> dict[str, np.ndarray]:
  """The photographs in scikit-image's wheel.

  Returns:
    [height, width, 3] uint8 by name.

  Raises:
    ImportError: scikit-image is not installed.
  """
  folder = _wheel_folder()
  photographs = {}
  for name in _NAMES:
    with Image.open(folder / name) as image:
      photographs[pathlib.Path(name).stem] = np.asarray(image.convert("RGB"))
  return photographs


def image_files(folder: str | os.PathLike) -> list[pathlib.Path]:
  """Image files at any depth of a folder, by name, sorted.

  Raises:
    ValueError: there is no such folder, or no image in it.
  """
  root = pathlib.Path(folder)
  files = sorted(path for path in root.rglob("*") if path.suffix.lower() in _EXTENSIONS)
  if not files:
    raise WrongArgument(
      "folder",
      root,
      f"must hold images: {', '.join(_EXTENSIONS)}"
      if root.is_dir()
      else "must be an existing folder",
    )
  return files


def open_rgb(path: pathlib.Path) -> Image.Image:
  """An image file as RGB, turned as its camera was held.

  Raises:
    OSError: it cannot be decoded; the message names it.
  """
  try:
    with Image.open(path) as image:
      return ImageOps.exif_transpose(image).convert("RGB")
  except Exception as error:  # Pillow's plugins raise anything.
    raise OSError(f"{path}: cannot be decoded: {error}") from error


def large_crops(
  photographs: list[np.ndarray], count: int, side: int, seed: int = 0
) -> Iterator[np.ndarray]:
  """Square windows of photographs that are continued by their mirror images.

  Mirroring, not scaling or noise, makes up for photographs that are too small: the
  windows compress as photographs do.

  Args:
    photographs: [height, width, 3] uint8 each, used in turn.
    count: windows to make.
    side: of each, in pixels.
    seed: of places and flips.

  Yields:
    [side, side, 3] uint8.
  """
  random = np.random.default_rng(seed)
  for i in range(count):
    photograph = photographs[i % len(photographs)]
    rows = _mirrored(photograph.shape[0], side, random)
    columns = _mirrored(photograph.shape[1], side, random)
    yield photograph[rows[:, None], columns[None, :]]


def _mirrored(size: int, count: int, random: np.random.Generator) -> np.ndarray:
  """`count` successive places in 0, 1, .., size - 1, size - 1, .., 0, 0, 1, .."""
  places = (random.integers(0, 2 * size) + np.arange(count)) % (2 * size)
  return np.minimum(places, 2 * size - 1 - places)
