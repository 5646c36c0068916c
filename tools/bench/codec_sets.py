"""The images that `python -m tools.bench codecs` compares codecs on, by set."""

import os
import pathlib
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from PIL import Image

from liquid_tf.cli import wheel_images
from liquid_tf.errors import WrongArgument
from tools.bench import drawings

PHOTOGRAPHS = "photographs"
SCREENS = "screens"
MASKS = "masks"
DRAWN = "drawn"
DEEP = "16-bit"
# A PNG file tells its bits per sample here.
_PNG_BITS_AT = 24


class ImageSet(NamedTuple):
  """Some images.

  Attributes:
    name: in the tables.
    kind: how the files are read: "photographs" and "screens" as RGB of 8 bits, "masks"
      as one channel of 8 bits, "16-bit" as they are stored; "drawn" has none.
    paths: image files; of photographs none for scikit-image's.
    drawings: how many are drawn.
  """

  name: str
  kind: str
  paths: tuple[str, ...] = ()
  drawings: int = 0


def photographs(folders: list[str]) -> list[ImageSet]:
  """Finds the files of sets of photographs.

  Args:
    folders: "FOLDER", named by its last part, or "NAME=FOLDER"; none for the
      photographs of scikit-image.

  Raises:
    ValueError: a folder without images, or a name that is taken.
  """
  if not folders:
    return [ImageSet("skimage", PHOTOGRAPHS)]
  sets: dict[str, ImageSet] = {}
  for text in folders:
    name, equals, folder = text.partition("=")
    if not equals:
      name, folder = os.path.basename(os.path.normpath(text)), text
    if name in sets:
      raise ValueError(f'sets name "{name}" twice; "NAME=FOLDER" gives another name')
    if name in (SCREENS, MASKS, DRAWN, DEEP):
      raise ValueError(f'sets name "{name}", which is not a set of photographs')
    sets[name] = ImageSet(name, PHOTOGRAPHS, _files(folder))
  return list(sets.values())


def others(folders: Mapping[str, str | None], drawn: int) -> list[ImageSet]:
  """Finds the files of sets that are not photographs.

  Args:
    folders: by kind: "screens", "masks", "16-bit"; None leaves one out. Of the last
      only PNG files of 16 bits count.
    drawn: drawings; 0 for no such set.

  Raises:
    ValueError: a folder without such images.
  """
  sets = []
  for kind in (SCREENS, MASKS, DRAWN, DEEP):
    folder = folders.get(kind)
    if kind == DRAWN and drawn:
      sets.append(ImageSet(DRAWN, DRAWN, drawings=drawn))
    if folder is None:
      continue
    paths = _files(folder)
    if kind == DEEP:
      paths = tuple(path for path in paths if _is_deep(path))
      if not paths:
        raise WrongArgument("folder", folder, "must hold PNG files of 16 bits")
    sets.append(ImageSet(kind, kind, paths))
  return sets


def load(images: ImageSet) -> list[np.ndarray]:
  """The pixels of a set; each [height, width, channels] uint8 or uint16.

  Raises:
    OSError: a file cannot be decoded.
    ValueError: a mask has more than one channel.
  """
  if images.kind == DRAWN:
    return [np.asarray(drawings.draw(i)) for i in range(images.drawings)]
  if images.kind == PHOTOGRAPHS and not images.paths:
    return list(wheel_images.wheel_photographs().values())
  read = {MASKS: _mask, DEEP: _deep}.get(images.kind, _rgb)
  return [read(pathlib.Path(path)) for path in images.paths]


def stored_png_bytes(images: ImageSet) -> int | None:
  """Bytes of the files, where all of them are PNG."""
  if not images.paths or not all(
    path.lower().endswith(".png") for path in images.paths
  ):
    return None
  return sum(map(os.path.getsize, images.paths))


def _files(folder: str) -> tuple[str, ...]:
  return tuple(os.fspath(path) for path in wheel_images.image_files(folder))


def _is_deep(path: str) -> bool:
  if not path.lower().endswith(".png"):
    return False
  with open(path, "rb") as file:
    return file.read(_PNG_BITS_AT + 1)[_PNG_BITS_AT:] == bytes([16])


def _rgb(path: pathlib.Path) -> np.ndarray:
  return np.asarray(wheel_images.open_rgb(path))


def _mask(path: pathlib.Path) -> np.ndarray:
  with Image.open(path) as image:
    if image.mode not in ("L", "P"):
      raise ValueError(f"{path}: a mask must have one channel, and has {image.mode}")
    return np.asarray(image)[..., np.newaxis]


def _deep(path: pathlib.Path) -> np.ndarray:
  import tensorflow as tf

  # Pillow has no RGB of 16 bits.
  return tf.io.decode_png(path.read_bytes(), dtype=tf.uint16).numpy()
