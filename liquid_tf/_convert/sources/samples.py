"""A source of samples in a fixed order, each readable by its position."""

import dataclasses
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
import tensorflow as tf

from liquid_tf._convert.graph import by_python
from liquid_tf._convert.sources import reading, s3_walk
from liquid_tf._convert.sources.left_out import LeftOut
from liquid_tf._native import ops
from liquid_tf._native.limits import Limits
from liquid_tf._store import schemes, storage, text_file
from liquid_tf._store.columns import Column
from liquid_tf._words import argument, few
from liquid_tf.errors import ConvertError

# Top folders are splits if all have these names; and so are files of records whose
# names begin or end with one. In this order.
SPLITS = ("train", "val", "valid", "validation", "test")
DEFAULT_SPLIT = "train"

_WORDS = "|".join(sorted(SPLITS, key=len)[::-1])
_BEGINS = re.compile(rf"({_WORDS})(?![A-Za-z])")
# After that, only the number of a part and what follows a dot.
_ENDS = re.compile(rf"[-_.]({_WORDS})(?=(?:[-_]\d+(?:-of-\d+)?)?(?:\.|$))")


@dataclasses.dataclass(frozen=True, slots=True)
class SourceFile:
  """A file of a source, with what shows that it has changed.

  Attributes:
    path: below the source, with "/" between folders.
    size: bytes.
    mtime_ns: when it was last changed.
    mask: path of its mask below the masks; "" without masks.
    mask_size: bytes of the mask.
    mask_mtime_ns: when the mask was last changed.
  """

  path: str
  size: int
  mtime_ns: int
  mask: str = ""
  mask_size: int = 0
  mask_mtime_ns: int = 0


class Sample(NamedTuple):
  """One sample as a source holds it.

  Attributes:
    image: an encoded image.
    labels: shape [k], float32.
    example: a serialized tf.train.Example of other features, or empty.
    mask: a raw encoding, where the source has masks.
  """

  image: bytes
  labels: np.ndarray
  example: bytes = b""
  mask: bytes = b""


class SampleError(Exception):
  """A sample that cannot be read; the message says why, and where in its file."""


@dataclasses.dataclass(eq=False, repr=False)
class SampleSource:
  """Samples of one kind of source. Immutable but for `limits`.

  Sample numbers follow the order, so it depends on names and contents alone. Only what
  is said of each sample below is in memory; the samples stay in their files.

  Attributes:
    root: the folder that paths are below.
    kind: what the manifest calls it.
    classes: names of the classes, which labels are positions in; None where nothing
      names them.
    splits: names in order.
    files: every file that is read.
    file_of: shape [samples], position in `files`.
    split_of: shape [samples], position in `splits`.
    sizes: shape [samples], bytes that a sample takes in its file.
    skipped: what is in no sample.
    notes: sentences on what is known of the samples and not kept, or lacking.
    features: the manifest's entries of features that the samples' examples hold.
    are_floats: whether labels are numbers and no classes, even if all are whole.
    has_masks: whether `load` gives a mask with each image.
    is_remote: whether samples come from a store, whose answers are waited for.
    named: the source as errors name it: by default its root.
    has_names: whether samples have names of their own, and not only numbers in files.
    limits: of every image; set before anything is read, where it is not the default.
  """

  root: str
  kind: str
  files: Sequence[SourceFile]
  file_of: np.ndarray
  split_of: np.ndarray
  sizes: np.ndarray
  _: dataclasses.KW_ONLY
  splits: Sequence[str] = (DEFAULT_SPLIT,)
  classes: list[str] | None = None
  skipped: Sequence[LeftOut] = ()
  notes: Sequence[str] = ()
  features: dict[str, dict[str, Any]] = dataclasses.field(default_factory=dict)
  are_floats: bool = False
  has_masks: bool = False
  is_remote: bool = False
  named: str | None = None
  limits: Limits = Limits()
  has_names: ClassVar[bool] = True

  def __post_init__(self):
    # Those of a source are its own: it may get more of them.
    self.skipped, self.notes = list(self.skipped), list(self.notes)
    if self.named is None:
      self.named = self.root

  def __len__(self) -> int:
    return len(self.file_of)

  @property
  def lost(self) -> int:
    """Samples that the source should have, and has not."""
    return sum(one.samples for one in self.skipped)

  @property
  def reasons(self) -> list[tuple[str, str]]:
    """Path and reason of all that is in no sample."""
    return [(one.path, one.reason) for one in self.skipped]

  def check_splits(self, drawn: str | Mapping[str, float] | None, path: str) -> None:
    """Raises ConvertError where splits are to be drawn, and the source has some.

    Args:
      drawn: `splits=` as it was given.
      path: of the source, for the message.
    """
    if drawn and len(self.splits) > 1:
      raise ConvertError(
        f"{argument('splits', drawn)} must not be given: {argument('source', path)} "
        f"has splits of its own, {', '.join(self.splits)}"
      )

  def path(self, position: int) -> str:
    """Where a sample is, for people."""
    return self.files[self.file_of[position]].path

  def name(self, position: int) -> str:
    """Name of a sample: its path, or that of its file and its number."""
    return self.path(position)

  def metadata(self, positions: Sequence[int]) -> dict[str, Column]:
    """The metadata columns of samples, by name."""
    del positions
    return {}

  def knows_pixels(self, channels: int | None, bits: int | None) -> bool:
    """Whether `load` says what images decode to, at these channels and bits.

    Then it gives `format`, `shape`, `bits` and `pixels_hash` too.
    """
    del channels, bits
    return False

  def columns(self, positions: Sequence[int], targets: Sequence[str] | None) -> tuple:
    """The columns of each sample that `load` needs.

    Args:
      positions: of the samples.
      targets: name of the format, as in a mix, that each is wanted in, for a source
        that has it in several; None for whichever is best.

    Returns:
      Arrays, as long as `positions`; of strings, of objects. One sample's part of an
      array must not be empty, which `Dataset.unbatch` of TensorFlow 2.16 dies of.
    """
    raise NotImplementedError

  def load(self, *columns: tf.Tensor) -> dict[str, tf.Tensor]:
    """Reads a sample inside a tf.data graph.

    Args:
      *columns: an element of each of `columns`.

    Returns:
      `image` string, `labels` float32 [k], `example` string, `crc32c` int64 by which a
      change is seen, and `error`, which is empty where the rest is right; with masks
      `mask` string, a raw encoding, and `mask_crc32c`; and `orientation` int64, where
      the source has it elsewhere than in image and example.
    """
    raise NotImplementedError


class RecordSource(SampleSource):
  """A source whose records are read by Python: reads and decoders leave its lock."""

  has_names = False

  def read(self, position: int) -> Sample:
    """Reads a sample.

    Raises:
      SampleError: it is damaged, or is not what the conversion was told to look for.
      OSError: its file cannot be read.
    """
    raise NotImplementedError

  def columns(self, positions: Sequence[int], targets: Sequence[str] | None) -> tuple:
    del targets
    return (np.asarray(positions, np.int64),)

  def load(self, position: tf.Tensor) -> dict[str, tf.Tensor]:
    def read(position):
      try:
        return *self.read(int(position)), b""
      except (SampleError, OSError) as error:
        text = str(error).encode(errors="replace")
        return b"", np.zeros(0, np.float32), b"", b"", text

    labels = tf.TensorSpec([None], tf.float32)
    image, labels, example, mask, error = by_python(
      read, [position], tf.string, labels, *[tf.string] * 3
    )
    crc = ops.lib().liquid_crc32c(image, 0)
    masks = {"mask": mask, "mask_crc32c": ops.lib().liquid_crc32c(mask, 0)}
    return {
      **(masks if self.has_masks else {}),
      "image": image,
      "labels": labels,
      "example": example,
      "crc32c": ops.lib().liquid_crc32c(example, crc),
      "error": error,
    }


class PassedSource(SampleSource):
  """Samples of another source, in its order, for subclasses that change more of them.

  Args:
    source: the samples.
    positions: shape [samples], int64, which; ascending. None: all.
  """

  def __init__(self, source: SampleSource, positions: np.ndarray | None = None):
    fields = (field.name for field in dataclasses.fields(SampleSource))
    super().__init__(**{name: getattr(source, name) for name in fields})
    if positions is not None:
      self.file_of, self.split_of, self.sizes = (
        values[positions] for values in (self.file_of, self.split_of, self.sizes)
      )
    self.has_names = source.has_names
    self._source = source
    self._positions = positions

  def _there(self, position: int) -> int:
    """Where a sample is in the source."""
    return position if self._positions is None else self._positions[position]

  def _all_there(self, positions: Sequence[int]) -> Sequence[int] | np.ndarray:
    if self._positions is None:
      return positions
    return self._positions[np.asarray(positions, np.int64)]

  def path(self, position: int) -> str:
    return self._source.path(self._there(position))

  def name(self, position: int) -> str:
    return self._source.name(self._there(position))

  def metadata(self, positions: Sequence[int]) -> dict[str, Column]:
    return self._source.metadata(self._all_there(positions))

  def knows_pixels(self, channels: int | None, bits: int | None) -> bool:
    return self._source.knows_pixels(channels, bits)

  def columns(self, positions: Sequence[int], targets: Sequence[str] | None) -> tuple:
    return self._source.columns(self._all_there(positions), targets)

  def load(self, *columns: tf.Tensor) -> dict[str, tf.Tensor]:
    return self._source.load(*columns)


def stat_files(paths: Sequence[str]) -> tuple[str, list[SourceFile]]:
  """The folder that files have in common, and what they are below it.

  An address of HTTP is there without its query; that file tells no time of change.

  Raises:
    ConvertError: one cannot be looked at.
  """
  folder = _common_folder([schemes.shown(path) for path in paths])
  result = []
  for path in paths:
    shown = schemes.shown(path)
    with text_file.explained(shown):
      size, mtime_ns = stat_file(path)
    if storage.is_remote(path):
      name = shown.removeprefix(folder).lstrip("/")
    else:
      name = os.path.relpath(shown, folder).replace(os.sep, "/")
    result.append(SourceFile(name, size, mtime_ns))
  return folder, result


def _common_folder(paths: Sequence[str]) -> str:
  """The folder that all paths or URLs are below; "" where servers differ."""
  folders = [reading.folder_of(path) for path in paths]
  if not any(map(storage.is_remote, paths)):
    return os.path.commonpath(folders)
  common = os.path.commonprefix([folder.split("/") for folder in folders])
  # A scheme, nothing and a host, at least.
  return "/".join(common) if len(common) > 2 else ""


def stat_file(path: str) -> tuple[int, int]:
  """Size of a file and when it was changed, in ns; 0 where it is unknown.

  Raises:
    OSError: it is not there, or cannot be looked at.
  """
  if schemes.is_s3(path):
    return s3_walk.stat(path)
  if storage.is_remote(path):
    size = storage.file_size(path)
    if size is None:
      raise OSError(f"{schemes.shown(path)}: there is no such file")
    return size, 0
  found = os.stat(path)
  storage.check_regular(path, found.st_mode)
  return found.st_size, found.st_mtime_ns


def class_list(names: dict[int, str]) -> list[str] | None:
  """Names of classes by their numbers, as a list; one without a name has its number.

  None where two have one name, or where numbers are no classes but, far beyond their
  count, identities or the like.
  """
  count = max(names, default=-1) + 1
  if count > 2 * len(names):
    return None
  result = [names.get(label, str(label)) for label in range(count)]
  return result if len(set(result)) == count else None


def name_files(paths: Sequence[str]) -> str:
  """Files as errors name them."""
  return few([schemes.shown(path) for path in paths], 1)


def _split_of(path: str) -> str | None:
  """The split that a file's name says; the end counts for more than the beginning."""
  name = os.path.basename(schemes.shown(path))
  begin = _BEGINS.match(name)
  return [begin and begin[1], *_ENDS.findall(name)][-1]


def _split_of_folder(path: str) -> str | None:
  """The split that the name of a file's folder is."""
  name = os.path.basename(os.path.dirname(schemes.shown(path)))
  return name if name in SPLITS else None


def splits_of_files(
  paths: Sequence[str], in_folders: bool = False
) -> tuple[list[str], list[int]]:
  """Splits by the names of files.

  Such are train-00000-of-00002 and val.rec, and im2rec's PREFIX_train.rec.

  Args:
    paths: of the files.
    in_folders: whether a file whose name says none is of the split that its folder is
      named as.

  Returns:
    Names of the splits, and for each path the position of its split. There is one split
    where no name says another than the first.

  Raises:
    ConvertError: some names say other splits, and some none.
  """
  found = [_split_of(path) for path in paths]
  if in_folders:
    found = [split or _split_of_folder(path) for path, split in zip(paths, found)]
  if None in found:
    for path, split in zip(paths, found):
      if split not in (None, DEFAULT_SPLIT):
        raise ConvertError(
          f"{schemes.shown(path)} is named like the split {split}, and "
          f"{schemes.shown(paths[found.index(None)])} like none: name all files of a "
          "source by their splits, as PREFIX_train.rec and PREFIX_val.rec, or none"
        )
    return [DEFAULT_SPLIT], [0] * len(paths)
  splits = [name for name in SPLITS if name in found]
  return splits, [splits.index(name) for name in found]


def numbered_splits(named: str, given: Sequence[str]) -> tuple[list[str], np.ndarray]:
  """Names of all splits, and the position of each sample's among them, uint8.

  Raises:
    ConvertError: there are too many.
  """
  found = set(given)
  splits = [name for name in SPLITS if name in found]
  splits += sorted(found.difference(splits))
  if len(splits) > 256:
    raise ConvertError(f"{named} has {len(splits)} splits, and must have at most 256")
  numbers = {name: number for number, name in enumerate(splits)}
  return splits, np.array([numbers[name] for name in given], np.uint8)


def read_range(path: str, offset: int, length: int) -> bytes:
  """Reads a part of a file. Thread-safe.

  Raises:
    SampleError: the file ends before it.
    OSError: the file cannot be read.
  """
  found = reading.read(path, offset, length)
  if len(found) < length:
    raise SampleError(
      f"its file ends at offset {offset + len(found)}, {length - len(found)} bytes too "
      "early"
    )
  return found
