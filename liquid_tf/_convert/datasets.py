"""A dataset directory as a source: a new mix from an old one, or a way out of it."""

import os
from collections.abc import Iterator, Sequence

import numpy as np
import tensorflow as tf

from liquid_tf import _ops
from liquid_tf import manifest as manifests
from liquid_tf._convert.mix import TARGETS
from liquid_tf._convert.pcr_places import PcrPlaces
from liquid_tf._convert.source import (
  Sample,
  SampleError,
  Source,
  SourceFile,
  read_range,
)
from liquid_tf.manifest import FORMATS, Manifest

# Formats that keep pixels, those that decode fastest first; the others hold less.
_BY_SPEED = ("raw", "bmp", "l3", "png", "webp", "jpeg", "pcr")
_ANY = -1
_PCR = FORMATS.index("pcr")


class DatasetSource(Source):
  """The samples of a dataset directory, by their numbers.

  Of a replicated one, the encoding that is read is the one that is wanted, or else the
  fastest of those without loss; where that is damaged, the next one.

  Args:
    manifest: of the dataset, whose files were checked.

  Raises:
    ManifestError: its indices are damaged.
  """

  def __init__(self, manifest: Manifest):
    index = manifests.load_index(manifest)
    self._manifest = manifest
    self._index = index
    lossless = [
      name for name, entry in manifest["formats"].items() if entry["lossless"]
    ]
    self._lossless = [FORMATS.index(name) for name in lossless]
    ranks = [
      (name not in lossless, _BY_SPEED.index(name), number)
      for number, name in enumerate(FORMATS)
    ]
    rank = np.empty(len(FORMATS), np.int64)
    rank[[number for *_, number in sorted(ranks)]] = np.arange(len(FORMATS))
    # Rows of each sample, the best one first.
    self._order = np.lexsort((rank[index["format"]], index["sample"]))
    samples = index["sample"][self._order]
    self._first = np.searchsorted(samples, np.arange(manifest["samples"] + 1))
    if (np.diff(self._first) == 0).any():
      raise manifests.ManifestError(
        f"{manifest.path(manifests.INDEX)} lists no encoding of sample "
        f"{int(np.argmin(np.diff(self._first)))}"
      )
    best = self._order[self._first[:-1]]
    splits = sorted(manifest["splits"], key=lambda name: manifest.split_index(name))
    names = [*(shard.path for shard in manifest.shards), manifests.MANIFEST]
    super().__init__(
      manifest.directory,
      "liquid",
      [_stat(manifest, name) for name in names],
      index["shard"][best].astype(np.int64),
      index["split"][best],
      index["length"][best].astype(np.int64),
      splits=splits,
      classes=manifest.classes,
      features={
        name: entry
        for name, entry in manifest["features"].items()
        if name not in ("image", "label")
      },
    )
    self.channels = manifest["features"]["image"]["shape"][2]
    self._pcr = PcrPlaces(manifest)

  def path(self, position: int) -> str:
    return self._where(self._index[self._order[self._first[position]]])

  def _where(self, row: np.void) -> str:
    place = "image" if row["format"] == _PCR else "offset"
    return (
      f"{self._manifest.shards[row['shard']].path}, {place} {row['offset']} (sample "
      f"{row['sample']})"
    )

  def knows_pixels(self, channels: int | None) -> bool:
    return channels in (None, self.channels)

  def columns(self, positions: Sequence[int], targets: Sequence[str] | None) -> tuple:
    wanted = np.full(len(positions), _ANY, np.int64)
    if targets is not None:
      numbers = {target: self._number(target) for target in set(targets)}
      wanted[:] = [numbers[target] for target in targets]
    return np.asarray(positions, np.int64), wanted

  def _number(self, target: str) -> int:
    """The format that can be copied for a target, or any."""
    name, lossless = TARGETS[target]
    number = FORMATS.index(name)
    # Pixels that were lost once do not make a format without loss.
    return _ANY if lossless and number not in self._lossless else number

  def _rows(self, position: int, wanted: int) -> Iterator[np.void]:
    """The rows of a sample, in the order in which to try them."""
    rows = self._order[self._first[position] : self._first[position + 1]]
    rows = [self._index[row] for row in rows]
    return sorted(rows, key=lambda row: row["format"] != wanted)

  def load(self, position: tf.Tensor, wanted: tf.Tensor) -> dict[str, tf.Tensor]:
    def read(position, wanted):
      row, sample, error = self._read(int(position), int(wanted))
      return (
        *sample,
        FORMATS[row["format"]].encode(),
        np.array([row["height"], row["width"], row["channels"]], np.int64),
        np.int32(row["bits"]),
        row["pixels_hash"].astype(np.int64),
        # The same whichever encoding it is.
        np.int64(self._index["crc32c"][self._order[self._first[position]]]),
        error.encode(errors="replace"),
      )

    names = ("image", "labels", "example", "format", "shape", "bits", "pixels_hash")
    names += ("crc32c", "error")
    types = (tf.string, tf.float32, tf.string, tf.string, tf.int64, tf.int32)
    types += (tf.int64, tf.int64, tf.string)
    values = tf.numpy_function(read, [position, wanted], types, stateful=False)
    shapes = {"labels": [None], "shape": [3]}
    return {
      name: tf.ensure_shape(value, shapes.get(name, []))
      for name, value in zip(names, values)
    }

  def _read(self, position: int, wanted: int) -> tuple[np.void, Sample, str]:
    """The first sound encoding of a sample, or why there is none."""
    errors = []
    for row in self._rows(position, wanted):
      try:
        return row, self._read_row(row), ""
      except (SampleError, OSError) as error:
        errors.append(f"{self._where(row)} {error}")
    return row, Sample(b"", np.zeros(0, np.float32)), "; ".join(errors)

  def _read_row(self, row: np.void) -> Sample:
    if row["format"] == _PCR:
      sample = self._pcr.read(int(row["shard"]), int(row["offset"]))
      self._check(row, sample.image)
      return sample
    path = self._manifest.path(self._manifest.shards[row["shard"]].path)
    framed = read_range(path, int(row["offset"]), int(row["length"]))
    self._check(row, framed)
    try:
      record = _ops.lib().liquid_unpack_record(framed=framed)
    except tf.errors.OpError as error:
      raise SampleError(f"is damaged: {_ops.reason(error)}") from error
    return Sample(record.image.numpy(), record.labels.numpy(), record.example.numpy())

  def _check(self, row: np.void, stored: bytes) -> None:
    crc = manifests.crc32c(stored)
    if crc != row["crc32c"]:
      raise SampleError(
        f"is damaged: its CRC-32C is 0x{crc:08x}, the index says 0x{row['crc32c']:08x}"
      )


def _stat(manifest: Manifest, name: str) -> SourceFile:
  stat = os.stat(manifest.path(name))
  return SourceFile(name, stat.st_size, stat.st_mtime_ns)
