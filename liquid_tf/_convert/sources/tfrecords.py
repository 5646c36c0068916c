"""TFRecord files: where their records are, and what is in them.

  record: uint64 length | uint32 masked CRC-32C of it | data | uint32 masked CRC-32C

Little-endian; a CRC is masked by rotating it right by 15 bits and adding 0xa282ead8.
"""

import array
import io
import re
import struct
from collections.abc import Iterator, Sequence

import numpy as np

from liquid_tf._convert.sources import other_files, reading
from liquid_tf._convert.sources.examples import (
  DEFAULT_NAMES,
  ExampleNames,
  ExampleSource,
)
from liquid_tf._convert.sources.left_out import LeftOut, mend_or_skip, most_telling
from liquid_tf._convert.sources.samples import (
  SampleError,
  SourceFile,
  class_list,
  name_files,
  read_range,
  splits_of_files,
  stat_files,
)
from liquid_tf._native import ops
from liquid_tf._store import foreign, schemes, storage, text_file
from liquid_tf.errors import ConvertError

# Beside the files, as TF-Slim's scripts write it.
LABELS = "labels.txt"
_NAMED = re.compile("([0-9]{1,18}):(.+)")

_HEADER = struct.Struct("<QI")
_FOOTER = 4
# A longer record could not be a tf.train.Example: messages are shorter than 2^31 bytes.
_LONGEST = (1 << 31) - 1


class OtherFileError(SampleError):
  """A file that was never one of TFRecords; the message says what it is."""


def _header_is_right(header: bytes) -> bool:
  return foreign.masked_crc(header[:8]) == _HEADER.unpack(header)[1]


def begins_so(head: bytes) -> bool:
  """Whether these are the first bytes of a file of TFRecords."""
  return len(head) >= _HEADER.size and _header_is_right(head[: _HEADER.size])


def walk(path: str) -> Iterator[tuple[int, int]]:
  """Yields (offset, length) of every record, its frame included.

  Only headers are read. The first one's checksum is compared, and that of one behind
  which nothing follows that could be a record; the others', when they are read.

  Raises:
    OtherFileError: the file is known to be something else.
    SampleError: it is damaged from some offset on, or is none of TFRecords.
    OSError: it cannot be read.
  """
  with reading.opened(path) as file:
    size = file.seek(0, io.SEEK_END)
    offset = before = 0
    while offset < size:
      file.seek(offset)
      header = file.read(_HEADER.size)
      length = _HEADER.unpack(header)[0] if len(header) == _HEADER.size else _LONGEST
      framed = _HEADER.size + length + _FOOTER
      if offset == 0 and not (len(header) == _HEADER.size and _header_is_right(header)):
        head = header + file.read(other_files.HEAD - len(header))
        kind = other_files.kind_of(schemes.shown(path), head)
        if kind is not None:
          raise OtherFileError(f"is {kind.name}, and no TFRecords: {kind.advice}")
        raise SampleError("holds no TFRecords: the checksum of the first is wrong")
      if length > _LONGEST or framed > size - offset:
        # Of two that disagree, the damaged one is to blame.
        file.seek(before)
        if not _header_is_right(file.read(_HEADER.size)):
          offset = before
        raise SampleError(
          f"the record at offset {offset} is damaged or cut off, and all that follows "
          f"it (the file has {size} bytes)"
        )
      yield offset, framed
      before, offset = offset, offset + framed


class TFRecordSource(ExampleSource):
  """Samples in TFRecord files of tf.train.Examples, in the order of files and records.

  Args:
    names: of the features.
    root: folder that the files' paths are below.
    kind: what the manifest calls it.
    paths: of the files, or URLs.
    places: shape [samples, 3], int64: position of the file, offset, length.
    files: as of `SampleSource`.
    split_of_file: the split of each file.
    **more: of `SampleSource`.
  """

  def __init__(
    self,
    names: ExampleNames,
    root: str,
    kind: str,
    paths: Sequence[str],
    places: np.ndarray,
    files: list[SourceFile],
    split_of_file: Sequence[int],
    **more,
  ):
    self._paths = paths
    self._places = places
    more["is_remote"] = any(map(storage.is_remote, paths))
    file_of, _, sizes = places.T
    split_of = np.array(split_of_file, np.uint8)[file_of]
    super().__init__(names, root, kind, files, file_of, split_of, sizes, **more)

  def path(self, position: int) -> str:
    return f"{super().path(position)}, offset {self._places[position, 1]}"

  def serialized(self, position: int) -> bytes:
    file, offset, length = self._places[position].tolist()
    framed = read_range(self._paths[file], offset, length)
    header, data, footer = (
      framed[: _HEADER.size],
      framed[_HEADER.size : -_FOOTER],
      framed[-_FOOTER:],
    )
    if not _header_is_right(header):
      raise SampleError("the checksum of the record's length is wrong")
    if foreign.masked_crc(data) != int.from_bytes(footer, "little"):
      raise SampleError("the checksum of the record is wrong")
    return data


def find_places(
  paths: Sequence[str], files: Sequence[SourceFile], named: str, skips: bool
) -> tuple[np.ndarray, list[LeftOut]]:
  """Where every record is.

  Args:
    paths: of the files, or URLs.
    files: the same, as messages name them.
    named: all of them, for errors.
    skips: whether files that are damaged from some record on are passed over; else they
      are an error. Their lost samples are counted as if of the size of those that are
      found.

  Returns:
    Shape [records, 3], int64: position of the file, offset, length; and the files that
    are passed over.

  Raises:
    ConvertError: a file is damaged, or cannot be read; or there are no records.
  """
  skipped: list[LeftOut] = []
  parts = [np.zeros((0, 3), np.int64)]
  lost: list[tuple[str, str, int]] = []
  for number, (path, file) in enumerate(zip(paths, files)):
    found = array.array("q")
    try:
      for place in walk(path):
        found.extend(place)
    except OtherFileError as error:
      if not skips:
        raise ConvertError(f"{file.path} {error}") from error
      skipped.append(LeftOut(file.path, str(error)))
    except SampleError as error:
      if not skips:
        raise ConvertError(f"{file.path} {error}; {mend_or_skip()}") from error
      lost.append((file.path, str(error), file.size - sum(found[1::2])))
    except OSError as error:
      raise ConvertError(f"cannot read {ops.reason(error)}") from error
    places = np.frombuffer(found, np.int64).reshape(-1, 2)
    parts.append(np.insert(places, 0, number, axis=1))
  places = np.concatenate(parts)
  for path, reason, size in lost:
    count = round(size / places[:, 2].mean()) if len(places) else 1
    skipped.append(LeftOut(path, reason, max(1, count)))
  if not len(places):
    raise ConvertError(f"{named} holds no records{most_telling(skipped)}")
  return places, skipped


def read_labels(folder: str) -> list[str] | None:
  """Names of the classes by labels.txt, lines of NUMBER:NAME; None without the file.

  Raises:
    ConvertError: it is something else, or cannot be read.
  """
  path = storage.join(folder, LABELS)
  with text_file.explained(path):
    if storage.file_size(path) is None:
      return None
    text = text_file.read(path, any_bytes=True)
  names: dict[int, str] = {}
  for number, line in text_file.lines(text):
    found = _NAMED.fullmatch(line)
    if not found:
      raise ConvertError(f"{path}, line {number} ({line[:40]!r}) must be NUMBER:NAME")
    label = int(found[1])
    if label in names:
      raise ConvertError(f"{path}, line {number}, names class {label} again")
    names[label] = found[2]
  return class_list(names)


def list_tfrecords(
  paths: Sequence[str],
  names: ExampleNames,
  skips: bool,
  given: Sequence[str] | None = None,
) -> TFRecordSource:
  """Lists TFRecord files of tf.train.Examples.

  Args:
    paths: of the files, in order.
    names: of the features.
    skips: whether damage is passed over, and reported.
    given: of the files that these were decompressed of, which are named; or None.

  Raises:
    ConvertError: nothing can be read.
  """
  names = names.or_else(*DEFAULT_NAMES)
  given = given or paths
  folder, files = stat_files(given)
  splits, split_of_file = splits_of_files(given)
  # An address with a signature is that of one file.
  is_alone = not folder or any(path != schemes.shown(path) for path in given)
  places, skipped = find_places(paths, files, schemes.shown(given[0]), skips)
  return TFRecordSource(
    names,
    folder,
    "tfrecord",
    paths,
    places,
    files,
    split_of_file,
    splits=splits,
    classes=None if is_alone else read_labels(folder),
    skipped=skipped,
    named=name_files(given),
  )
