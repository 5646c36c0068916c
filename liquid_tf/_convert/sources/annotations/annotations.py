"""Annotations of many images, in little memory."""

import dataclasses
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
import tensorflow as tf

from liquid_tf._convert.sources.examples import put
from liquid_tf._convert.sources.left_out import LeftOut
from liquid_tf._store.table_columns import Cells
from liquid_tf.errors import ConvertError

BOXES, LABELS, KEYPOINTS = "boxes", "box_labels", "keypoints"

_DTYPES = {"f": "float32", "i": "int64", "O": "string"}
# A box that is so many times as high and as wide as its image is of another image, or
# in other units: an object that is cut off at a side does not reach as far.
_MOST_SIDES = 2
_LARGEST = float(np.finfo(np.float32).max)
_Parsed = TypeVar("_Parsed")


class Labels(NamedTuple):
  """Labels of images.

  Attributes:
    values: of each, float64 [k] as bytes; of one without a label, no bytes.
    classes: names that they are positions in, or None.
    are_floats: as of `SampleSource`.
  """

  values: Sequence[bytes]
  classes: list[str] | None = None
  are_floats: bool = False


@dataclasses.dataclass(eq=False, repr=False)
class Annotations:
  """Annotations of images, each found by a key, the name of its file.

  Boxes are y0, x0, y1, x1 in continuous pixels of the image: the upper left corner of
  the first pixel is (0, 0).

  Attributes:
    what: the file or folder, for people.
    images: keys of the images; paths, with or without an extension.
    counts: shape [images], boxes of each.
    columns: of all boxes, one image's after the other's: float32, int64 or object.
    scalars: metadata columns of images.
    labels: of images, or None.
    splits: names of the splits of images, or None.
    sizes: shape [images, 2], height and width, 0 where they are not said; or None.
    classes: names that `box_labels` are positions in, or None.
    faults: why an image cannot be used, by its position.
    relative: whether boxes are shares of the image's sides.
    files: the file of each image, for people; None where `what` is that of all.
    doubtful: positions of images that have a fault, and whose file may be no
      annotations at all, unless there is such an image.
    skipped: files that are passed over.
    notes: sentences on what is not kept, and on boxes that training leaves out.
    keys: position of each image by its key.
    features: the manifest's entries.
  """

  what: str
  images: Sequence[str]
  counts: Sequence[int]
  columns: Mapping[str, np.ndarray]
  _: dataclasses.KW_ONLY
  scalars: Mapping[str, Cells] = dataclasses.field(default_factory=dict)
  labels: Labels | None = None
  splits: Sequence[str] | None = None
  sizes: np.ndarray | None = None
  classes: list[str] | None = None
  faults: dict[int, str] = dataclasses.field(default_factory=dict)
  relative: bool = False
  files: Sequence[str] | None = None
  doubtful: Collection[int] = ()
  skipped: Sequence[LeftOut] = ()
  notes: list[str] = dataclasses.field(default_factory=list)

  def __post_init__(self):
    self.keys = {key: i for i, key in enumerate(self.images)}
    self._begins = np.append(0, np.cumsum(np.asarray(self.counts, np.int64)))
    self.features: dict[str, dict[str, Any]] = {}
    for name, values in self.columns.items():
      shape = [None, *values.shape[1:]]
      dtype = _DTYPES[values.dtype.kind]
      self.features[name] = {"dtype": dtype, "shape": shape, "example": name}
    if self.classes is not None:
      self.features[LABELS]["classes"] = self.classes
    self._note_flat_boxes()

  def _note_flat_boxes(self) -> None:
    boxes = self.columns.get(BOXES, np.zeros((0, 4)))
    flat = (boxes[:, 2:] <= boxes[:, :2]).any(axis=1)
    # Those of an image with a fault are not stored.
    sizes = np.diff(self._begins)
    sound = ~np.isin(np.arange(len(sizes)), list(self.faults))
    count = int((flat & np.repeat(sound, sizes)).sum()) if len(boxes) else 0
    if count:
      self.notes.append(
        f"{self.what}: {count} of {len(boxes)} boxes have no area; they are kept, and "
        "training leaves them out"
      )

  def __len__(self) -> int:
    return len(self.keys)

  def file(self, image: int) -> str:
    """The file that has an image's annotations, for people."""
    return self.what if self.files is None else self.files[image]

  @property
  def given(self) -> list[str]:
    """Names of all that they give of an image."""
    label = [] if self.labels is None else ["label"]
    split = [] if self.splits is None else ["split"]
    return [*self.features, *self.scalars, *label, *split]

  def fault(self, image: int, size: tuple[int, int] | None) -> str:
    """Why an image cannot be used, or "".

    Args:
      image: its position; -1 for one without annotations.
      size: height and width of its file, where they are known.
    """
    if image < 0:
      return ""
    fault = self.faults.get(image) or self._fault_of_size(image, size)
    return f"{self.file(image)}: {fault}" if fault else ""

  def _fault_of_size(self, image: int, size: tuple[int, int] | None) -> str:
    if size is None:
      if self.relative:
        return "boxes are shares of the image's sides, which cannot be read"
      return ""
    height, width = (0, 0) if self.sizes is None else self.sizes[image].tolist()
    if height and width and size != (height, width):
      return f"says {height}x{width} pixels, but the file has {size[0]}x{size[1]}"
    return self._fault_of_boxes(image, size)

  def _fault_of_boxes(self, image: int, size: tuple[int, int]) -> str:
    if BOXES not in self.columns:
      return ""
    given = self.columns[BOXES][self._part(image)].astype(np.float64)
    sides = np.array((1, 1) if self.relative else size, np.float64)
    begins, ends = given[:, :2], given[:, 2:]
    first = (ends <= 1).all(axis=1) & (given % 1 != 0).any(axis=1)
    if first.any() and not self.relative:
      return (
        f"{first.sum()} of {len(given)} boxes lie in the first pixel: their numbers "
        "look like shares of the sides, and must be pixels"
      )
    # One without an area may lie on a side.
    away = ((begins >= sides) & (ends > sides)) | ((ends <= 0) & (begins < 0))
    wrong = away.any(axis=1) | (ends - begins > _MOST_SIDES * sides).all(axis=1)
    if not wrong.any():
      return ""
    found = f"{wrong.sum()} of {len(given)} boxes do not lie in the image: "
    (top, left), (bottom, right) = begins[wrong].min(0), ends[wrong].max(0)
    place = f"y {top:g} to {bottom:g} and x {left:g} to {right:g}"
    if not self.relative:
      return (
        f"{found}it has {size[0]}x{size[1]} pixels, and they reach from {place}: are "
        "they of another size of the image?"
      )
    like = "look like pixels, and " if max(bottom, right) > _MOST_SIDES else ""
    return (
      f"{found}they reach from {place}; their numbers {like}must be shares of the "
      f"sides, from 0 to 1, and the image has {size[0]}x{size[1]} pixels"
    )

  def _part(self, image: int) -> slice:
    """Where the boxes of an image are among all; of none for -1."""
    return slice(*self._begins[image : image + 2]) if image >= 0 else slice(0)

  def example(self, image: int, size: tuple[int, int] | None) -> bytes:
    """The tf.train.Example of an image without a fault, serialized.

    An image without annotations has no boxes.
    """
    kept = tf.train.Example()
    part = self._part(image)
    for name, values in self.columns.items():
      values = values[part]
      if name == BOXES and self.relative and len(values):
        values = (values.astype(np.float64) * (*size, *size)).astype(np.float32)
      dtype = self.features[name]["dtype"]
      put(kept, name, dtype, values.reshape(-1).tolist())
    return kept.SerializeToString(deterministic=True)


def wrong_box(box: Sequence[float]) -> str:
  """Problem of the box y0, x0, y1, x1, or ""."""
  if not all(abs(value) <= _LARGEST for value in box):
    return "is not of finite numbers"
  if box[2] < box[0] or box[3] < box[1]:
    return "ends before it begins"
  return ""


def keys_of(root: str, names: Sequence[str]) -> list[str]:
  """The keys of a folder's files, one for each image: their names but for extensions.

  Args:
    root: the folder.
    names: paths below it.

  Raises:
    ConvertError: two files are of one image.
  """
  first: dict[str, str] = {}
  for name in names:
    key = os.path.splitext(name)[0]
    if first.setdefault(key, name) != name:
      raise ConvertError(f"{root} has both {first[key]} and {name}, of one image")
  return list(first)


def parsed(
  root: str,
  names: Sequence[str],
  parse: Callable[[str], _Parsed],
  faults: dict[int, str],
  doubtful: set[int],
) -> Iterator[tuple[int, _Parsed | None]]:
  """Yields the position of each image's file, and what it holds.

  Args:
    root: the folder.
    names: paths below it, of the files.
    parse: reads the file at a path, or raises an OSError, or a ValueError that says why
      it is none.
    faults: gets why a file cannot be used, which then holds None.
    doubtful: gets files that may be no annotations at all.
  """
  for image, name in enumerate(names):
    found = None
    try:
      found = parse(os.path.join(root, name))
    except OSError as error:
      faults[image] = f"cannot be read: {error.strerror}"
    except ValueError as error:
      faults[image] = str(error)
      doubtful.add(image)
    yield image, found


def not_kept(
  what: str, counts: Mapping[str, int], every: int, things: str
) -> list[str]:
  """Sentences on parts of annotations that a dataset has no feature for.

  Args:
    what: the file or folder.
    counts: how many annotations have a part, by its name.
    every: how many annotations there are.
    things: what they are called.
  """
  return [
    f"{what}: {name}, which {count} of {every} {things} have, is not kept"
    for name, count in sorted(counts.items())
  ]
