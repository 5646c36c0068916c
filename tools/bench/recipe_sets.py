"""What `bench recipe` reads: the user's photographs, stored in several ways."""

import concurrent.futures
import dataclasses
import json
import os
import pathlib
from collections.abc import Sequence

from PIL import Image

from liquid_tf.cli import wheel_images
from liquid_tf.errors import WrongArgument
from liquid_tf.transforms import Resize
from tools.bench import imagenet, photographs

# Of every JPEG that is made, for us and for peers.
QUALITY = 90

# Formats that keep the coding of JPEG files, so that smaller ones need other files.
_OF_JPEG = ("jpeg", "pcr")


@dataclasses.dataclass(frozen=True)
class Photographs:
  """RGB JPEG files in folders `full` and `256` below a folder to work in.

  Attributes:
    root: the folder.
    distinct: files of the input that are used; then the same come again.
    left_out: files of the input that are no RGB JPEGs.
    files: their names by way of storing, sorted.
  """

  root: pathlib.Path
  distinct: int
  left_out: int
  files: dict[str, list[str]]

  def dataset(self, format_name: str, stored: str) -> pathlib.Path:
    """The dataset directory of these photographs in a format; converted once."""
    of_jpeg = format_name in _OF_JPEG
    smaller = stored == "256" and not of_jpeg
    return photographs.converted(
      self.root / (stored if of_jpeg else "full"),
      self.root / f"{format_name}-{stored}.liquid",
      format_name,
      transforms=[Resize(shorter=imagenet.SHORTER)] if smaller else [],
    )


def prepare(
  folder: str | os.PathLike,
  workdir: str | os.PathLike,
  *,
  images: int,
  sizes: Sequence[str],
  workers: int,
) -> Photographs:
  """Finds the RGB JPEG files of a folder, and makes the smaller ones from them.

  Those of full size are links to the folder's. The smaller ones are resized by Pillow,
  bilinear with antialiasing, and encoded with `QUALITY`.

  Args:
    folder: of images, at any depth.
    workdir: gets the files; those that are there are used.
    images: how many; the folder's come again until there are so many. 0: all of them.
    sizes: of `imagenet.STORED`.
    workers: images at a time.

  Raises:
    ValueError: there is no such folder, no RGB JPEG in it, or `workdir` holds files of
      another folder.
    OSError: a file cannot be decoded.
  """
  root = pathlib.Path(workdir)
  found = wheel_images.image_files(folder)
  with concurrent.futures.ThreadPoolExecutor(workers) as pool:
    fits = pool.map(_is_rgb_jpeg, found)
    sources = [path.resolve() for path, fit in zip(found, fits) if fit]
    if not sources:
      raise WrongArgument("input", folder, "must hold JPEG files of RGB images")
    root.mkdir(parents=True, exist_ok=True)
    _claim(root, {"input": os.path.abspath(folder), "images": images})
    count = images or len(sources)
    distinct = min(count, len(sources))
    files = {}
    for stored in ("full", *(size for size in sizes if size != "full")):
      (root / stored).mkdir(exist_ok=True)
      files[stored] = [root / stored / f"{i:07}.jpg" for i in range(count)]
    for i, link in enumerate(files["full"]):
      if not link.is_symlink():
        link.symlink_to(sources[i % distinct])
    if "256" in files:
      list(pool.map(_write_smaller, sources[:distinct], files["256"]))
      for i, path in enumerate(files["256"]):
        if not path.exists():
          path.hardlink_to(files["256"][i % distinct])
  return Photographs(
    root=root,
    distinct=distinct,
    left_out=len(found) - len(sources),
    files={stored: list(map(os.fspath, paths)) for stored, paths in files.items()},
  )


def size_of(paths: Sequence[str | os.PathLike]) -> int:
  """Bytes of files, and of all files in folders."""
  total = 0
  for path in map(pathlib.Path, paths):
    inside = path.rglob("*") if path.is_dir() else [path]
    total += sum(file.stat().st_size for file in inside if file.is_file())
  return total


def _claim(root: pathlib.Path, of: dict[str, str | int]) -> None:
  """Says of what the files of a folder are made; refuses one of something else."""
  note = root / "recipe.json"
  if note.exists() and json.loads(note.read_text()) != of:
    raise WrongArgument(
      "workdir",
      root,
      "must be empty or of the same input and images: it holds files of "
      f"{note.read_text()}",
    )
  note.write_text(json.dumps(of))


def _is_rgb_jpeg(path: pathlib.Path) -> bool:
  try:
    with Image.open(path) as image:
      return image.format == "JPEG" and image.mode == "RGB"
  except OSError:
    return False


def _write_smaller(source: pathlib.Path, path: pathlib.Path) -> None:
  if path.exists():
    return
  with Image.open(source) as image:
    width, height = image.size
    shorter = min(width, height)
    size = (width * imagenet.SHORTER // shorter, height * imagenet.SHORTER // shorter)
    smaller = image.resize(size, Image.Resampling.BILINEAR)
  temporary = path.with_name(f".{path.name}.tmp")
  smaller.save(temporary, format="jpeg", quality=QUALITY)
  temporary.rename(path)
