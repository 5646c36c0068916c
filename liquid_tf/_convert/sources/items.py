"""One item of a source in Python: checks it, and says what is wrong with it."""

import json
import numbers
import os
import zlib
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from PIL import Image, ImageOps

from liquid_tf._convert import labels, pillow
from liquid_tf._store import mix
from liquid_tf._store.columns import OF_IMAGE, name_problem
from liquid_tf.errors import ConvertError

WHAT = "Source.from_iterable"
# In place of an image that a file should have, and has not: a sample that is damaged.
NO_IMAGE = object()

_IMAGES = (
  "must be the bytes of an image file, a path, a NumPy array of uint8 or uint16, or an "
  "image of Pillow"
)
_LABELS = "must be a class name, a number, or a vector of numbers"
_OURS = ("image", "label", "name", "split")
_ANNOTATIONS = ("mask", "boxes", "box_labels", "keypoints")
# What a key may mean, beside a column.
KEYS = (*_OURS, *_ANNOTATIONS)
_ORIENTATION = 0x0112  # of EXIF
_WHOLE = 2**63


class Item(NamedTuple):
  """One sample as an item gives it.

  Attributes:
    name: the sample's.
    image: an encoded image, or the path of one; empty where a file has none.
    label: a class name; or numbers, and how they were given; or None.
    split: its name, or None.
    columns: all else, numbers and texts by name.
  """

  name: str
  image: bytes | str
  label: str | tuple[str, list[float]] | None
  split: str | None
  columns: dict[str, Any]

  @property
  def told(self) -> str:
    """All but name and image, as text."""
    return json.dumps([self.label, self.split, self.columns], sort_keys=True)

  @property
  def crc(self) -> int:
    """CRC-32 of all that the item says; of a file, of its path."""
    begin = zlib.crc32(os.fsencode(self.name) + b"\0" + self.told.encode())
    image = self.image
    return zlib.crc32(os.fsencode(image) if isinstance(image, str) else image, begin)

  @property
  def label_kind(self) -> str | None:
    """How its label is given, which all items do alike; None without one."""
    if self.label is None:
      return None
    return "a class name" if isinstance(self.label, str) else self.label[0]


class Origin(NamedTuple):
  """Where items come from, as errors say it.

  Attributes:
    named: the source.
    one: word for one of its items.
    place: says where the item of a number is; None where its number does.
  """

  named: str = WHAT
  one: str = "item"
  place: Callable[[int], str] | None = None

  def at(self, number: int) -> str:
    """Where an item is, by its number from 0."""
    return f"{self.one} {number}" if self.place is None else self.place(number)

  def wrong(self, number: int, name: str | None, problem: str) -> ConvertError:
    """The error for an item: its number from 0, its name where it has one, and why."""
    shown = "" if name is None else f" ({name})"
    return ConvertError(f"{self.named}: {self.at(number)}{shown}: {problem}")


def check(number: int, given: Any, origin: Origin) -> Item:
  """Takes an item apart.

  Args:
    number: of the item, from 0.
    given: the mapping that the user's code, or a reader, gave.
    origin: of the item.

  Raises:
    ConvertError: it is not what an item must be.
  """
  if not isinstance(given, Mapping):
    raise origin.wrong(
      number,
      None,
      f'must be a mapping, as {{"image": …, "label": …}}, but is {_kind(given)}',
    )
  name = _name(number, given, origin)
  try:
    for key in given:
      _check_key(key)
    image = _image(given.get("image"))
    columns = {
      key: _value(key, value)
      for key, value in given.items()
      if key not in _OURS and value is not None
    }
    return Item(
      name, image, _label(given.get("label")), _split(given.get("split")), columns
    )
  except ValueError as error:
    raise origin.wrong(number, name, str(error)) from error


def _kind(value: Any) -> str:
  kind = type(value)
  module = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
  return module + kind.__name__


def _name(number: int, given: Mapping, origin: Origin) -> str:
  name = given.get("name")
  if name is None:
    image = given.get("image")
    is_path = isinstance(image, (str, os.PathLike))
    return os.fsdecode(image) if is_path and os.fspath(image) else str(number)
  if not isinstance(name, str) or not name:
    raise origin.wrong(
      number, None, f"name ({name!r}) must be a text that is not empty"
    )
  return str(name)


def _check_key(key: Any) -> None:
  if not isinstance(key, str) or not key:
    raise ValueError(f"key {key!r} must be a text that is not empty")
  if key in _OURS:
    return
  if key in _ANNOTATIONS:
    raise ValueError(
      f"{key} cannot be given here: an item has image, label, name, split, and columns "
      "of numbers or texts; write the images as files, and give Source(folder, masks=, "
      "annotations=)"
    )
  problem = "" if key in OF_IMAGE else name_problem(key)
  if problem:
    raise ValueError(f"column {key} {problem}")


def _image(image: Any) -> bytes | str:
  if image is NO_IMAGE:
    return b""
  if image is None:
    raise ValueError(f"has no image, which {_IMAGES}")
  if isinstance(image, (bytes, bytearray, memoryview)):
    if not image:
      raise ValueError("image has no bytes")
    return bytes(image)
  if isinstance(image, (str, os.PathLike)):
    path = os.fsdecode(image)
    if not path or "://" in path:
      raise ValueError(f"image ({path!r}) must be the path of a local file")
    return os.path.abspath(path)
  if isinstance(image, np.ndarray):
    return pillow.raw_file(_checked(image))
  if isinstance(image, Image.Image):
    try:
      if image.getexif().get(_ORIENTATION, 1) != 1:
        image = ImageOps.exif_transpose(image)
      return pillow.raw_file(_checked(pillow.pixels(image)))
    except (ValueError, OSError) as error:
      raise ValueError(f"image of Pillow cannot be taken: {error}") from error
  advice = ": give its .numpy()" if hasattr(image, "numpy") else ""
  raise ValueError(f"image {_IMAGES}, but is {_kind(image)}{advice}")


def _checked(pixels: np.ndarray) -> np.ndarray:
  is_right = pixels.dtype.kind == "u" and pixels.itemsize <= 2
  sides = pixels.shape[:2]
  shaped = pixels.ndim == 2 or (pixels.ndim == 3 and 1 <= pixels.shape[2] <= 4)
  if not is_right or not shaped or not all(sides):
    raise ValueError(
      "image must be uint8 or uint16 of shape [height, width] or [height, width, 1 to "
      f"4], but is {pixels.dtype} of shape {list(pixels.shape)}"
    )
  return pixels


def _label(label: Any) -> str | tuple[str, list[float]] | None:
  if label is None:
    return None
  if isinstance(label, str):
    if not label:
      raise ValueError("label is an empty text: leave it out, or name a class")
    label.encode()
    return str(label)
  if isinstance(label, np.ndarray) and label.ndim == 0:
    label = label[()]
  if _is_number(label):
    kind, values = "a number", [label]
  elif isinstance(label, (list, tuple, np.ndarray)) and np.ndim(label) == 1:
    values = list(label)
    kind = f"a vector of {len(values)}"
    if not values or not all(map(_is_number, values)):
      raise ValueError(f"label {_LABELS}, but is {label!r}")
  else:
    raise ValueError(f"label {_LABELS}, but is {_kind(label)}")
  values = [
    value.item() if isinstance(value, np.generic) else value for value in values
  ]
  fault = labels.fault(values)
  if fault:
    raise ValueError(fault)
  return kind, [float(value) for value in values]


def _is_number(value: Any) -> bool:
  return isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_))


def _split(split: Any) -> str | None:
  if split is None:
    return None
  if not isinstance(split, str) or not mix.is_split_name(split):
    raise ValueError(f'split ({split!r}) must be of letters, digits, "_" and "-"')
  return str(split)


def _value(name: str, value: Any) -> str | bool | int | float | list:
  if isinstance(value, np.ndarray) and value.ndim == 0:
    value = value[()]
  if isinstance(value, (np.ndarray, list, tuple)):
    if np.ndim(value) != 1 or not all(map(_is_number, value)):
      raise ValueError(f"column {name} must have one number, text or list of numbers")
    return [float(one) for one in value]
  if isinstance(value, bytes):
    value = value.decode()
  if isinstance(value, str):
    value.encode()
    return str(value)
  if isinstance(value, (bool, np.bool_)):
    return bool(value)
  if isinstance(value, numbers.Integral):
    if not -_WHOLE <= int(value) < _WHOLE:
      raise ValueError(f"column {name} has {value}, which does not fit 64 bits")
    return int(value)
  if isinstance(value, numbers.Real):
    return float(value)
  raise ValueError(
    f"column {name} must be a number, a text or a list of numbers, but is "
    f"{_kind(value)}"
  )
