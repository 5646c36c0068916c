"""The demo's images: a folder of class folders of equal, small PNG files."""

import concurrent.futures
import functools
import os
import pathlib
from collections.abc import Callable

import numpy as np
from PIL import Image, ImageOps

from liquid_tf._store.progress import Progress
from liquid_tf.cli import wheel_images
from liquid_tf.errors import WrongArgument

# Class, number, and what gives the picture, or None where there is none.
_Task = tuple[str, int, Callable[[], Image.Image | None]]


def make(
  folder: pathlib.Path,
  *,
  side: int,
  count: int,
  data: str | None = None,
  seed: int = 0,
  say: Callable[[str], None] = lambda text: None,
) -> int:
  """Makes PNG files of side x side RGB pixels.

  Without `data` they are random windows of the photographs in scikit-image's wheel,
  one class a photograph. With it, they are that folder's images, scaled and cropped, a
  class for each of its folders; files that cannot be decoded are named and left out.

  Args:
    folder: gets CLASS/NNNNN.png.
    side: pixels.
    count: images to make, at most where there is `data`.
    data: folder of class folders of images.
    seed: of the windows, or of which images are taken.
    say: receives what people should know.

  Returns:
    How many were made.

  Raises:
    ValueError: `data` has no image that can be decoded, or is not given and `side` is
      more than those photographs have.
  """
  if data is None:
    tasks = _windows(side, count, seed)
  else:
    tasks = _scaled(data, side, count, seed, say)
  progress = Progress(visible=True)
  progress.start("images", len(tasks))
  made = 0
  with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
    for saved in pool.map(lambda task: _save(folder, *task), tasks):
      made += saved
      progress.step()
  progress.close()
  if made == 0:
    raise WrongArgument("data", data, "must hold images that can be decoded")
  return made


def _save(
  folder: pathlib.Path, name: str, number: int, image: Callable[[], Image.Image | None]
) -> bool:
  picture = image()
  if picture is None:
    return False
  path = folder / name / f"{number:05}.png"
  path.parent.mkdir(parents=True, exist_ok=True)
  picture.save(path)
  return True


def _windows(side: int, count: int, seed: int) -> list[_Task]:
  random = np.random.default_rng(seed)
  photographs = list(wheel_images.wheel_photographs().items())
  most = min(min(pixels.shape[:2]) for _, pixels in photographs)
  if side > most:
    raise WrongArgument("side", side, f"must be at most {most}, or data must be given")
  tasks = []
  for i in range(count):
    name, pixels = photographs[i % len(photographs)]
    y = random.integers(0, pixels.shape[0] - side + 1)
    x = random.integers(0, pixels.shape[1] - side + 1)
    window = pixels[y : y + side, x : x + side]
    tasks.append(
      (name, i // len(photographs), functools.partial(Image.fromarray, window))
    )
  return tasks


def _scaled(
  data: str, side: int, count: int, seed: int, say: Callable[[str], None]
) -> list[_Task]:
  files = wheel_images.image_files(data)
  if len(files) > count:
    say(f"taking {count} of the {len(files)} images in {data}")
    chosen = np.random.default_rng(seed).permutation(len(files))[:count]
    files = [files[i] for i in np.sort(chosen)]

  def scale(file: pathlib.Path) -> Image.Image | None:
    try:
      return ImageOps.fit(wheel_images.open_rgb(file), (side, side))
    except OSError as error:
      say(f"left out: {error}")
      return None

  root = pathlib.Path(data)
  tasks = []
  for i, file in enumerate(files):
    parts = file.relative_to(root).parts
    name = parts[0] if len(parts) > 1 else root.resolve().name
    tasks.append((name, i, functools.partial(scale, file)))
  return tasks
