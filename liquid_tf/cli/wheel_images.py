"""Photographs for the demo and the benchmarks, from scikit-image's wheel."""

import importlib.util
import os
import pathlib

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
