"""Images for tests: crops of the photographs in scikit-image's wheel."""

import os
import pathlib

import numpy as np
import skimage
from PIL import Image

# Colour photographs that the wheel holds, so that nothing is downloaded.
COLOUR = ("astronaut", "coffee", "chelsea", "ihc", "motorcycle_left", "color")
GRAY = ("camera", "brick", "coins", "moon")


def photo(name: str) -> np.ndarray:
  """A photograph: [height, width, 3] of COLOUR, [height, width] of GRAY; uint8."""
  path = pathlib.Path(skimage.__file__).parent / "data" / f"{name}.png"
  with Image.open(path) as image:
    return np.asarray(image)


def crop(image: np.ndarray, size: tuple[int, int], random) -> np.ndarray:
  """A random window of an image, by a numpy Generator."""
  y = random.integers(0, image.shape[0] - size[0] + 1)
  x = random.integers(0, image.shape[1] - size[1] + 1)
  return image[y : y + size[0], x : x + size[1]]


def save(path: str | os.PathLike, pixels: np.ndarray, **options) -> None:
  """Writes an image, its folders too; the format follows from the extension."""
  os.makedirs(os.path.dirname(path), exist_ok=True)
  Image.fromarray(pixels).save(path, **options)


def class_folders(
  root: str | os.PathLike,
  *,
  per_class: int = 12,
  classes: int = 3,
  sides: tuple[int, int] = (24, 64),
  extension: str = "png",
  seed: int = 0,
) -> str:
  """Makes a folder of class folders of crops, one class a photograph.

  Args:
    root: where.
    per_class: images in each.
    classes: at most len(COLOUR).
    sides: smallest and largest side; equal ones make all images alike.
    extension: of every file.
    seed: of the crops.

  Returns:
    `root` as a string.
  """
  random = np.random.default_rng(seed)
  for name in COLOUR[:classes]:
    image = photo(name)
    for i in range(per_class):
      height, width = random.integers(sides[0], sides[1] + 1, 2)
      path = os.path.join(root, name, f"{i:04}.{extension}")
      save(path, crop(image, (height, width), random))
  return os.fspath(root)


def files(folder: str | os.PathLike) -> dict[str, bytes]:
  """Every file of a folder, by name."""
  return {path.name: path.read_bytes() for path in pathlib.Path(folder).iterdir()}


def tree(folder: str | os.PathLike) -> dict[str, bytes]:
  """Every file below a folder, by its path there."""
  return {
    str(path.relative_to(folder)): path.read_bytes()
    for path in pathlib.Path(folder).rglob("*")
    if path.is_file()
  }


def shared_data(*parts: str) -> str | None:
  """A path in the shared data sets, or None where this machine has none.

  They are looked for at LIQUID_TEST_DATA, and beside the checkout.
  """
  checkout = pathlib.Path(__file__).resolve().parents[2]
  root = os.environ.get("LIQUID_TEST_DATA") or checkout.parent / "shared" / "data"
  path = os.path.join(root, *parts)
  return path if os.path.exists(path) else None
