"""Folders of image files, and what their names say about them."""

import dataclasses
import os
from collections.abc import Iterator, Sequence

import numpy as np
import tensorflow as tf

from liquid_tf import _ops
from liquid_tf._convert.errors import ConvertError
from liquid_tf._convert.masks import decode_mask
from liquid_tf._convert.output import beside
from liquid_tf._convert.source import DEFAULT_SPLIT, SPLITS, Source, SourceFile


class FolderSource(Source):
  """Image files, each a sample; ascending by the bytes of their paths.

  Args:
    root: their folder.
    masks: the folder of their masks, or None.
    files: (file, name of its split, position of its class or -1) of every image.
    classes: sorted names, or None.
    splits: names in order.
    skipped: (path, reason) of files that cannot be samples.
  """

  def __init__(
    self,
    root: str,
    masks: str | None,
    files: list[tuple[SourceFile, str, int]],
    classes: list[str] | None,
    splits: list[str],
    skipped: list[tuple[str, str]],
  ):
    files = sorted(files, key=lambda entry: _bytes(entry[0].path))
    super().__init__(
      root,
      "masks" if masks else "images" if classes is None else "folders",
      [file for file, _, _ in files],
      np.arange(len(files)),
      np.array([splits.index(split) for _, split, _ in files], np.uint8),
      np.array([file.size for file, _, _ in files], np.int64),
      splits=splits,
      classes=classes,
      skipped=skipped,
      has_masks=masks is not None,
    )
    self.labels = np.array([label for _, _, label in files], np.int32)
    self._masks = masks

  def columns(self, positions: Sequence[int], targets: Sequence[str] | None) -> tuple:
    del targets
    files = [self.files[position] for position in positions]
    paths = [_bytes(os.path.join(self.root, file.path)) for file in files]
    masks = [_bytes(os.path.join(self._masks or "", file.mask)) for file in files]
    labels = self.labels[np.asarray(positions, np.int64)].astype(np.float32)
    classes = 0 if self.classes is None else 1
    return paths, masks, np.tile(labels[:, np.newaxis], classes)

  def load(
    self, path: tf.Tensor, mask: tf.Tensor, labels: tf.Tensor
  ) -> dict[str, tf.Tensor]:
    image, crc, error = _ops.lib().liquid_read_file(path=path)
    result = {
      "image": image,
      "labels": labels,
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
  contents, crc, read_error = _ops.lib().liquid_read_file(path=path)
  raw, error = tf.numpy_function(
    decode_mask, [contents], (tf.string, tf.string), stateful=False
  )
  raw, error = tf.ensure_shape(raw, []), tf.ensure_shape(error, [])
  return raw, crc, tf.where(tf.equal(read_error, ""), error, read_error)


@dataclasses.dataclass(frozen=True)
class _Entry:
  path: str
  size: int
  mtime_ns: int


def _bytes(path: str) -> bytes:
  return os.fsencode(path)


def _scan(folder: str) -> list[os.DirEntry]:
  try:
    with os.scandir(folder) as entries:
      return sorted(entries, key=lambda entry: _bytes(entry.name))
  except OSError as error:
    raise ConvertError(f"cannot list {folder}: {error.strerror}") from error


def _walk(
  root: str, below: str, skipped: list[tuple[str, str]], parents: tuple[str, ...] = ()
) -> Iterator[_Entry]:
  """Yields every visible file under root/below; follows links, but not in circles."""
  folder = os.path.join(root, below)
  real = os.path.realpath(folder)
  if real in parents:
    skipped.append((below, "is a link to a folder above it"))
    return
  for entry in _scan(folder):
    path = f"{below}/{entry.name}" if below else entry.name
    if entry.name.startswith("."):
      skipped.append((path, "is hidden"))
    elif entry.is_dir():
      yield from _walk(root, path, skipped, (*parents, real))
    elif entry.is_file():
      stat = entry.stat()
      yield _Entry(path, stat.st_size, stat.st_mtime_ns)
    else:
      skipped.append((path, "is not a file"))


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


def _folders(entries: list[os.DirEntry]) -> list[str]:
  return [e.name for e in entries if e.is_dir() and not e.name.startswith(".")]


def _pair_masks(
  files: list[tuple[str, _Entry]], masks: str, skipped: list[tuple[str, str]]
) -> list[tuple[SourceFile, str, int]]:
  """Gives each image the mask of the same path, extension aside."""
  by_stem: dict[str, _Entry] = {}
  for entry in _walk(masks, "", skipped):
    stem = os.path.splitext(entry.path)[0]
    if stem in by_stem:
      raise ConvertError(
        f'masks ("{masks}") must hold one mask an image, but has '
        f"{by_stem[stem].path} and {entry.path}"
      )
    by_stem[stem] = entry
  result, used = [], set()
  for split, image in files:
    stem = os.path.splitext(image.path)[0]
    mask = by_stem.get(stem)
    if mask is None:
      skipped.append((image.path, "has no mask"))
      continue
    used.add(stem)
    masked = SourceFile(
      image.path, image.size, image.mtime_ns, mask.path, mask.size, mask.mtime_ns
    )
    result.append((masked, split, -1))
  for stem, mask in by_stem.items():
    if stem not in used:
      name = os.path.basename(os.path.abspath(masks))
      skipped.append((f"{name}/{mask.path}", "is a mask without an image"))
  return result


def list_folder(root: str, masks: str | None = None) -> FolderSource:
  """Lists a folder of class folders, of images, or of images with masks.

  Args:
    root: the folder. If it holds folders named as in SPLITS and nothing else visible,
      each of them is a split.
    masks: a folder with a mask for each image, at the same path with any extension.

  Returns:
    The source. Files that cannot be samples are in `skipped`, none is left out.

  Raises:
    ConvertError: a folder cannot be read, or its layout is ambiguous.
  """
  skipped: list[tuple[str, str]] = []
  top = [entry for entry in _scan(root) if not entry.name.startswith(".")]
  names = [entry.name for entry in top]
  has_splits = bool(names) and all(
    entry.is_dir() and entry.name in SPLITS for entry in top
  )
  splits = [name for name in SPLITS if name in names] if has_splits else [DEFAULT_SPLIT]
  below = {name: name if has_splits else "" for name in splits}

  classes = None
  if masks is None:
    found = {
      split: _folders(_scan(os.path.join(root, folder)))
      for split, folder in below.items()
    }
    if any(found.values()):
      without = [split for split, folders in found.items() if not folders]
      if without:
        raise ConvertError(
          f'source ("{root}"): every split must hold class folders, but '
          f"{', '.join(without)} holds none"
        )
      classes = sorted(
        {name for folders in found.values() for name in folders}, key=_bytes
      )
  labels = {name: label for label, name in enumerate(classes or [])}

  files: list[tuple[str, _Entry]] = []
  result: list[tuple[SourceFile, str, int]] = []
  for split, folder in below.items():
    for entry in _walk(root, folder, skipped):
      inner = entry.path[len(folder) + 1 :] if folder else entry.path
      if classes is None:
        files.append((split, entry))
      elif "/" not in inner:
        skipped.append((entry.path, "is in no class folder"))
      else:
        file = SourceFile(entry.path, entry.size, entry.mtime_ns)
        result.append((file, split, labels[inner.split("/", 1)[0]]))
  if masks is not None:
    result = _pair_masks(files, masks, skipped)
  elif classes is None:
    result = [
      (SourceFile(entry.path, entry.size, entry.mtime_ns), split, -1)
      for split, entry in files
    ]
  if not result:
    reasons = "; ".join(f"{path} {reason}" for path, reason in skipped[:3])
    raise ConvertError(
      f'source ("{root}") holds no image files{": " + reasons if reasons else ""}'
    )
  return FolderSource(root, masks, result, classes, splits, skipped)
