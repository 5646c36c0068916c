"""One item of a source in Python: checks it, and says what is wrong with it."""

import json
import math
import numbers
import os
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from PIL import Image, ImageOps

from liquid_tf._convert import labels, pillow
from liquid_tf._convert.sources import masks
from liquid_tf._convert.sources.annotations.annotations import BOXES, KEYPOINTS
from liquid_tf._convert.sources.annotations.annotations import LABELS as BOX_LABELS
from liquid_tf._convert.sources.masks import FEATURE
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
_MASKS = (
  "must be the bytes of a mask's file, a path, a NumPy array [height, width] of uint8 "
  "or uint16, or an image of Pillow"
)
_LABELS = "must be a class name, a number, or a vector of numbers"
# What a key may mean, beside a column.
KEYS = ("image", "label", "name", "split", FEATURE, BOXES, BOX_LABELS, KEYPOINTS)
_ORIENTATION = 0x0112  # of EXIF
_WHOLE = 2**63
# Keypoints of a box: manifests have no longer sides.
_MOST_SIDE = 1 << 20


# Types and shapes of an item's arrays, by name, sorted; and where its text has them.
Shapes = Mapping[str, tuple[str, Sequence[int]]]
SHAPES = 3


class Item(NamedTuple):
  """One sample as an item gives it.

  Attributes:
    name: the sample's.
    image: an encoded image, or the path of one; empty where a file has none.
    label: a class name; or numbers, and how they were given; or None.
    split: its name, or None.
    columns: all else, numbers and texts by name.
    arrays: `boxes` [n, 4] and `keypoints` [n, k, 3], float32, of those that are given.
    box_labels: class names or numbers of the boxes, or None.
    mask: a raw encoding, a mask's file, or the path of one; or None.
    mask_is_raw: whether it is the first.
  """

  name: str
  image: bytes | str
  label: str | tuple[str, list[int | float]] | None
  split: str | None
  columns: dict[str, Any]
  arrays: dict[str, np.ndarray] = {}
  box_labels: list[str] | list[int] | None = None
  mask: bytes | str | None = None
  mask_is_raw: bool = False

  @property
  def told(self) -> str:
    """All but name, image, mask and what is in arrays, as text."""
    shapes = {key: (str(v.dtype), v.shape) for key, v in sorted(self.arrays.items())}
    told = [self.label, self.split, self.columns, shapes, self.box_labels]
    return json.dumps([*told, self.mask_is_raw], sort_keys=True)

  @property
  def packed(self) -> bytes:
    """The numbers of all arrays, sorted by their names."""
    return b"".join(value.tobytes() for _, value in sorted(self.arrays.items()))

  @property
  def crc(self) -> int:
    """CRC-32 of all that the item says; of a file, of its path."""
    crc = zlib.crc32(os.fsencode(self.name) + b"\0" + self.told.encode())
    crc = zlib.crc32(self.packed, crc)
    for one in (self.image, self.mask or b""):
      crc = zlib.crc32(os.fsencode(one) if isinstance(one, str) else one, crc)
    return crc

  @property
  def label_kind(self) -> str | None:
    """How its label is given, which all items do alike; None without one."""
    if self.label is None:
      return None
    return "a class name" if isinstance(self.label, str) else self.label[0]


def unpacked(shapes: Shapes, packed: bytes) -> dict[str, np.ndarray]:
  """The arrays that `Item.packed` put together, whose shapes `Item.told` has."""
  result, offset = {}, 0
  for name, (dtype, shape) in shapes.items():
    count = math.prod(shape)
    result[name] = np.frombuffer(packed, dtype, count, offset).reshape(shape)
    offset += result[name].nbytes
  return result


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
    columns = {
      key: _value(key, value)
      for key, value in given.items()
      if key not in KEYS and value is not None
    }
    arrays, box_labels = _boxes(given)
    mask, mask_is_raw = _mask(given.get(FEATURE))
    return Item(
      name,
      _image(given.get("image")),
      _label(given.get("label")),
      _split(given.get("split")),
      columns,
      arrays,
      box_labels,
      mask,
      mask_is_raw,
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
  if key in KEYS:
    return
  problem = "" if key in OF_IMAGE else name_problem(key)
  if problem:
    raise ValueError(f"column {key} {problem}")


def _image(image: Any) -> bytes | str:
  if image is NO_IMAGE:
    return b""
  if image is None:
    raise ValueError(f"has no image, which {_IMAGES}")
  file = _file("image", image)
  if file is not None:
    return file
  if isinstance(image, np.ndarray):
    return pillow.raw_file(_checked(image))
  if isinstance(image, Image.Image):
    try:
      if image.getexif().get(_ORIENTATION, 1) != 1:
        image = ImageOps.exif_transpose(image)
      return pillow.raw_file(_checked(pillow.pixels(image)))
    except (ValueError, OSError) as error:
      raise ValueError(f"image of Pillow cannot be taken: {error}") from error
  raise ValueError(f"image {_IMAGES}, but is {_kind(image)}{_advice(image)}")


def _advice(value: Any) -> str:
  return ": give its .numpy()" if hasattr(value, "numpy") else ""


def _file(what: str, value: Any) -> bytes | str | None:
  """A file that is given by its bytes or its path; None for anything else."""
  if isinstance(value, (bytes, bytearray, memoryview)):
    if not value:
      raise ValueError(f"{what} has no bytes")
    return bytes(value)
  if isinstance(value, (str, os.PathLike)):
    path = os.fsdecode(value)
    if not path or "://" in path:
      raise ValueError(f"{what} ({path!r}) must be the path of a local file")
    return os.path.abspath(path)
  return None


def _mask(mask: Any) -> tuple[bytes | str | None, bool]:
  """A mask's file, or a raw encoding of its numbers and True."""
  if mask is None:
    return None, False
  file = _file("mask", mask)
  if file is not None:
    return file, False
  if isinstance(mask, Image.Image):
    try:
      mask = masks.numbers_of(mask)
    except (ValueError, OSError) as error:
      raise ValueError(f"mask of Pillow {error}") from error
  if not isinstance(mask, np.ndarray):
    raise ValueError(f"mask {_MASKS}, but is {_kind(mask)}{_advice(mask)}")
  is_right = mask.dtype.kind == "u" and mask.itemsize <= 2
  shaped = mask.ndim == 2 or (mask.ndim == 3 and mask.shape[2] == 1)
  if not is_right or not shaped or not all(mask.shape):
    raise ValueError(
      "mask must be uint8 or uint16 of shape [height, width], but is "
      f"{mask.dtype} of shape {list(mask.shape)}"
    )
  return pillow.raw_file(mask), True


def _boxes(given: Mapping) -> tuple[dict[str, np.ndarray], list | None]:
  """Boxes and keypoints of an item, and labels of the boxes."""
  boxes, labels, points = (given.get(key) for key in (BOXES, BOX_LABELS, KEYPOINTS))
  if boxes is None:
    for key, value in ((BOX_LABELS, labels), (KEYPOINTS, points)):
      if value is not None:
        raise ValueError(f"has {key} and no {BOXES}")
    return {}, None
  result = {BOXES: _floats(BOXES, boxes, 2, "[n, 4] (y0, x0, y1, x1 in pixels)")}
  count = len(result[BOXES])
  if labels is not None:
    labels = _box_labels(labels)
    _check_count(BOX_LABELS, len(labels), count)
  if points is not None:
    result[KEYPOINTS] = _floats(KEYPOINTS, points, 3, "[n, k, 3] (y, x, v)")
    _check_count(KEYPOINTS, len(result[KEYPOINTS]), count)
  return result, labels


def _check_count(what: str, has: int, boxes: int) -> None:
  if has != boxes:
    raise ValueError(f"has {has} {what}, and {boxes} {BOXES}: give each box one")


def _floats(what: str, given: Any, dimensions: int, shape: str) -> np.ndarray:
  """An array of numbers, float32; its last side is 4 of boxes, and 3 of keypoints."""
  try:
    found = np.asarray(given)
  except ValueError as error:  # Rows of unequal length.
    raise ValueError(f"{what} must be numbers {shape}: {error}") from error
  last = {BOXES: 4, KEYPOINTS: 3}[what]
  if not found.size and found.ndim == 1:
    return np.zeros((0, *(0,) * (dimensions - 2), last), np.float32)
  shaped = found.ndim == dimensions and found.shape[-1] == last
  if shaped and len(found):
    shaped = all(0 < side <= _MOST_SIDE for side in found.shape[1:])
  if found.dtype.kind not in "iuf" or not shaped:
    kind = f"{found.dtype} of shape {list(found.shape)}"
    raise ValueError(f"{what} must be numbers {shape}, but is {kind}")
  with np.errstate(over="ignore"):
    return found.astype(np.float32)


def _box_labels(given: Any) -> list[str] | list[int]:
  """Class names of boxes, or numbers."""
  if not isinstance(given, (list, tuple, np.ndarray)) or np.ndim(given) != 1:
    raise ValueError(f"{BOX_LABELS} must be a list of class names or class numbers")
  values = list(given)
  if values and all(isinstance(value, str) for value in values):
    for value in values:
      value.encode()
    if "" in values:
      raise ValueError(f"{BOX_LABELS} has an empty text")
    return list(map(str, values))
  for value in values:
    is_whole = isinstance(value, numbers.Integral) and _is_number(value)
    if not is_whole or not 0 <= value < _WHOLE:
      raise ValueError(
        f"{BOX_LABELS} must be class names, or class numbers from 0 on, but has "
        f"{value!r}"
      )
  return list(map(int, values))


def _checked(pixels: np.ndarray) -> np.ndarray:
  is_right = pixels.dtype.kind == "u" and pixels.itemsize <= 2
  sides = pixels.shape[:2]
  shaped = pixels.ndim == 2 or (pixels.ndim == 3 and 1 <= pixels.shape[2] <= 4)
  if not is_right or not shaped or not all(sides):
    advice = f": {pillow.OF_SIGNED}" if pixels.dtype.kind in "if" else ""
    raise ValueError(
      "image must be uint8 or uint16 of shape [height, width] or [height, width, 1 to "
      f"4], but is {pixels.dtype} of shape {list(pixels.shape)}{advice}"
    )
  return pixels


def _label(label: Any) -> str | tuple[str, list[int | float]] | None:
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
  is_whole = [isinstance(value, numbers.Integral) for value in values]
  return kind, [int(v) if whole else float(v) for v, whole in zip(values, is_whole)]


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
    return list(map(_of_list, value))
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


def _of_list(number: Any) -> int | float:
  # A whole number stays one where a list is kept as text.
  is_whole = isinstance(number, numbers.Integral) and -_WHOLE <= number < _WHOLE
  return int(number) if is_whole else float(number)
