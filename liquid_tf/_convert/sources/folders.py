"""Folders of image files, and what their names say about them."""

import array
import os
from collections.abc import Callable, Sequence

import numpy as np
import tensorflow as tf

from liquid_tf._convert.output import beside
from liquid_tf._convert.sources import walk
from liquid_tf._convert.sources.file_table import FileTable, PairTable
from liquid_tf._convert.sources.mask_names import SAME_NAMES, MaskNames, pair
from liquid_tf._convert.sources.masks import decode_mask
from liquid_tf._convert.sources.source import DEFAULT_SPLIT, SPLITS, SampleSource
from liquid_tf._native import ops
from liquid_tf.errors import ConvertError


class FolderSource(SampleSource):
  """Image files, each a sample; ascending by the bytes of their paths.

  Args:
    root: their folder.
    masks: the folder of their masks, or None.
    files: every image, with its mask where there are masks.
    split_of: shape [images], positions in `splits`.
    labels: shape [images], positions in `classes`.
    classes: sorted names, or None.
    splits: names in order.
    skipped: (path, reason) of files that cannot be samples.
  """

  def __init__(
    self,
    root: str,
    masks: str | None,
    files: FileTable | PairTable,
    split_of: np.ndarray,
    labels: np.ndarray,
    classes: list[str] | None,
    splits: list[str],
    skipped: list[tuple[str, str]],
  ):
    super().__init__(
      root,
      "masks" if masks else "images" if classes is None else "folders",
      files,
      np.arange(len(files)),
      split_of,
      files.sizes,
      splits=splits,
      classes=classes,
      skipped=skipped,
      has_masks=masks is not None,
    )
    self.labels = labels
    self._masks = masks

  def columns(self, positions: Sequence[int], targets: Sequence[str] | None) -> tuple:
    del targets
    root = os.fsencode(self.root) + b"/"
    paths = [root + self.files.path(position) for position in positions]
    masks = [b""] * len(paths)
    if self._masks is not None:
      root = os.fsencode(self._masks) + b"/"
      masks = [root + self.files.mask(position) for position in positions]
    labels = self.labels[np.asarray(positions, np.int64)].astype(np.float32)
    return np.array(paths, object), np.array(masks, object), labels

  def load(
    self, path: tf.Tensor, mask: tf.Tensor, label: tf.Tensor
  ) -> dict[str, tf.Tensor]:
    image, crc, error = ops.lib().liquid_read_file(path=path)
    result = {
      "image": image,
      "labels": tf.zeros([0]) if self.classes is None else label[tf.newaxis],
      "example": tf.constant(b""),
      "crc32c": crc,
      "error": error,
    }
    if self.has_masks:
      raw, mask_crc, mask_error = _read_mask(mask)
      result |= {"mask": raw, "mask_crc32c": mask_crc}
      result["error"] = tf.where(tf.equal(error, ""), mask_error, error)
    return result


def _read_mask(path: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
  """Returns a mask as a raw encoding, the CRC-32C of its file, and an error."""
  contents, crc, read_error = ops.lib().liquid_read_file(path=path)
  raw, error = tf.numpy_function(
    decode_mask, [contents], (tf.string, tf.string), stateful=False
  )
  raw, error = tf.ensure_shape(raw, []), tf.ensure_shape(error, [])
  return raw, crc, tf.where(tf.equal(read_error, ""), error, read_error)


def _is_inside(path: str, folder: str) -> bool:
  return os.path.commonpath([path, folder]) == folder


def check_apart(path: str, output: str) -> None:
  """Raises ConvertError if a file of the source would be inside the output."""
  for place in (output, beside(output)):
    if _is_inside(os.path.realpath(path), os.path.realpath(place)):
      raise ConvertError(f'source ("{path}") must not be inside output ("{place}")')


def check_places(source: str, masks: str | None, output: str) -> None:
  """Raises ConvertError unless source, masks and output are apart from each other."""
  for name, folder in (("source", source), ("masks", masks)):
    if folder is None:
      continue
    if not os.path.isdir(folder):
      raise ConvertError(f'{name} ("{folder}") must be an existing folder')
    real = os.path.realpath(folder)
    for place in (output, beside(output)):
      real_place = os.path.realpath(place)
      if _is_inside(real_place, real):
        raise ConvertError(f'output ("{place}") must not be inside {name} ("{folder}")')
      if _is_inside(real, real_place):
        raise ConvertError(f'{name} ("{folder}") must not be inside output ("{place}")')
  if masks is not None:
    real, real_masks = os.path.realpath(source), os.path.realpath(masks)
    if _is_inside(real_masks, real) or _is_inside(real, real_masks):
      raise ConvertError(
        f'masks ("{masks}") and source ("{source}") must be folders side by side'
      )


def _class_names(root: str, below: dict[str, str]) -> list[str] | None:
  """Names of the class folders of all splits, sorted; None where there are none.

  Args:
    root: the source.
    below: the folder of each split, as it stands in paths below the source.
  """
  found = {
    split: {
      os.fsdecode(name)
      for name, is_folder in walk.folders(os.fsencode(os.path.join(root, folder)))
      if is_folder
    }
    for split, folder in below.items()
  }
  if not any(found.values()):
    return None
  without = [split for split, names in found.items() if not names]
  if without:
    raise ConvertError(
      f'source ("{root}"): every split must hold class folders, but '
      f"{', '.join(without)} holds none"
    )
  return sorted(set().union(*found.values()), key=os.fsencode)


def _split_names(root: str) -> list[str]:
  """The splits whose folders are all that is visible in the source, or none."""
  names = []
  for name, is_folder in walk.folders(os.fsencode(root)):
    names.append(os.fsdecode(name))
    if not is_folder or names[-1] not in SPLITS:
      return []
  return [name for name in SPLITS if name in names]


def _nothing() -> None:
  """Shows no progress."""


def list_folder(
  root: str,
  masks: str | None = None,
  mask_names: MaskNames = SAME_NAMES,
  skips: bool = True,
  step: Callable[[], None] = _nothing,
) -> FolderSource:
  """Lists a folder of class folders, of images, or of images with masks.

  Args:
    root: the folder. If it holds folders named as in SPLITS and nothing else visible,
      each of them is a split.
    masks: a folder with a mask for each image, at the same path with any extension.
    mask_names: how the names of masks differ.
    skips: whether files and folders that cannot be looked at are passed over.
    step: is called for each file.

  Returns:
    The source. Files that cannot be samples are in `skipped`, none is left out.

  Raises:
    ConvertError: a folder cannot be read, or its layout is ambiguous.
  """
  splits = _split_names(root)
  below = {name: name for name in splits} or {DEFAULT_SPLIT: ""}
  classes = None if masks is not None else _class_names(root, below)
  labels = {os.fsencode(name): label for label, name in enumerate(classes or [])}
  numbers = {os.fsencode(name): number for number, name in enumerate(splits)}

  listed = walk.Walk(root, skips, step)
  skipped = listed.skipped
  files = FileTable()
  split_of, label_of = array.array("B"), array.array("i")
  for path, info in listed.files():
    # Of the folders only; and of those, split and class alone matter.
    parts = path.split(b"/", 2)[:-1]
    split = numbers[parts.pop(0)] if splits else 0
    if classes is not None and not parts:
      skipped.append((os.fsdecode(path), "is in no class folder"))
      continue
    files.add(path, info.st_size, info.st_mtime_ns)
    split_of.append(split)
    label_of.append(labels[parts[0]] if labels else -1)
  split_of, label_of = np.array(split_of), np.array(label_of)
  if masks is not None and len(files):
    found = FileTable()
    beside_them = walk.Walk(masks, skips, step)
    for path, info in beside_them.files():
      found.add(path, info.st_size, info.st_mtime_ns)
    skipped += beside_them.skipped
    files = pair(files, found, masks, mask_names, skipped)
    split_of, label_of = split_of[files.image_of], label_of[files.image_of]
  if not len(files):
    reasons = "; ".join(f"{path} {reason}" for path, reason in skipped[:3])
    raise ConvertError(
      f'source ("{root}") holds no image files{": " + reasons if reasons else ""}'
    )
  return FolderSource(
    root, masks, files, split_of, label_of, classes, splits or [DEFAULT_SPLIT], skipped
  )
