"""The photographs that pipelines are measured with, as image files."""

import concurrent.futures
import os
import pathlib
from collections.abc import Sequence
from typing import BinaryIO

import numpy as np
from PIL import Image

from liquid_tf.cli import wheel_images

# More photographs than these are links to the first ones: encoding takes minutes.
DISTINCT = 256

# What Pillow is told beyond its defaults.
_OPTIONS = {"jpeg": {"quality": 90}}


def make(
  folder: pathlib.Path,
  count: int,
  side: int,
  data: str | os.PathLike | None,
  workers: int,
  extensions: Sequence[str],
) -> dict[str, list[pathlib.Path]]:
  """Makes the same photographs as files of several formats, unless they are there.

  Args:
    folder: gets `EXTENSION/NNNNN.EXTENSION`.
    count: photographs; after 256 different ones the same come again.
    side: of each, in pixels.
    data: folder of images to cut them from; None for scikit-image's.
    workers: images at a time.
    extensions: of "jpeg" (quality 90, 4:2:0), "png", "raw" (the pixels and nothing
      else) and "npy" (NumPy's file of them).

  Returns:
    The files of each extension, sorted.
  """
  files = {
    extension: [folder / extension / f"{i:05}.{extension}" for i in range(count)]
    for extension in extensions
  }
  missing = [e for e in extensions if not all(file.exists() for file in files[e])]
  if not missing:
    return files
  for extension in missing:
    (folder / extension).mkdir(parents=True, exist_ok=True)

  def save(i: int, pixels: np.ndarray) -> None:
    for extension in missing:
      path = files[extension][i]
      if not path.exists():
        temporary = path.with_name(f".{path.name}.tmp")
        with open(temporary, "wb") as file:
          _write(file, pixels, extension)
        temporary.rename(path)

  distinct = min(count, DISTINCT)
  with concurrent.futures.ThreadPoolExecutor(workers) as pool:
    crops = wheel_images.large_crops(_sources(data, distinct), distinct, side)
    # A few at a time: all crops at once would not fit into memory.
    pending: set[concurrent.futures.Future] = set()
    for i, pixels in enumerate(crops):
      pending.add(pool.submit(save, i, pixels))
      if len(pending) >= 2 * workers:
        done, pending = concurrent.futures.wait(
          pending, return_when=concurrent.futures.FIRST_COMPLETED
        )
        for future in done:
          future.result()
    for future in pending:
      future.result()
  for extension in missing:
    for i, path in enumerate(files[extension]):
      if not path.exists():
        path.hardlink_to(files[extension][i % distinct])
  return files


def _write(file: BinaryIO, pixels: np.ndarray, extension: str) -> None:
  if extension == "raw":
    file.write(pixels.tobytes())
  elif extension == "npy":
    np.save(file, pixels)
  else:
    options = _OPTIONS.get(extension, {})
    Image.fromarray(pixels).save(file, format=extension, **options)


def _sources(data: str | os.PathLike | None, count: int) -> list[np.ndarray]:
  if data is None:
    return list(wheel_images.wheel_photographs().values())
  files = wheel_images.image_files(data)[:count]
  return [np.asarray(wheel_images.open_rgb(file)) for file in files]
