"""Stacks of images and their labels in files of NumPy.

  images.npy  [n, h, w] or [n, h, w, c], uint8 or uint16; labels.npy beside it
  data.npz    x_train, y_train, x_test …, or images, labels, or train_images …

An image of an .npy is read where it is, by position; an .npz is compressed, or has
checksums of whole arrays, and is read from its begin to its end.
"""

import contextlib
import dataclasses
import io
import math
import os
import re
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from liquid_tf._convert import pillow
from liquid_tf._convert.sources import reading
from liquid_tf._convert.sources.examples import ExampleNames
from liquid_tf._convert.sources.items import Origin
from liquid_tf._convert.sources.iterable import Unlisted
from liquid_tf._convert.sources.samples import (
  DEFAULT_SPLIT,
  name_files,
  splits_of_files,
  stat_files,
)
from liquid_tf._store import schemes, storage, text_file
from liquid_tf._words import few, said
from liquid_tf.errors import ConvertError

_NPY, _NPZ = ".npy", ".npz"
EXTENSIONS = (_NPY, _NPZ)

# By the word that an array of images has in its name: those that its labels have.
_LABELS = {
  "images": ("labels", "label", "targets"),
  "image": ("label", "labels", "target"),
  "imgs": ("labels", "label"),
  "img": ("label", "labels"),
  "x": ("y", "Y"),
  "data": ("labels", "label", "targets", "target"),
}
_NAMED = re.compile(rf"(.*[_-])?({'|'.join(_LABELS)})([_-].*)?", re.IGNORECASE)
_STRETCH = 1 << 20
# A record of a dataset holds less; and labels are in memory.
_LARGEST_IMAGE, _LARGEST_LABELS = 1 << 29, 1 << 30
_READERS = {
  (1, 0): np.lib.format.read_array_header_1_0,
  (2, 0): np.lib.format.read_array_header_2_0,
}


@dataclasses.dataclass(frozen=True)
class _Array:
  """An array of a file, before its values are read.

  Attributes:
    path: of the file, or its URL.
    name: of the array: that of the file, or of its part in an .npz.
    member: the part of an .npz; None for an .npy.
    shape: of the array.
    dtype: of the array.
    in_order: whether its last axis changes fastest.
    offset: of its first value, in the file or in the part.
  """

  path: str
  name: str
  member: str | None
  shape: tuple[int, ...]
  dtype: np.dtype
  in_order: bool
  offset: int

  def __str__(self) -> str:
    shown = schemes.shown(self.path)
    return shown if self.member is None else f"{shown}, {self.name}"

  @property
  def described(self) -> str:
    return f"{self.name} ({self.dtype} of shape {list(self.shape)})"

  @property
  def one(self) -> int:
    """Bytes of what is at a position of the first axis."""
    return math.prod(self.shape[1:]) * self.dtype.itemsize

  def wrong(self, problem: str) -> ConvertError:
    return ConvertError(
      f"{self} is {self.dtype} of shape {list(self.shape)}: {problem}"
    )

  @contextlib.contextmanager
  def opened(self) -> Iterator[io.BufferedIOBase]:
    """Opens the file where the values begin."""
    with _opened(self.path, self.member) as file:
      self.values(file, self.offset)
      yield file

  def values(self, file: io.BufferedIOBase, size: int) -> bytes:
    """Reads bytes of an opened file.

    Raises:
      ConvertError: there are fewer.
    """
    with _explained(str(self)):
      found = file.read(size)
    if len(found) < size:
      raise ConvertError(f"{self} is cut off, {size - len(found)} bytes too early")
    return found


@contextlib.contextmanager
def _explained(what: str) -> Iterator[None]:
  """Turns what readers raise into one sentence."""
  try:
    yield
  except (
    *(OSError, ValueError, EOFError, RuntimeError, zlib.error),
    *(zipfile.BadZipFile, NotImplementedError),
  ) as error:
    raise ConvertError(f"{what} cannot be read: {error}") from error


@contextlib.contextmanager
def _opened(path: str, member: str | None) -> Iterator[io.BufferedIOBase]:
  """Opens an .npy, or a part of an .npz."""
  with contextlib.ExitStack() as stack:
    with _explained(schemes.shown(path)):
      file = stack.enter_context(reading.opened(path, _STRETCH))
      if member is not None:
        file = stack.enter_context(zipfile.ZipFile(file)).open(member)
        stack.enter_context(file)
    yield file


def _array(
  file: io.BufferedIOBase, path: str, name: str, member: str | None, size: int
) -> _Array:
  """Reads the header of an array.

  Args:
    file: at its begin.
    path: as all others, of `_Array`.
    name: likewise.
    member: likewise.
    size: bytes of the file, or of the part.

  Raises:
    ValueError: it is no array, or is cut off, or more than one.
  """
  version = np.lib.format.read_magic(file)
  if version not in _READERS:
    raise ValueError(f"its version {version} of NumPy's format is not known")
  try:
    shape, by_column, dtype = _READERS[version](file)
  except Exception as error:  # NumPy raises whatever Python's parser meets.
    raise ValueError(f"its header is damaged: {error}") from error
  if min(shape, default=0) < 0:
    raise ValueError(f"its shape is {shape}")
  found = _Array(path, name, member, shape, dtype, not by_column, file.tell())
  if dtype.hasobject:
    return found
  whole = found.offset + math.prod(shape) * dtype.itemsize
  if size != whole:
    raise ValueError(f"{found.described} takes {whole} bytes, and there are {size}")
  return found


def _arrays(path: str, size: int) -> list[_Array]:
  """The arrays of a file.

  Raises:
    ConvertError: it is damaged, or none of NumPy.
  """
  shown = schemes.shown(path)
  with _explained(shown):
    if not shown.lower().endswith(_NPZ):
      name = os.path.splitext(os.path.basename(shown))[0]
      with _opened(path, None) as file:
        return [_array(file, path, name, None, size)]
    result = []
    with reading.opened(path, _STRETCH) as file, zipfile.ZipFile(file) as archive:
      for part in archive.infolist():
        name = part.filename
        if name.endswith(_NPY):
          with archive.open(part) as opened:
            array = _array(opened, path, name[: -len(_NPY)], name, part.file_size)
          result.append(array)
    return result


def _check_images(array: _Array) -> None:
  """Raises ConvertError unless an array is a stack of images."""
  shape, dtype = array.shape, array.dtype
  if dtype.hasobject:
    raise array.wrong(
      "objects of Python are not read, as they may be programs: save an array of uint8"
    )
  if len(shape) not in (3, 4):
    raise array.wrong("images must have the shape [n, h, w] or [n, h, w, c]")
  if len(shape) == 3 and shape[2] <= 4:
    raise array.wrong(
      "it looks like one image, and a stack has [n, h, w] or [n, h, w, c]: save "
      "array[None], or give the image's file in a folder"
    )
  if len(shape) == 4 and not 1 <= shape[3] <= 4:
    advice = ": save array.transpose(0, 2, 3, 1)" if 1 <= shape[1] <= 4 else ""
    raise array.wrong(f"an image has 1 to 4 channels, in its last axis{advice}")
  if dtype.kind == "f":
    raise array.wrong(
      "images are uint8 or uint16: save (array * 255).round().astype(numpy.uint8), if "
      "its numbers are from 0 to 1; if they are whole numbers that int16 holds, "
      f"{pillow.OF_SIGNED}"
    )
  if dtype == np.int16:
    raise array.wrong(f"images are uint8 or uint16: {pillow.OF_SIGNED}")
  if dtype.kind == "b":
    raise array.wrong("images are uint8: save array.astype(numpy.uint8) * 255")
  if dtype.kind != "u" or dtype.itemsize > 2:
    raise array.wrong(
      "images are uint8 or uint16: save array.astype(numpy.uint8), if its numbers are "
      "from 0 to 255"
    )
  if not all(shape):
    raise array.wrong("it has no images")
  if not array.in_order:
    raise array.wrong("it is in Fortran's order: save numpy.ascontiguousarray(array)")
  if array.one > _LARGEST_IMAGE:
    raise array.wrong(f"an image must have less than {_LARGEST_IMAGE} bytes")


def _choose(arrays: Sequence[_Array], given: str | None, what: str) -> list[_Array]:
  """The arrays that are images.

  Args:
    arrays: of all files.
    given: name of the one that is meant, where the user gave one.
    what: the files, for people.

  Raises:
    ConvertError: that is not clear.
  """
  every = ", ".join(array.described for array in arrays) or "none"
  if given is not None:
    found = [array for array in arrays if array.name == given]
  else:
    stacks = [array for array in arrays if len(array.shape) >= 3]
    found = [array for array in stacks if _NAMED.fullmatch(array.name)] or stacks
    unclear = [a for a in found if a.member and not _NAMED.fullmatch(a.name)]
    if len({array.path for array in unclear}) < len(unclear):
      raise ConvertError(
        f"{schemes.shown(unclear[0].path)} has images in "
        f"{few([a.name for a in unclear])}: choose one with {said('image_feature=…')}, "
        "or name them by their splits, as x_train and x_test"
      )
  if not found:
    lacks = "images, [n, h, w] or [n, h, w, c]" if given is None else given
    raise ConvertError(f"{what} has no array of {lacks}; its arrays are {every}")
  for array in found:
    _check_images(array)
  return found


def _label_names(array: _Array, given: str | None) -> list[str]:
  """The names that the labels of images may have."""
  if given is not None:
    return [given]
  match = _NAMED.fullmatch(array.name)
  if match is None:
    return ["labels", "label", "y"]
  before, word, after = (part or "" for part in match.groups())
  names = [f"{before}{label}{after}" for label in _LABELS[word.lower()]]
  return names + ["labels"] * (array.member is None)


def _searches(images: _Array) -> bool:
  """Whether labels are looked for: not beside a file of HTTP whose URL has a query."""
  return images.member is not None or images.path == schemes.shown(images.path)


def _without_labels(images: _Array) -> str:
  """A sentence on images beside which no labels were found."""
  names = [
    name + ("" if images.member else _NPY) for name in _label_names(images, None)
  ]
  return (
    f"{images}: without labels, as none of {', '.join(names)} is beside it; "
    f"{said('label_feature=…')} names another"
  )


def _find_labels(
  images: _Array, arrays: Sequence[_Array], given: str | None
) -> _Array | None:
  """The labels of images: beside them in an .npz, or in an .npy beside theirs."""
  if given == "":
    return None
  names = _label_names(images, given)
  for name in names:
    if images.member is not None:
      for one in arrays:
        if one.path == images.path and one.name == name:
          return one
    elif _searches(images):
      path = storage.join(reading.folder_of(images.path), name + _NPY)
      with text_file.explained(path):
        size = storage.file_size(path)
      if size is not None and path != images.path:
        return _arrays(path, size)[0]
  if given is not None:
    raise ConvertError(f"{images} has no labels {given} beside it")
  return None


def _read_labels(labels: _Array, images: _Array) -> np.ndarray:
  """The labels of images: [n], numbers or texts, or [n, k], numbers.

  Raises:
    ConvertError: they cannot be labels, or are not as many.
  """
  ignore = f"{said('label_feature=…')} names other ones, and an empty one none"
  if labels.dtype.hasobject:
    raise labels.wrong(
      f"objects of Python are not read, as they may be programs; {ignore}"
    )
  shape = labels.shape
  if not (labels.dtype.kind in "buif" or labels.dtype.kind in "US") or not (
    len(shape) in (1, 2) and labels.in_order
  ):
    raise labels.wrong(
      f"labels must be numbers or texts of shape [n], or numbers of shape [n, k]; "
      f"{ignore}"
    )
  if shape[0] != images.shape[0]:
    raise labels.wrong(f"there are {images.shape[0]} images in {images}; {ignore}")
  if labels.one * shape[0] > _LARGEST_LABELS:
    raise labels.wrong(f"labels must take at most {_LARGEST_LABELS} bytes")
  with labels.opened() as file:
    data = labels.values(file, labels.one * shape[0])
  found = np.frombuffer(data, labels.dtype).reshape(shape)
  # A column of classes, as medmnist has it.
  found = found[:, 0] if found.shape[1:] == (1,) else found
  if labels.dtype.kind == "S":
    with _explained(str(labels)):
      found = np.char.decode(found, "utf-8")
  return found.astype(np.int64) if labels.dtype.kind == "b" else found


class Stacks:
  """Images of arrays, in their order, as items.

  Args:
    images: the arrays.
    labels: those of each array; or None.
    splits: the split of each array; None where names say none.
    named: of each array: its file, below the folder of all, and its name there.
  """

  def __init__(
    self,
    images: Sequence[_Array],
    labels: Sequence[np.ndarray | None],
    splits: Sequence[str | None],
    named: Sequence[str],
  ):
    self._images, self._labels = images, labels
    self._splits, self._named = splits, named
    self._begins = np.append(0, np.cumsum([array.shape[0] for array in images]))

  def _where(self, number: int) -> tuple[int, int]:
    """The array of an image, and its position there."""
    last = len(self._images) - 1
    array = min(int(np.searchsorted(self._begins, number, "right")) - 1, last)
    return array, number - int(self._begins[array])

  def place(self, number: int) -> str:
    """The array of an image, and its number there."""
    array, position = self._where(number)
    return f"{self._named[array]}, image {position}"

  def _item(self, array: int, position: int, data: bytes) -> dict[str, Any]:
    images, labels = self._images[array], self._labels[array]
    item = {
      "image": np.frombuffer(data, images.dtype).reshape(images.shape[1:]),
      "name": f"{self._named[array]}/{position}",
      "split": self._splits[array],
    }
    if labels is not None:
      label = labels[position]
      item["label"] = label if np.ndim(label) else label.item()
    return item

  def __iter__(self) -> Iterator[dict[str, Any]]:
    """Yields all items.

    Raises:
      ConvertError: a file is damaged.
    """
    for number, array in enumerate(self._images):
      with array.opened() as file:
        for position in range(array.shape[0]):
          yield self._item(number, position, array.values(file, array.one))


class PlacedStacks(Stacks):
  """Images of .npy files, read by position."""

  def __len__(self) -> int:
    return int(self._begins[-1])

  def __getitem__(self, number: int) -> dict[str, Any]:
    array, position = self._where(number)
    images = self._images[array]
    offset = images.offset + position * images.one
    with _explained(str(images)):
      data = reading.read(images.path, offset, images.one)
    return self._item(array, position, images.values(io.BytesIO(data), images.one))


def list_stacks(paths: Sequence[str], names: ExampleNames) -> Unlisted:
  """Lists files of NumPy.

  Args:
    paths: of the files, in order.
    names: of the arrays of images and labels, where the user chose them.

  Raises:
    ConvertError: a file cannot be read, or has no images.
  """
  if names.more:
    raise ConvertError(
      f"{name_files(paths)}: features are none of arrays, which have images and labels"
    )
  _, files = stat_files(paths)
  below = {path: file.path for path, file in zip(paths, files)}
  arrays = [
    array for path, file in zip(paths, files) for array in _arrays(path, file.size)
  ]
  images = _choose(arrays, names.image, name_files(paths))
  labels = [_find_labels(array, arrays, names.label) for array in images]
  found = [one and _read_labels(one, array) for one, array in zip(labels, images)]
  splits, split_of = splits_of_files([array.name for array in images])
  every = [None if splits == [DEFAULT_SPLIT] else splits[one] for one in split_of]
  named = [
    below[array.path] + (f"/{array.name}" if array.member else "") for array in images
  ]
  kind = PlacedStacks if all(array.member is None for array in images) else Stacks
  stacks = kind(images, found, every, named)
  used = [(one.path, one.name) for one in (*images, *filter(None, labels))]
  others = [array for array in arrays if (array.path, array.name) not in used]
  notes = []
  if names.label is None:
    lacking = [array for array, one in zip(images, labels) if one is None]
    notes += [_without_labels(array) for array in lacking if _searches(array)]
  if others:
    notes.append(
      f"{name_files(paths)}: {few([one.described for one in others])}: not kept, "
      "neither images nor their labels; to add values of the samples as columns, call "
      'liquid_tf.annotate(path, {"number": numpy.arange(n), "name": array})'
    )
  return Unlisted(
    stacks,
    sum(array.shape[0] for array in images),
    origin=Origin(name_files(paths), "image", stacks.place),
    kind="numpy",
    notes=notes,
  )
