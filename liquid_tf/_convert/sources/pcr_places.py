"""Where the parts of single images are in progressive compressed records.

A record holds its images scan by scan (docs/formats/pcr.md), and `liquid_read_pcr`
reads all of them. A conversion takes its samples in another order, one at a time.
"""

import functools

import numpy as np

from liquid_tf._convert.sources.samples import Sample, SampleError, read_range
from liquid_tf._native import ops
from liquid_tf._store import manifest as manifests
from liquid_tf._store.manifest import Manifest

# Records whose places are remembered, some 10 KB each.
_REMEMBERED = 4096

_EXAMPLES, _CHUNKS = 4, 1  # fields of metadata and of a scan group
_END_OF_IMAGE = b"\xff\xd9"


def _varint(data: bytes, position: int) -> tuple[int, int]:
  """A number and the position after it."""
  value = shift = 0
  while True:
    byte = data[position]
    value |= (byte & 0x7F) << shift
    position += 1
    if byte < 0x80:
      return value, position
    shift += 7


def _field(data: bytes, begin: int, end: int, field: int) -> list[tuple[int, int]]:
  """(offset, length) of each value of a repeated field of bytes, in a valid message."""
  result = []
  while begin < end:
    tag, begin = _varint(data, begin)
    size, value = _varint(data, begin)
    if tag & 7 != 2:  # a number
      begin = value
      continue
    if tag >> 3 == field:
      result.append((value, size))
    begin = value + size
  return result


class PcrPlaces:
  """Reads single images of a dataset's records at full fidelity. Thread-safe.

  Args:
    manifest: of the dataset.

  Raises:
    ManifestError: the index of its records is damaged.
  """

  def __init__(self, manifest: Manifest):
    self._manifest = manifest
    self._entries = manifests.load_pcr_index(manifest)
    self._places = functools.lru_cache(_REMEMBERED)(self._find)

  def read(self, shard: int, slot: int) -> Sample:
    """Reads an image: a JPEG file, its label (-1 is none) and its example.

    Raises:
      SampleError: the record is damaged.
      OSError: it cannot be read.
    """
    labels, places = self._places(shard)
    path = self._path(shard)
    example, *chunks = (read_range(path, *place) for place in places[:, slot].tolist())
    image = b"".join(chunks)
    if not image.endswith(_END_OF_IMAGE):
      image += _END_OF_IMAGE
    label = labels[slot : slot + 1]
    return Sample(image, label[label != -1].astype(np.float32), example)

  def _path(self, shard: int) -> str:
    return self._manifest.path(self._manifest.shards[shard].path)

  def _find(self, shard: int) -> tuple[np.ndarray, np.ndarray]:
    """Labels, shape [images], and (offset, length) of the parts of each image.

    The latter have shape [1 + groups, images, 2]: example first, then scan groups.
    """
    import tensorflow as tf

    entry = self._entries[shard]
    path = self._path(shard)
    record = read_range(path, 0, self._manifest.shards[shard].bytes)
    try:
      read = entry.read(record)
    except tf.errors.OpError as error:
      raise SampleError(ops.reason(error)) from error
    labels = read.labels.numpy()
    ends = np.cumsum(entry.lengths).tolist()
    places = np.zeros((len(ends), len(labels), 2), np.int64)
    for part, (begin, end) in enumerate(zip([0, *ends], ends)):
      found = _field(record, begin, end, _CHUNKS if part else _EXAMPLES)
      # Metadata without examples, or a group that no image has, lists none.
      if found:
        places[part] = found
    return labels, places
