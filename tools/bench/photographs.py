"""The photographs that pipelines are measured with: image files, and datasets."""

import concurrent.futures
import itertools
import os
import pathlib
import shutil
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO

import numpy as np
from PIL import Image

from liquid_tf._convert.convert import convert
from liquid_tf._measure import repeated
from liquid_tf._store import manifest as manifests
from liquid_tf._store.mix import TARGETS
from liquid_tf.cli import wheel_images
from tools.bench import crops

# More photographs than these are links to the first ones: encoding takes minutes.
DISTINCT = 256

# At least, in an epoch that a run should not come to the end of.
EPOCH = 4096

# In bytes, more than any format has here: one file for each.
_ONE_SHARD = 10**9

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
    numbered = enumerate(crops.large_crops(_sources(data, distinct), distinct, side))
    # A few at a time: all crops at once would not fit into memory.
    while some := list(itertools.islice(numbered, 4 * workers)):
      list(pool.map(save, *zip(*some)))
  for extension in missing:
    for i, path in enumerate(files[extension]):
      if not path.exists():
        path.hardlink_to(files[extension][i % distinct])
  return files


def replicated(
  workdir: str | os.PathLike,
  *,
  images: int,
  side: int,
  formats: Sequence[str],
  data: str | os.PathLike | None,
  workers: int,
  epoch_images: int = EPOCH,
  encoded: str = "png",
) -> tuple[pathlib.Path, dict[str, Any]]:
  """Makes photographs and their datasets, unless they are there.

  Args:
    workdir: gets them.
    images: photographs.
    side: of each, in pixels.
    formats: of the datasets.
    data: folder of images to cut photographs from; None for scikit-image's.
    workers: images at a time.
    epoch_images: in the long dataset, at least.
    encoded: what the photographs are made as, "png" or "jpeg"; other formats get the
      pixels of these files.

  Returns:
    The folder of these files, and what `replicate` gives.
  """
  root = pathlib.Path(workdir, f"{images}x{side}")
  make(root, images, side, data, workers, (encoded,))
  folder = root / "-".join([encoded, *sorted(set(formats) - {encoded})])
  made = replicate(root / encoded, formats, folder, epoch_images, workers=workers)
  return root / encoded, made


def replicate(
  files: pathlib.Path,
  formats: Sequence[str],
  folder: pathlib.Path,
  epoch_images: int,
  *,
  encoders: Mapping[str, Mapping[str, Any]] | None = None,
  workers: int | None = None,
) -> dict[str, Any]:
  """Makes a dataset with each image in each format, and a long one of links to it.

  Args:
    files: folder of images.
    formats: as in a mix.
    folder: gets both; those that are there are used.
    epoch_images: in the long one, at least.
    encoders: options, as `liquid_tf.convert` takes them.
    workers: images at a time; None for one a processor.

  Returns:
    `short` and `long`, their paths, and `image_bytes`, the mean stored bytes by format.

  Raises:
    ConvertError: they cannot be converted.
  """
  short = folder / "short"
  converted(
    files,
    short,
    dict.fromkeys(formats, 1),
    replicate=True,
    encoders=encoders,
    workers=workers,
    shard_size=_ONE_SHARD,
  )
  manifest = manifests.load(os.fspath(short))
  repeats = -(-epoch_images // manifest["samples"])
  return {
    "short": os.fspath(short),
    "long": os.fspath(repeat(short, repeats, folder / f"long-{epoch_images}")),
    "image_bytes": image_bytes(manifest, formats),
  }


def converted(
  source: pathlib.Path, path: pathlib.Path, mix: Any, **options: Any
) -> pathlib.Path:
  """Converts a folder of images, unless that is done.

  Args:
    source: the folder.
    path: of the dataset, which is returned.
    mix: as `liquid_tf.convert` takes it, likewise the others.
    **options: other ones.

  Raises:
    ConvertError: they cannot be converted.
  """
  if not (path / manifests.MANIFEST).exists():
    path.parent.mkdir(parents=True, exist_ok=True)
    convert(source, path, mix, existing="resume", progress=False, **options)
  return path


def repeat(short: pathlib.Path, times: int, long: pathlib.Path) -> pathlib.Path:
  """Makes a dataset in which another's samples come several times, unless it is there.

  Args:
    short: the other one.
    times: that they come, by links to the same files.
    long: the dataset, which is returned.
  """
  if not (long / manifests.MANIFEST).exists():
    shutil.rmtree(long, ignore_errors=True)
    long.mkdir()
    repeated.repeat(manifests.load(os.fspath(short)), times, os.fspath(long))
  return long


def image_bytes(manifest: Any, formats: Sequence[str]) -> dict[str, float]:
  """The mean stored bytes of an image, by format."""
  stored = {name: manifest["formats"][TARGETS[name][0]] for name in formats}
  return {name: entry["bytes"] / entry["samples"] for name, entry in stored.items()}


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
