"""Folders of image files, and what their names say about them."""

import array
import functools
import os
import re
from collections.abc import Callable, Iterable, Sequence
from types import ModuleType
from typing import Protocol

import numpy as np
import tensorflow as tf

from liquid_tf._convert.graph import by_python, first_error
from liquid_tf._convert.output import beside
from liquid_tf._convert.sources import alike, image_files, other_files, s3_walk, walk
from liquid_tf._convert.sources.file_table import FileTable, PairTable
from liquid_tf._convert.sources.left_out import LeftOut, most_telling
from liquid_tf._convert.sources.mask_names import SAME_NAMES, MaskNames, pair
from liquid_tf._convert.sources.masks import decode_mask
from liquid_tf._convert.sources.samples import DEFAULT_SPLIT, SPLITS, SampleSource
from liquid_tf._native import ops
from liquid_tf._store import schemes, storage
from liquid_tf._words import argument, few
from liquid_tf.errors import ConvertError

# Folders that are meant to be splits, whether or not they are named as in SPLITS.
_LIKE_A_SPLIT = re.compile(
  r"(train|training|val|valid|validation|test|testing)([\W_]*(set|data|images|\d+))?",
  re.IGNORECASE,
)
EMPTY = "the file is empty"
# In place of the label of an image that is in no class folder.
_LOOSE = -1


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
    skipped: what is in no sample.
    lossy_masks: whether masks are taken whose format may have changed their numbers.
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
    skipped: list[LeftOut],
    lossy_masks: bool = False,
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
      is_remote=any(storage.is_remote(folder) for folder in (root, masks or "")),
    )
    self.labels = labels
    self._masks = masks
    self._lossy_masks = lossy_masks

  def columns(self, positions: Sequence[int], targets: Sequence[str] | None) -> tuple:
    del targets
    paths = _below(self.root, map(self.files.path, positions))
    masks = [b""] * len(paths)
    if self._masks is not None:
      masks = _below(self._masks, map(self.files.mask, positions))
    labels = self.labels[np.asarray(positions, np.int64)].astype(np.float32)
    return np.array(paths, object), np.array(masks, object), labels

  def load(
    self, path: tf.Tensor, mask: tf.Tensor, label: tf.Tensor
  ) -> dict[str, tf.Tensor]:
    image, crc, error = _read(path)
    result = {
      "image": image,
      "labels": tf.zeros([0]) if self.classes is None else label[tf.newaxis],
      "example": tf.constant(b""),
      "crc32c": crc,
      "error": error,
    }
    if self.has_masks:
      raw, mask_crc, mask_error = _read_mask(mask, self._lossy_masks)
      result |= {"mask": raw, "mask_crc32c": mask_crc}
      result["error"] = first_error(error, mask_error)
    return result


def _below(folder: str, names: Iterable[bytes]) -> list[bytes]:
  """Where ops read files below a folder."""
  root = os.fsencode(folder) + b"/"
  return [root + name for name in names]


def _read(path: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
  """Returns what a file holds, its CRC-32C, and an error."""
  contents, crc, error = ops.lib().liquid_read_file(path=path)
  empty = tf.equal(error, "") & tf.equal(contents, "")
  return contents, crc, tf.where(empty, EMPTY, error)


def _read_mask(path: tf.Tensor, lossy: bool) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
  """Returns a mask as a raw encoding, the CRC-32C of its file, and an error."""
  contents, crc, read_error = _read(path)
  decode = functools.partial(decode_mask, lossy=lossy)
  raw, error = by_python(decode, [contents], tf.string, tf.string)
  return raw, crc, first_error(read_error, error)


def _is_inside(path: str, folder: str) -> bool:
  """Whether a path is below a folder, or is it, links resolved."""
  if storage.is_remote(path) or storage.is_remote(folder):
    return (path.rstrip("/") + "/").startswith(folder.rstrip("/") + "/")
  folder = os.path.realpath(folder)
  return os.path.commonpath([os.path.realpath(path), folder]) == folder


def _places(outputs: Iterable[str]) -> list[str]:
  """The folders that are written: outputs, and what is beside local ones."""
  return [
    place
    for output in outputs
    for place in ((output,) if storage.is_remote(output) else (output, beside(output)))
  ]


def is_folder(path: str) -> bool:
  """Whether a path is that of a folder, or of S3, where objects are below it.

  Raises:
    ConvertError: listing failed.
  """
  return s3_walk.is_folder(path) if storage.is_remote(path) else os.path.isdir(path)


def check_apart(path: str, *outputs: str) -> None:
  """Raises ConvertError if a file of the source would be inside an output."""
  for place in _places(outputs):
    if _is_inside(path, place):
      raise ConvertError(
        f"{argument('source', path)} must not be inside {argument('output', place)}"
      )


def check_places(source: str, masks: str | None, *outputs: str) -> None:
  """Raises ConvertError unless source, masks and outputs are apart from each other."""
  places = _places(outputs)
  for name, folder in (("source", source), ("masks", masks)):
    if folder is None:
      continue
    given = argument(name, folder)
    if not schemes.is_http(folder) and not is_folder(folder):
      raise ConvertError(f"{given} must be an existing folder")
    for place in places:
      if _is_inside(place, folder):
        raise ConvertError(f"{argument('output', place)} must not be inside {given}")
      if _is_inside(folder, place):
        raise ConvertError(f"{given} must not be inside {argument('output', place)}")
  if masks is not None:
    if _is_inside(masks, source) or _is_inside(source, masks):
      raise ConvertError(
        f"{argument('masks', masks)} and {argument('source', source)} must be "
        "folders side by side"
      )


class Tree(Protocol):
  """Files that look like those of a folder, and are listed already.

  Attributes:
    skipped: what is no file of it.
  """

  skipped: list[LeftOut]

  def folders(self, folder: bytes) -> Iterable[tuple[bytes, bool]]:
    """Names in a folder, and whether each is a folder; see `walk.folders`."""

  def files(self) -> Iterable[tuple[bytes, int, int]]:
    """Path, size and time of change of each file, in the order of paths."""

  def head(self, path: bytes) -> bytes:
    """The first `image_files.HEAD` bytes of a file, or an OSError."""


def lister(folder: str) -> ModuleType:
  """Chooses the module that lists a folder."""
  return s3_walk if storage.is_remote(folder) else walk


def _class_names(
  root: str, below: dict[str, str], must_have: bool, tree: Tree | None
) -> list[str] | None:
  """Names of the class folders of all splits, sorted; None where there are none.

  Args:
    root: the source.
    below: the folder of each split, as it stands in paths below the source.
    must_have: whether every split must hold some, where one does.
    tree: what is listed in place of the folder, or None.

  Raises:
    ConvertError: one holds none, or two names are hardly different.
  """
  found = {
    split: _folders(storage.join(root, folder), tree) for split, folder in below.items()
  }
  without = [split for split, names in found.items() if not names]
  if len(without) == len(found) or (without and not must_have):
    return None
  if without:
    raise ConvertError(
      f"{argument('source', root)}: every split must hold class folders, but "
      f"{', '.join(without)} holds none"
    )
  places = {
    name: storage.join(below[split], name) if below[split] else name
    for split, names in found.items()
    for name in names
  }
  both = alike.first_alike(places)
  if both is not None:
    raise ConvertError(
      f"{argument('source', root)} has class folders "
      f"{alike.differ_only(both, places)}: give both one name if they are one class, "
      "or clearly different ones"
    )
  return sorted(places, key=os.fsencode)


def _folders(path: str, tree: Tree | None) -> list[str]:
  """Names of the visible folders in a folder, sorted."""
  found = (tree or lister(path)).folders(os.fsencode(path))
  names = (os.fsdecode(name) for name, is_folder in found if is_folder)
  return sorted(names, key=os.fsencode)


def split_names(root: str, tree: Tree | None = None) -> list[str]:
  """The splits, which are all folders of the source; or none.

  Raises:
    ConvertError: some folders are named like splits, and are none. One alone beside
      others, without a folder in it, may be a class: there are pictures of trains.
  """
  every = _folders(root, tree)
  if set(every) <= set(SPLITS):
    return [name for name in SPLITS if name in every]
  alike = [name for name in every if _LIKE_A_SPLIT.fullmatch(name)]
  others = [name for name in every if name not in alike]
  if not alike:
    return []
  if len(alike) == 1 and others and not _folders(storage.join(root, alike[0]), tree):
    return []
  advice = []
  if not set(alike) <= set(SPLITS):
    advice.append("rename them")
  if others:
    advice.append(f"move {few(others)} away")
  raise ConvertError(
    f"{argument('source', root)} has folders ({few(alike)}) that are named like "
    f"splits, but splits must be named {', '.join(SPLITS[:-1])} or {SPLITS[-1]}, "
    f"with no other folder beside them: {' and '.join(advice)}, or give the folder "
    f"of one split, as {storage.join(root, alike[0])}; if they are no splits, put "
    'all folders into one named "train", and give the folder that holds it'
  )


def _nothing() -> None:
  """Shows no progress."""


def list_folder(
  root: str,
  masks: str | None = None,
  mask_names: MaskNames = SAME_NAMES,
  lossy_masks: bool = False,
  annotated: bool = False,
  skips: bool = True,
  step: Callable[[], None] = _nothing,
  tree: Tree | None = None,
) -> FolderSource:
  """Lists a folder of class folders, of images, or of images with masks.

  Args:
    root: the folder. If all folders in it are named as in SPLITS, these are splits.
    masks: a folder with a mask for each image, at the same path with any extension.
    mask_names: how the names of masks differ.
    lossy_masks: whether masks are taken whose format may have changed their numbers.
    annotated: whether something else says what images show. Folders beside images are
      then no classes.
    skips: whether files and folders that cannot be looked at are passed over.
    step: is called for each file.
    tree: what is listed in place of the folder, which is then a name for errors.

  Returns:
    The source. Files that are in no sample are in `skipped`, none is forgotten.

  Raises:
    ConvertError: a folder cannot be read, or its layout is ambiguous.
  """
  splits = split_names(root, tree)
  below = {name: name for name in splits} or {DEFAULT_SPLIT: ""}
  classes = None
  if masks is None:
    classes = _class_names(root, below, not annotated, tree)
  labels = {os.fsencode(name): label for label, name in enumerate(classes or [])}
  numbers = {os.fsencode(name): number for number, name in enumerate(splits)}

  listed = tree or lister(root).Walk(root, skips, step)
  head = image_files.heads_of(root) if tree is None else tree.head
  skipped = listed.skipped
  files = FileTable()
  split_of, label_of = array.array("B"), array.array("i")
  for path, size, mtime_ns in image_files.only_images(listed.files(), head, skipped):
    # Of the folders only; and of those, split and class alone matter.
    parts = path.split(b"/", 2)[:-1]
    if splits and not parts:
      reason, advice = "is in no folder of a split", f"move it into {few(splits)}"
      skipped.append(LeftOut(os.fsdecode(path), reason, 1, advice))
      continue
    files.add(path, size, mtime_ns)
    split_of.append(numbers[parts.pop(0)] if splits else 0)
    label_of.append(labels[parts[0]] if labels and parts else _LOOSE)
  split_of, label_of = np.array(split_of), np.array(label_of)
  is_loose = label_of == _LOOSE
  if is_loose.all() or (annotated and is_loose.any()):
    classes, label_of = None, np.full_like(label_of, _LOOSE)
  elif is_loose.any():
    reason = "is in no class folder"
    advice = f"move it into one ({few(classes)}), or these away"
    for number in np.flatnonzero(is_loose).tolist():
      skipped.append(LeftOut(files[number].path, reason, 1, advice))
    files = files.take(np.flatnonzero(~is_loose).tolist())
    split_of, label_of = split_of[~is_loose], label_of[~is_loose]
  if masks is not None and len(files):
    found = _list_masks(masks, mask_names, skips, step, skipped)
    files = pair(files, found, masks, mask_names, skipped)
    split_of, label_of = split_of[files.image_of], label_of[files.image_of]
  if not len(files):
    raise ConvertError(
      f"{argument('source', root)} holds no image files{_instead(root, skipped)}"
    )
  return FolderSource(
    root,
    masks,
    files,
    split_of,
    label_of,
    classes,
    splits or [DEFAULT_SPLIT],
    skipped,
    lossy_masks,
  )


def _instead(root: str, skipped: list[LeftOut]) -> str:
  """Says what a folder without images holds."""
  found = other_files.most_telling(one.path for one in skipped)
  if found is not None:
    path, kind = found
    folder = storage.join(root, os.path.dirname(path)).rstrip("/")
    advice = kind.advice.replace("FOLDER", folder)
    return f": {path} is {kind.name}; {advice}"
  return most_telling(skipped)


def _list_masks(
  folder: str,
  names: MaskNames,
  skips: bool,
  step: Callable[[], None],
  skipped: list[LeftOut],
) -> FileTable:
  """Lists the masks of a folder; see `list_folder`."""
  walked = lister(folder).Walk(folder, skips, step)
  every = walked.files()
  named = (one for one in every if names.of_mask(one[0], spelled=True) is not None)
  result, head = FileTable(), image_files.heads_of(folder)
  for file in image_files.only_images(named, head, walked.skipped):
    result.add(*file)
  name = os.path.basename(os.path.abspath(folder))
  # Its image, which has no mask then, is the sample that is lost.
  skipped += [LeftOut(f"{name}/{one.path}", one.reason) for one in walked.skipped]
  return result
