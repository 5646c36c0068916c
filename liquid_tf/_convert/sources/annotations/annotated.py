"""A folder of images with annotations beside it."""

import io
import os
import posixpath
import unicodedata
from collections.abc import Sequence

import numpy as np
import tensorflow as tf
from PIL import Image

from liquid_tf._convert.graph import by_python, first_error
from liquid_tf._convert.sources.annotations.annotations import BOXES, Annotations
from liquid_tf._convert.sources.annotations.read import read
from liquid_tf._convert.sources.folders import FolderSource
from liquid_tf._convert.sources.left_out import LeftOut
from liquid_tf._convert.sources.samples import PassedSource
from liquid_tf._native import image_ops, ops
from liquid_tf._store import storage
from liquid_tf._words import argument
from liquid_tf.errors import ConvertError


class AnnotatedSource(PassedSource):
  """The samples of a folder, whose examples hold what annotations say of them.

  Args:
    folder: the images.
    annotations: of them.
    row_of: shape [samples], positions in the annotations, -1 for none.
    skipped: files among the annotations that are none, and images that are annotated
      and not there.
    notes: sentences on the annotations.
  """

  def __init__(
    self,
    folder: FolderSource,
    annotations: Annotations,
    row_of: np.ndarray,
    skipped: Sequence[LeftOut],
    notes: Sequence[str],
  ):
    super().__init__(folder)
    self.skipped += skipped
    self.notes += notes
    self.features = annotations.features
    self._annotations = annotations
    self._row_of = row_of

  def columns(self, positions: Sequence[int], targets: Sequence[str] | None) -> tuple:
    rows = self._row_of[np.asarray(positions, np.int64)]
    return *super().columns(positions, targets), rows

  def load(self, *columns: tf.Tensor) -> dict[str, tf.Tensor]:
    *given, row = columns
    loaded = super().load(*given)
    example, error = by_python(
      self._example, [row, loaded["image"]], tf.string, tf.string
    )
    return loaded | {
      "example": example,
      "crc32c": ops.lib().liquid_crc32c(example, loaded["crc32c"]),
      "error": first_error(loaded["error"], error),
    }

  def _example(self, row: np.int64, image: bytes) -> tuple[bytes, bytes]:
    size = _size(image)
    fault = self._annotations.fault(int(row), size)
    if fault:
      return b"", fault.encode()
    return self._annotations.example(int(row), size), b""


def _size(image: bytes) -> tuple[int, int] | None:
  """Height and width by the header; None where nothing knows the format."""
  try:
    height, width, _ = image_ops.peek(image).shape.numpy().tolist()
    return height, width
  except tf.errors.OpError:
    pass  # It may be one that Pillow reads.
  try:
    with Image.open(io.BytesIO(image)) as opened:
      return opened.height, opened.width
  except Exception:  # Whether the image is sound is for the codecs to say.
    return None


def _candidates(path: str) -> list[str]:
  """Keys that an image may have, the longest first."""
  parts = path.split("/")
  tails = ["/".join(parts[i:]) for i in range(len(parts))]
  return [key for tail in tails for key in (tail, os.path.splitext(tail)[0])]


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

  def __init__(self, folder: FolderSource, annotations: Annotations):
    self._folder = folder
    self._annotations = annotations
    self.row_of = np.full(len(folder), -1, np.int64)
    self.image_of: dict[int, int] = {}
    self.alike: list[tuple[str, str]] = []
    for i in range(len(folder)):
      keys = _candidates(folder.path(i))
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
      folded = _candidates(_folded(image))
      keys = next((left[key] for key in folded if key in left), ())
      if len(keys) > 1:
        raise ConvertError(
          f"annotations of {keys[0]} and of {keys[1]} in {self._annotations.what} fit "
          f"{image}, which differs from both: name it as the image"
        )
      for key in keys:
        self._pair(i, key)
        self.alike.append((image, key))


def _notes(pairs: _Pairs, folder: FolderSource, annotations: Annotations) -> list[str]:
  """Sentences on images without annotations, and on names that are only alike."""
  result = list(annotations.notes)
  if pairs.alike:
    image, key = pairs.alike[0]
    result.append(
      f"{annotations.what}: names of {len(pairs.alike)} images are written otherwise "
      f"than those of their files, as {key} for {image}"
    )
  without = np.flatnonzero(pairs.row_of < 0)
  if len(without):
    have = "no boxes" if BOXES in annotations.features else "zeros and empty texts"
    result.append(
      f"{annotations.what}: {len(without)} of {len(folder)} images have no annotations "
      f"and {have}, as {folder.path(without[0])}"
    )
  return result


def annotate(folder: FolderSource, path: str, skips: bool) -> AnnotatedSource:
  """Adds annotations to a folder of images.

  An image has the annotations of its path below the folder, of an end of it, or of its
  name, with or without the extension. If it has none, a name counts that differs in the
  case of letters, in the form of those with accents, or in slashes, and no other. One
  without any has no boxes.

  Args:
    folder: the images.
    path: of the annotations.
    skips: whether files among them that cannot be looked at are passed over.

  Raises:
    ConvertError: the annotations cannot be read, or belong to two images, or to none.
  """
  annotations = read(path, skips)
  pairs = _Pairs(folder, annotations)
  if not pairs.image_of:
    key = next(iter(annotations.keys), None)
    raise ConvertError(
      f"{argument('annotations', path)} are of no image below {folder.root}"
      + ("" if key is None else f": the first is of {key}, and the first image is ")
      + ("" if key is None else folder.path(0))
    )
  # Images and annotations may be in one folder.
  told = {storage.join(folder.root, one.path) for one in folder.skipped}
  skipped = [one for one in annotations.skipped if one.path not in told]
  for key, row in annotations.keys.items():
    if row in pairs.image_of:
      continue
    if row not in annotations.doubtful:
      reason = f"is annotated in {annotations.file(row)}, but is no image below"
      skipped.append(LeftOut(key, f"{reason} {folder.root}", 1))
    elif annotations.file(row) not in told:
      skipped.append(LeftOut(annotations.file(row), annotations.faults[row]))
  notes = _notes(pairs, folder, annotations)
  return AnnotatedSource(folder, annotations, pairs.row_of, skipped, notes)
