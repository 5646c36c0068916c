"""A folder of images with annotations beside it."""

import io
import os
from collections.abc import Sequence

import numpy as np
import tensorflow as tf
from PIL import Image

from liquid_tf._convert.sources.annotations.annotations import Annotations
from liquid_tf._convert.sources.annotations.read import read
from liquid_tf._convert.sources.folders import FolderSource
from liquid_tf._convert.sources.source import SampleSource
from liquid_tf._native import ops
from liquid_tf.errors import ConvertError


class AnnotatedSource(SampleSource):
  """The samples of a folder, whose examples hold what annotations say of them.

  Args:
    folder: the images.
    annotations: of them.
    row_of: shape [samples], positions in the annotations, -1 for none.
    skipped: (path, reason) of annotations that belong to no image.
  """

  def __init__(
    self,
    folder: FolderSource,
    annotations: Annotations,
    row_of: np.ndarray,
    skipped: Sequence[tuple[str, str]],
  ):
    super().__init__(
      folder.root,
      folder.kind,
      folder.files,
      folder.file_of,
      folder.split_of,
      folder.sizes,
      splits=folder.splits,
      classes=folder.classes,
      skipped=[*folder.skipped, *skipped],
      features=annotations.features,
      has_masks=folder.has_masks,
      is_remote=folder.is_remote,
    )
    self._folder = folder
    self._annotations = annotations
    self._row_of = row_of

  def columns(self, positions: Sequence[int], targets: Sequence[str] | None) -> tuple:
    rows = self._row_of[np.asarray(positions, np.int64)]
    return *self._folder.columns(positions, targets), rows

  def load(self, *columns: tf.Tensor) -> dict[str, tf.Tensor]:
    *given, row = columns
    loaded = self._folder.load(*given)
    example, error = tf.numpy_function(
      self._example, [row, loaded["image"]], (tf.string, tf.string), stateful=False
    )
    example, error = tf.ensure_shape(example, []), tf.ensure_shape(error, [])
    return loaded | {
      "example": example,
      "crc32c": ops.lib().liquid_crc32c(example, loaded["crc32c"]),
      "error": tf.where(tf.equal(loaded["error"], ""), error, loaded["error"]),
    }

  def _example(self, row: np.int64, image: bytes) -> tuple[bytes, bytes]:
    size = _size(image)
    fault = self._annotations.fault(int(row), size)
    if fault:
      return b"", fault.encode()
    return self._annotations.example(int(row), size), b""


def _size(image: bytes) -> tuple[int, int] | None:
  """Height and width by the header; None where Pillow does not know the format."""
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


def annotate(folder: FolderSource, path: str) -> AnnotatedSource:
  """Adds annotations to a folder of images.

  An image has the annotations of its path below the folder, of an end of it, or of its
  name, with or without the extension; one without any has no boxes.

  Args:
    folder: the images.
    path: of the annotations.

  Raises:
    ConvertError: the annotations cannot be read, or belong to two images, or to none.
  """
  annotations = read(path)
  row_of = np.full(len(folder), -1, np.int64)
  taken: dict[str, str] = {}
  for i in range(len(folder)):
    image = folder.path(i)
    key = next((key for key in _candidates(image) if key in annotations.keys), None)
    if key is None:
      continue
    if key in taken:
      raise ConvertError(
        f"annotations of {key} in {path} fit {taken[key]} and {image}: name images by "
        f"their paths below {folder.root}"
      )
    taken[key] = image
    row_of[i] = annotations.keys[key]
  if not taken:
    key = next(iter(annotations.keys), None)
    raise ConvertError(
      f'annotations ("{path}") are of no image below {folder.root}'
      + ("" if key is None else f": the first is of {key}")
    )
  left = [key for key in annotations.keys if key not in taken]
  skipped = []
  if left:
    reason = f"has annotations of {len(left)} files that are not there, as {left[0]}"
    skipped.append((path, reason))
  return AnnotatedSource(folder, annotations, row_of, skipped)
