"""What annotations say of many images, in little memory."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

BOXES, LABELS, KEYPOINTS = "boxes", "box_labels", "keypoints"

_DTYPES = {"f": "float32", "i": "int64", "O": "string"}


class Annotations:
  """Annotations of images, each found by a key, the name of its file.

  Boxes are y0, x0, y1, x1 in continuous pixels of the image: the upper left corner of
  the first pixel is (0, 0).

  Args:
    what: the file or folder, for people.
    keys: of the images; paths, with or without an extension.
    counts: shape [images], boxes of each.
    columns: of all boxes, one image's after the other's: float32, int64 or object.
    scalars: shape [images], likewise, of images.
    sizes: shape [images, 2], height and width, 0 where they are not said.
    classes: names that `box_labels` are positions in, or None.
    faults: why an image cannot be used, by its position.
    relative: whether boxes are shares of the image's sides.

  Attributes:
    features: the manifest's entries.
  """

  def __init__(
    self,
    what: str,
    keys: Sequence[str],
    counts: Sequence[int],
    columns: Mapping[str, np.ndarray],
    *,
    scalars: Mapping[str, np.ndarray] | None = None,
    sizes: np.ndarray | None = None,
    classes: list[str] | None = None,
    faults: dict[int, str] | None = None,
    relative: bool = False,
  ):
    self.what = what
    self.keys = {key: i for i, key in enumerate(keys)}
    self._begins = np.append(0, np.cumsum(np.asarray(counts, np.int64)))
    self._columns = dict(columns)
    self._scalars = dict(scalars or {})
    self._sizes = np.zeros((len(keys), 2), np.int64) if sizes is None else sizes
    self._faults = faults or {}
    self._relative = relative
    self.features: dict[str, dict[str, Any]] = {}
    for name, values in self._columns.items():
      self._describe(name, values, [None, *values.shape[1:]])
    for name, values in self._scalars.items():
      self._describe(name, values, [])
    if classes is not None:
      self.features[LABELS]["classes"] = classes

  def _describe(self, name: str, values: np.ndarray, shape: list[int | None]) -> None:
    dtype = _DTYPES[values.dtype.kind]
    self.features[name] = {"dtype": dtype, "shape": shape, "example": name}

  def __len__(self) -> int:
    return len(self.keys)

  def fault(self, image: int, size: tuple[int, int] | None) -> str:
    """Why an image cannot be used, or "".

    Args:
      image: its position; -1 for one without annotations.
      size: height and width of its file, where they are known.
    """
    if image < 0:
      return ""
    if image in self._faults:
      return f"{self.what}: {self._faults[image]}"
    height, width = map(int, self._sizes[image])
    if height and size is not None and size != (height, width):
      return (
        f"{self.what} says {height}x{width} pixels, but the file has "
        f"{size[0]}x{size[1]}"
      )
    if self._relative and size is None:
      return f"{self.what} has shares of its sides, which cannot be read"
    return ""

  def example(self, image: int, size: tuple[int, int] | None) -> bytes:
    """The tf.train.Example of an image that has no fault, serialized.

    An image without annotations has no boxes, and zeros and empty texts for the rest.
    """
    part = slice(*self._begins[image : image + 2]) if image >= 0 else slice(0)
    kept = tf.train.Example()
    for name, values in self._columns.items():
      values = values[part]
      if name == BOXES and self._relative and len(values):
        values = (values.astype(np.float64) * (*size, *size)).astype(np.float32)
      _put(kept, name, values.reshape(-1))
    for name, values in self._scalars.items():
      nothing = b"" if values.dtype.kind == "O" else 0
      _put(kept, name, [values[image] if image >= 0 else nothing], values.dtype.kind)
    return kept.SerializeToString(deterministic=True)


def _put(
  example: tf.train.Example, name: str, values: Iterable[Any], kind: str = ""
) -> None:
  feature = example.features.feature[name]
  kind = kind or values.dtype.kind
  if kind == "O":
    feature.bytes_list.value.extend(values)
  elif kind == "f":
    feature.float_list.value.extend(values)
  else:
    feature.int64_list.value.extend(int(value) for value in values)


def wrong_box(box: Sequence[float]) -> str:
  """What is wrong with y0, x0, y1, x1, or ""."""
  if not all(np.isfinite(box)):
    return "is not of finite numbers"
  if box[2] < box[0] or box[3] < box[1]:
    return "ends before it begins"
  return ""
