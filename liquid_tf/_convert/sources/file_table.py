"""Many files in little memory."""

import array
import os
from collections.abc import Iterable, Sequence

import numpy as np

from liquid_tf._convert.sources.samples import SourceFile


class FileTable(Sequence[SourceFile]):
  """Files in the order in which they were added; each in 24 bytes and its path.

  Add all before the first is read.
  """

  def __init__(self):
    self._paths = bytearray()
    self._ends = array.array("q")
    self._sizes = array.array("q")
    self._mtimes = array.array("q")

  def add(self, path: bytes, size: int, mtime_ns: int) -> None:
    """Adds a file, whose path is below the source's folder."""
    self._paths += path
    self._ends.append(len(self._paths))
    self._sizes.append(size)
    self._mtimes.append(mtime_ns)

  def __len__(self) -> int:
    return len(self._ends)

  def __getitem__(self, number: int) -> SourceFile:
    path = os.fsdecode(self.path(number))
    return SourceFile(path, self._sizes[number], self._mtimes[number])

  def take(self, numbers: Iterable[int]) -> "FileTable":
    """Some of the files."""
    result = FileTable()
    for number in numbers:
      result.add(self.path(number), self._sizes[number], self._mtimes[number])
    return result

  def path(self, number: int) -> bytes:
    """The path of a file."""
    begin = self._ends[number - 1] if number else 0
    return bytes(self._paths[begin : self._ends[number]])

  @property
  def sizes(self) -> np.ndarray:
    """Shape [files], bytes of each."""
    return np.frombuffer(self._sizes, np.int64)


class PairTable(Sequence[SourceFile]):
  """Images with their masks.

  Args:
    images: files that are images.
    masks: files that are masks.
    image_of: positions in `images`.
    mask_of: positions in `masks`.

  Attributes:
    image_of: shape [pairs], positions in the images.
  """

  def __init__(
    self,
    images: FileTable,
    masks: FileTable,
    image_of: Sequence[int],
    mask_of: Sequence[int],
  ):
    self._images = images
    self._masks = masks
    self.image_of = np.array(image_of, np.int64)
    self._mask_of = np.array(mask_of, np.int64)

  def __len__(self) -> int:
    return len(self.image_of)

  def __getitem__(self, number: int) -> SourceFile:
    image = self._images[self.image_of[number]]
    mask = self._masks[self._mask_of[number]]
    return SourceFile(
      image.path, image.size, image.mtime_ns, mask.path, mask.size, mask.mtime_ns
    )

  def path(self, number: int) -> bytes:
    """The path of an image."""
    return self._images.path(self.image_of[number])

  def mask(self, number: int) -> bytes:
    """The path of its mask."""
    return self._masks.path(self._mask_of[number])

  @property
  def sizes(self) -> np.ndarray:
    """Shape [pairs], bytes of each image."""
    return self._images.sizes[self.image_of]
