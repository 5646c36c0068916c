"""A folder of images with annotations beside it."""

import posixpath
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from liquid_tf._convert import pillow
from liquid_tf._convert.graph import by_python, first_error
from liquid_tf._convert.sources.annotations.annotations import BOXES, Annotations
from liquid_tf._convert.sources.annotations.read import is_table, read
from liquid_tf._convert.sources.annotations.tables import UNNAMED, Named
from liquid_tf._convert.sources.left_out import LeftOut
from liquid_tf._convert.sources.listed import ListedSource
from liquid_tf._convert.sources.samples import (
  PassedSource,
  SampleSource,
  numbered_splits,
)
from liquid_tf._native import ops
from liquid_tf._store import storage
from liquid_tf._store.columns import Column
from liquid_tf._store.names import candidates
from liquid_tf._words import argument, few
from liquid_tf.errors import ConvertError


class Matched(NamedTuple):
  """Annotations of a folder's images.

  Attributes:
    annotations: of images that the folder may have.
    row_of: shape [images], positions in the annotations, -1 for none.
  """

  annotations: Annotations
  row_of: np.ndarray


class AnnotatedSource(PassedSource):
  """The samples of a folder, with all that annotations say of them.

  Args:
    folder: the images.
    given: annotations, no two of which give the same.
    skipped: files among the annotations that are none, and images that are annotated
      and not there.
    notes: sentences on the annotations.
  """

  def __init__(
    self,
    folder: SampleSource,
    given: Sequence[Matched],
    skipped: Sequence[LeftOut],
    notes: Sequence[str],
  ):
    super().__init__(folder)
    self.skipped += skipped
    self.notes += notes
    self._given = list(given)
    for one in given:
      self.features |= one.annotations.features
    self._with_boxes = [one for one in given if one.annotations.columns]
    self._labelled = next((m for m in given if m.annotations.labels is not None), None)
    if self._labelled is not None:
      self.classes = self._labelled.annotations.labels.classes
      self.are_floats = self._labelled.annotations.labels.are_floats

    for one in given:
      if one.annotations.splits is not None:
        self.splits, self.split_of = _splits(folder, one)

  def metadata(self, positions: Sequence[int]) -> dict[str, Column]:
    places = np.asarray(positions, np.int64)
    return {
      name: cells.column(one.row_of[places])
      for one in self._given
      for name, cells in one.annotations.scalars.items()
    }

  def columns(self, positions: Sequence[int], targets: Sequence[str] | None) -> tuple:
    places = np.asarray(positions, np.int64)
    rows = np.stack([one.row_of[places] for one in self._given], axis=-1)
    labels = [b""] * len(places)
    if self._labelled is not None:
      values = self._labelled.annotations.labels.values
      found = self._labelled.row_of[places].tolist()
      labels = [b"" if row < 0 else values[row] for row in found]
    more = super().columns(positions, targets)
    return *more, rows, np.array(labels, object)

  def load(self, *columns: tf.Tensor) -> dict[str, tf.Tensor]:
    *given, rows, label = columns
    loaded = super().load(*given)
    example, error = by_python(
      self._example, [rows, loaded["image"]], tf.string, tf.string
    )
    crc = ops.lib().liquid_crc32c(example, loaded["crc32c"])
    if self._labelled is not None:
      crc = ops.lib().liquid_crc32c(label, crc)
      loaded["labels"] = tf.cast(tf.io.decode_raw(label, tf.float64), tf.float32)
    return loaded | {
      "example": example,
      "crc32c": crc,
      "error": first_error(loaded["error"], error),
    }

  def _example(self, rows: np.ndarray, image: bytes) -> tuple[bytes, bytes]:
    size = pillow.size_of(image) if self._with_boxes else None
    example = b""
    for one, row in zip(self._given, rows.tolist()):
      fault = one.annotations.fault(row, size)
      if fault:
        return b"", fault.encode()
      if one.annotations.columns:
        # No two have boxes.
        example = one.annotations.example(row, size)
    return example, b""


def _splits(folder: SampleSource, given: Matched) -> tuple[list[str], np.ndarray]:
  """The splits that a table gives, and the position of each image's.

  Raises:
    ConvertError: the folder has splits of its own, or an image has none.
  """
  what, names = given.annotations.what, given.annotations.splits
  if len(folder.splits) > 1:
    raise ConvertError(
      f"{what} has a column split, and {folder.root} has splits of its own, "
      f"{', '.join(folder.splits)}: leave the column out, or give it another name"
    )
  if (given.row_of < 0).any():
    first = int(given.row_of.argmin())
    raise ConvertError(
      f"{what} has a column split, and no row of {folder.path(first)}: give each image "
      "a row, or leave out the images without one"
    )
  return numbered_splits(what, [names[row] for row in given.row_of.tolist()])


def _folded(path: str) -> str:
  """A path without what systems write in several ways.

  That is the case of letters, the form of those with accents, and slashes.
  """
  path = unicodedata.normalize("NFC", posixpath.normpath(path.replace("\\", "/")))
  return unicodedata.normalize("NFC", path.casefold())


class _Pairs:
  """Pairs of images and their annotations.

  Args:
    folder: the images.
    annotations: of them.

  Attributes:
    row_of: shape [images], positions in the annotations, -1 for none.
    image_of: position of the image that has an annotation, by the annotation's.
    alike: (image, key) of pairs whose names are only alike.
  """

  def __init__(self, folder: SampleSource, annotations: Annotations):
    self._folder = folder
    self._annotations = annotations
    self.row_of = np.full(len(folder), -1, np.int64)
    self.image_of: dict[int, int] = {}
    self.alike: list[tuple[str, str]] = []
    for i in range(len(folder)):
      keys = candidates(folder.path(i))
      key = next((key for key in keys if key in annotations.keys), None)
      if key is not None:
        self._pair(i, key)
    self._pair_alike()

  def _pair(self, image: int, key: str) -> None:
    row = self._annotations.keys[key]
    other = self.image_of.setdefault(row, image)
    if other != image:
      raise ConvertError(
        f"annotations of {key} in {self._annotations.what} fit "
        f"{self._folder.path(other)} and {self._folder.path(image)}: name images by "
        f"their paths below {self._folder.root}"
      )
    self.row_of[image] = row

  def _pair_alike(self) -> None:
    """Pairs images and annotations that are left, and are alike and no others."""
    left: dict[str, list[str]] = {}
    for key, row in self._annotations.keys.items():
      if row not in self.image_of:
        left.setdefault(_folded(key), []).append(key)
    for i in np.flatnonzero(self.row_of < 0).tolist() if left else ():
      image = self._folder.path(i)
      folded = candidates(_folded(image))
      keys = next((left[key] for key in folded if key in left), ())
      if len(keys) > 1:
        raise ConvertError(
          f"annotations of {keys[0]} and of {keys[1]} in {self._annotations.what} fit "
          f"{image}, which differs from both: name it as the image"
        )
      for key in keys:
        self._pair(i, key)
        self.alike.append((image, key))


def _notes(pairs: _Pairs, folder: SampleSource, annotations: Annotations) -> list[str]:
  """Sentences on images without annotations, and on names that are only alike."""
  result = list(annotations.notes)
  if pairs.alike:
    image, key = pairs.alike[0]
    result.append(
      f"{annotations.what}: names of {len(pairs.alike)} images are written otherwise "
      f"than those of their files, as {key} for {image}"
    )
  if annotations.labels is not None and folder.classes is not None:
    result.append(
      f"{annotations.what} gives the labels, and folders below {folder.root} "
      f"({few(folder.classes)}) are no classes"
    )
  without = np.flatnonzero(pairs.row_of < 0)
  # Images without a label are lost samples, or all have none.
  if len(without) and (annotations.features or annotations.scalars):
    have = "no boxes" if BOXES in annotations.features else "no values of its columns"
    result.append(
      f"{annotations.what}: {len(without)} of {len(folder)} images have no annotations "
      f"and {have}, as {folder.path(without[0])}"
    )
  return result


def annotate(
  folder: SampleSource,
  paths: Sequence[str],
  skips: bool,
  named: Named = UNNAMED,
) -> AnnotatedSource:
  """Adds annotations to a folder of images.

  An image has the annotations of its path below the folder, of an end of it, or of its
  name, with or without the extension. If it has none, a name counts that differs in the
  case of letters, in the form of those with accents, or in slashes, and no other. One
  without any has no boxes.

  Args:
    folder: the images.
    paths: of the annotations.
    skips: whether files among them that cannot be looked at are passed over.
    named: columns of tables that the user names.

  Raises:
    ConvertError: annotations cannot be read, belong to two images or to none, or two of
      them give the same.
  """
  found: set[str] = set()
  every = [read(path, skips, named, found) for path in paths]
  _check_named(paths, named, found)
  return join(folder, every)


def join(folder: SampleSource, every: Sequence[Annotations]) -> AnnotatedSource:
  """Adds annotations that were read to a folder of images; see `annotate`."""
  _check_apart(folder, every)
  # Images and annotations may be in one folder.
  told = {storage.join(folder.root, one.path) for one in folder.skipped}
  skipped: list[LeftOut] = []
  notes: list[str] = []
  given = []
  for annotations in every:
    pairs = _Pairs(folder, annotations)
    if not pairs.image_of:
      key = next(iter(annotations.keys), None)
      given_as = argument("annotations", annotations.what)
      raise ConvertError(
        f"{given_as} are of no image below {folder.root}"
        + ("" if key is None else f": the first is of {key}, and the first image is ")
        + ("" if key is None else folder.path(0))
      )
    skipped += _left_out(folder, annotations, pairs, told)
    notes += _notes(pairs, folder, annotations)
    given.append(Matched(annotations, pairs.row_of))
  # An image that is not there is lost once, whatever is said of it.
  once = {one.path: one for one in reversed(skipped)}
  return AnnotatedSource(folder, given, list(once.values())[::-1], notes)


def _check_named(paths: Sequence[str], named: Named, found: set[str]) -> None:
  """Raises ConvertError where no table has a column that the user names."""
  labels = (named.label,) if isinstance(named.label, str) else named.label or ()
  for name, wanted in (("name_column", (named.name,)), ("label_column", labels)):
    lacking = [column for column in wanted if column and column not in found]
    if lacking:
      tables = [path for path in paths if is_table(path)]
      raise ConvertError(
        f"{argument(name, lacking[0])} must be a column of "
        + (" or ".join(tables) if tables else f"a table ({few(paths)} is none)")
      )


def _check_apart(folder: SampleSource, every: Sequence[Annotations]) -> None:
  """Raises ConvertError where two annotations give the same."""
  first: dict[str, str] = {}
  if isinstance(folder, ListedSource):
    first["label"] = folder.list
  for annotations in every:
    for name in annotations.given:
      other = first.setdefault(name, annotations.what)
      if other != annotations.what:
        raise ConvertError(
          f"{other} and {annotations.what} both give {name}: leave it out of one, or "
          "give it another name there"
        )


def _left_out(
  folder: SampleSource, annotations: Annotations, pairs: _Pairs, told: set[str]
) -> list[LeftOut]:
  """Files among annotations that are none, and annotations of no image."""
  skipped = [one for one in annotations.skipped if one.path not in told]
  for key, row in annotations.keys.items():
    if row in pairs.image_of:
      continue
    if row not in annotations.doubtful:
      reason = f"is annotated in {annotations.file(row)}, but is no image below"
      skipped.append(LeftOut(key, f"{reason} {folder.root}", 1))
    elif annotations.file(row) not in told:
      skipped.append(LeftOut(annotations.file(row), annotations.faults[row]))
  return skipped
