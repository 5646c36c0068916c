"""Stored record of one sample, before it is decoded."""

import struct
from typing import NamedTuple

import numpy as np

from liquid_tf._native import direct
from liquid_tf._store import storage
from liquid_tf._store.index_rows import INDEX_DTYPE
from liquid_tf._store.manifest import FORMATS, Manifest, load_pcr_index
from liquid_tf._view.shard_files import ShardFiles

PCR = FORMATS.index("pcr")

# Progressive records of which the places of images are kept, some KiB each.
_MOST_PLACES = 256

_MAGIC = 0xCED7230A
_WHOLE, _FIRST, _MIDDLE, _LAST = range(4)
_MOST = (1 << 29) - 1
_PART = struct.Struct("<II")  # magic, cflag << 29 | length
_HEADER = struct.Struct("<IfQQ")  # flag, label, id, id2
_INDEX_MAGIC = b"LJX1"
_INDEX = struct.Struct("<4sI32x")  # that, and bytes of all; docs/formats/jpeg-index.md
_END_OF_IMAGE = np.array([0xFF, 0xD9], np.uint8)


class Row(NamedTuple):
  """A row of the index; see docs/formats/liquid.md."""

  sample: int
  split: int
  format: int
  channels: int
  bits: int
  shard: int
  offset: int
  length: int
  crc32c: int
  height: int
  width: int
  orientation: int
  pixels_hash: int


_ROW = struct.Struct("<QBBBBIQQIIIIQ")
assert _ROW.size == INDEX_DTYPE.itemsize and Row._fields == INDEX_DTYPE.names


def unpack_row(index: memoryview, number: int) -> Row:
  """A row of an index, of which these are the bytes."""
  return Row._make(_ROW.unpack_from(index, number * _ROW.size))


class Stored(NamedTuple):
  """A sample as it is stored.

  Attributes:
    image: shape [bytes], uint8, the encoded image.
    index: shape [bytes], uint8, the entry points of a JPEG, or empty.
    labels: numbers, none or one or several.
    example: a serialized tf.train.Example, or empty.
  """

  image: np.ndarray
  index: np.ndarray
  labels: tuple[float, ...]
  example: bytes


class StoredRecords:
  """Reads records, and checks their checksums.

  Thread-safe, and works in forked children. Local files are read in place; a remote
  one by its scheme, of the format pcr as a whole.

  Args:
    manifest: of the dataset.
    past_cache: as `ShardFiles` takes it.
  """

  def __init__(self, manifest: Manifest, past_cache: bool | None = None):
    self._manifest = manifest
    self._remote = storage.is_remote(manifest.directory)
    self._files = ShardFiles(manifest, past_cache)
    self._entries = None
    self._places: dict[int, direct.PcrPlaces] = {}

  def read(self, row: Row) -> Stored:
    """Reads a record.

    Raises:
      ValueError: it is damaged; a sentence without its place.
      OSError: it cannot be read.
      ManifestError: the index of the format pcr cannot be read.
    """
    if row.format == PCR:
      return self._read_pcr(row)
    if self._remote:
      return self._read_remote(row)
    framed = self._files.read(row.shard, row.offset, row.length)
    _check(direct.crc32c(framed), row)
    return parse(framed, row.sample)

  def _read_remote(self, row: Row) -> Stored:
    path = self._manifest.path(self._manifest.shards[row.shard].path)
    for _ in range(storage.REMOTE_ATTEMPTS):
      found = storage.read_range(path, row.offset, row.length)
      framed = np.frombuffer(found, np.uint8)
      crc = direct.crc32c(framed)
      if crc == row.crc32c:
        break
    _check(crc, row)
    return parse(framed, row.sample)

  def _read_pcr(self, row: Row) -> Stored:
    record = None
    places = self._places.get(row.shard)
    if places is None or self._remote:
      record, places = self._find_places(row.shard)
    if row.offset >= len(places.labels):
      raise ValueError(f"its record has {len(places.labels)} images")

    def part(place: np.ndarray) -> np.ndarray:
      offset, length = place.tolist()
      if record is not None:
        return record[offset : offset + length]
      return self._files.read(row.shard, offset, length)

    chunks = [part(place) for place in places.chunks[:, row.offset] if place[1]]
    if sum(map(len, chunks)) + len(_END_OF_IMAGE) == row.length:
      chunks.append(_END_OF_IMAGE)
    image = np.concatenate(chunks)
    _check(direct.crc32c(image), row)
    label = int(places.labels[row.offset])
    example = part(places.examples[row.offset]).tobytes()
    labels = () if label < 0 else (label,)
    return Stored(image, direct.NO_INDEX, labels, example)

  def _find_places(self, number: int) -> tuple[np.ndarray, direct.PcrPlaces]:
    """A whole record, and the places in it."""
    if self._entries is None:
      self._entries = load_pcr_index(self._manifest)
    entry, shard = self._entries[number], self._manifest.shards[number]
    if self._remote:
      path = self._manifest.path(shard.path)
      found = storage.read_right(path, lambda found: len(found) == shard.bytes)
      record = np.frombuffer(found, np.uint8)
    else:
      record = self._files.read(number, 0, shard.bytes)
    places = direct.pcr_places(record, entry.lengths, entry.crc32cs, shard.records)
    while len(self._places) >= _MOST_PLACES:
      self._places.pop(list(self._places)[0], None)
    self._places[number] = places
    return record, places


def _check(crc: int, row: Row) -> None:
  if crc != row.crc32c:
    raise ValueError(f"its CRC-32C is 0x{crc:08x}, the index says 0x{row.crc32c:08x}")


def parse(framed: np.ndarray, sample: int) -> Stored:
  """Takes a record apart (docs/formats/liquid.md).

  Args:
    framed: shape [bytes], uint8, from its magic to its padding.
    sample: the number that it must have.

  Returns:
    Its parts, of which image and index are views of `framed` where that is possible.

  Raises:
    ValueError: it is none; the message has the offset in it.
  """
  payload = _unframe(framed)
  if len(payload) < _HEADER.size:
    raise ValueError(
      f"its payload of {len(payload)} bytes is shorter than the header of "
      f"{_HEADER.size}"
    )
  view = memoryview(payload)
  count, label, number, image_bytes = _HEADER.unpack_from(view)
  if number != sample:
    raise ValueError(f"it is sample {number}, the index says {sample}")
  begin = _HEADER.size + 4 * count
  end = begin + image_bytes if image_bytes else len(payload)
  if not begin <= end <= len(payload):
    raise ValueError(
      f"its header says {count} labels and {image_bytes} bytes of image, its payload "
      f"has {len(payload)} bytes"
    )
  labels = (label,) if label == label else ()
  if count:
    labels = struct.unpack_from(f"<{count}f", view, _HEADER.size)
  behind = end + _index_bytes(view[end:], end)
  return Stored(
    payload[begin:end], payload[end:behind], labels, view[behind:].tobytes()
  )


def _index_bytes(behind: memoryview, offset: int) -> int:
  """Bytes of the index that stands behind an image, 0 where none does."""
  if behind[: len(_INDEX_MAGIC)] != _INDEX_MAGIC:
    return 0
  size = 0
  if len(behind) >= _INDEX.size:
    _, size = _INDEX.unpack_from(behind)
  if not _INDEX.size <= size <= len(behind) or size % 4:
    raise ValueError(
      f"its index of a JPEG says {size} bytes, {len(behind)} are left at offset "
      f"{offset} of its payload"
    )
  return size


def _unframe(framed: np.ndarray) -> np.ndarray:
  """The payload of a record; a view, where it is one fragment."""
  view, parts, at = memoryview(framed), [], 0
  while at + _PART.size <= len(framed):
    magic, word = _PART.unpack_from(view, at)
    flag, length = word >> 29, word & _MOST
    begin, end = at + _PART.size, at + _PART.size + length
    if magic != _MAGIC or end > len(framed):
      break
    at = end + -length % 4
    if flag == _WHOLE and not parts and at == len(framed):
      return framed[begin:end]
    if flag not in ((_MIDDLE, _LAST) if parts else (_FIRST,)):
      break
    if parts:
      # A record is split at each magic in it, which is dropped.
      parts.append(np.frombuffer(_MAGIC.to_bytes(4, "little"), np.uint8))
    parts.append(framed[begin:end])
    if flag == _LAST and at == len(framed):
      return np.concatenate(parts)
  raise ValueError(f"its framing is damaged at offset {min(at, len(framed))} in it")
