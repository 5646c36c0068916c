"""A dataset directory as a source: a new mix from an old one, or a way out of it."""

import functools
import os
from collections.abc import Iterator, Sequence

import numpy as np
import tensorflow as tf

from liquid_tf._convert.graph import by_python
from liquid_tf._convert.sources.samples import (
  Sample,
  SampleError,
  SampleSource,
  SourceFile,
  read_range,
  stat_file,
)
from liquid_tf._native import direct, ops
from liquid_tf._store import columns, labels, names, storage
from liquid_tf._store import manifest as manifests
from liquid_tf._store.columns import Column
from liquid_tf._store.manifest import FORMATS
from liquid_tf._store.mix import TARGETS
from liquid_tf._view.view import View
from liquid_tf.errors import ManifestError

_ANY = -1
_PCR = FORMATS.index("pcr")
# Progressive records whose places are remembered, some 10 KB each.
_REMEMBERED = 4096
_END_OF_IMAGE = b"\xff\xd9"


class DatasetSource(SampleSource):
  """The samples of a dataset directory, ascending by their numbers.

  Of a replicated one, the encoding that is read is the one that is wanted, or else the
  fastest of those without loss; where that is damaged, the next one.

  Args:
    view: the samples, of a dataset whose files were checked.

  Raises:
    ManifestError: its indices are damaged, or it is no longer that of the view.
    ValueError: the view has weights.

  Attributes:
    numbers: shape [samples], sample numbers in the dataset.
  """

  def __init__(self, view: View):
    view.check_no_weights("a source")
    view.check_there()
    manifest, index = view.manifest, view.stored
    self._manifest = manifest
    self._index = index
    lossless = [
      name for name, entry in manifest["formats"].items() if entry["lossless"]
    ]
    self._lossless = [FORMATS.index(name) for name in lossless]
    preferred = [FORMATS.index(name) for name in manifest.by_preference()]
    rank = np.full(len(FORMATS), len(FORMATS))
    rank[preferred] = np.arange(len(preferred))
    # Rows of each sample, the best one first.
    self._order = np.lexsort((rank[index["format"]], index["sample"]))
    # Of each position, the first of its rows; and their end.
    self.numbers, first = np.unique(index["sample"][self._order], return_index=True)
    self._first = np.append(first, len(index))
    if len(self.numbers) != len(view):
      raise ManifestError(
        f"{manifest.index_path} lists {len(self.numbers)} samples, not the {len(view)} "
        f"that {manifest.file} says"
      )
    best = self._order[self._first[:-1]]
    # A split of which all samples were removed, or none is chosen, is none of them.
    split_of = np.unique(index["split"][best])
    splits = [name for name in view.splits if manifest.split_index(name) in split_of]
    splits.sort(key=manifest.split_index)
    files = [*(shard.path for shard in manifest.shards), manifest.file]
    super().__init__(
      manifest.directory,
      "liquid",
      [SourceFile(name, *stat_file(manifest.path(name))) for name in files],
      index["shard"][best].astype(np.int64),
      np.searchsorted(split_of, index["split"][best]).astype(np.uint8),
      index["length"][best].astype(np.int64),
      splits=splits,
      classes=manifest.classes,
      features={
        name: entry
        for name, entry in manifest["features"].items()
        if name not in ("image", "label")
      },
      are_floats=manifest["features"].get("label", {}).get("dtype") == "float32",
      is_remote=storage.is_remote(manifest.directory),
    )
    self.channels = manifest["features"]["image"]["shape"][2]
    self._bits = 16 if manifest["features"]["image"]["dtype"] == "uint16" else 8
    self._pcr = _PcrImages(manifest)
    # By sample number, where they count more than those of records.
    self._labels = labels.load(manifest) if labels.are_corrected(manifest) else None
    # Read when one is asked for; most readers ask for none.
    self._names: names.Names | None = None

  def path(self, position: int) -> str:
    return self._where(self._index[self._order[self._first[position]]])

  def name(self, position: int) -> str:
    if self._names is None:
      self._names = names.load(self._manifest)
    return self._names[int(self.numbers[position])]

  def metadata(self, positions: Sequence[int]) -> dict[str, Column]:
    numbers = self.numbers[np.asarray(positions, np.int64)].astype(np.int64)
    result = {}
    for name, entry in self._manifest["columns"].items():
      values = columns.load(self._manifest, name)
      if isinstance(values, np.ndarray):
        some = values[numbers]
      else:
        some = [values.encoded(number) for number in numbers.tolist()]
      result[name] = Column(entry["dtype"], some, entry.get("default"))
    return result

  def _where(self, row: np.void) -> str:
    place = "image" if row["format"] == _PCR else "offset"
    return (
      f"{self._manifest.shards[row['shard']].path}, {place} {row['offset']} (sample "
      f"{row['sample']})"
    )

  def knows_pixels(self, channels: int | None, bits: int | None) -> bool:
    same = channels in (None, self.channels) and bits in (None, self._bits)
    return same and self._manifest["pixels"] == manifests.PIXELS["pixels"]

  def columns(self, positions: Sequence[int], targets: Sequence[str] | None) -> tuple:
    positions = np.asarray(positions, np.int64)
    wanted = np.full(len(positions), _ANY, np.int64)
    if targets is not None:
      numbers = {target: self._number(target) for target in set(targets)}
      wanted[:] = [numbers[target] for target in targets]
    rows = self._index[self._choose(positions, wanted)]
    best = self._index["crc32c"][self._order[self._first[positions]]]
    sides = [rows[side] for side in ("height", "width", "channels")]
    values = {
      "position": positions,
      "wanted": wanted,
      "best_crc32c": best,
      "shape": np.stack(sides, axis=-1),
    }
    for name in ("offset", "length", "crc32c", "format"):
      values[name] = rows[name]
    right = None
    if self._labels is not None:
      right = self._labels[rows["sample"].astype(np.int64)].astype("<f4")
      right = right.reshape(len(rows), -1)
      # So that another correction is seen as a change.
      values["best_crc32c"] = np.array(
        [manifests.crc32c(one.tobytes(), crc) for one, crc in zip(right, best.tolist())]
      )
    result = {name: value.astype(np.int64) for name, value in values.items()}
    result["bits"] = rows["bits"].astype(np.int32)
    result["pixels_hash"] = rows["pixels_hash"].astype(np.int64)
    result["orientation"] = rows["orientation"].astype(np.int64)
    shards = [self._manifest.shards[shard].path for shard in rows["shard"].tolist()]
    paths = [os.fsencode(self._manifest.path(path)) for path in shards]
    result["path"] = np.array(paths, object)
    if right is not None:
      result["labels"] = right
    return (result,)

  def _choose(self, positions: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The row of each sample that is in the format wanted, or else its best one."""
    first, last = self._first[positions], self._first[positions + 1]
    most = int((last - first).max(initial=1))
    places = np.minimum(first[:, np.newaxis] + np.arange(most), last[:, np.newaxis] - 1)
    rows = self._order[places]
    # Where no row is, the first one.
    chosen = (self._index["format"][rows] == wanted[:, np.newaxis]).argmax(axis=1)
    return rows[np.arange(len(rows)), chosen]

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

  def load(self, row: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
    fields = ("format", "shape", "bits", "pixels_hash")

    def by_hand():
      return self._load_by_hand(row["position"], row["wanted"])

    def directly():
      read = ops.lib().liquid_read_sample(
        path=row["path"],
        offset=row["offset"],
        length=row["length"],
      )
      known = {name: row[name] for name in fields}
      known["format"] = tf.gather(tf.constant(FORMATS), row["format"])
      found = {"image": read.image, "labels": read.labels, "example": read.example}
      # What is wrong is told, or another encoding is found, by hand.
      return tf.cond(
        tf.equal(read.error, "") & tf.equal(read.crc32c, row["crc32c"]),
        lambda: found | known | {"error": tf.constant("")},
        by_hand,
      )

    result = tf.cond(tf.equal(row["format"], _PCR), by_hand, directly)
    # The same whichever encoding it is.
    same = {"crc32c": row["best_crc32c"], "orientation": row["orientation"]}
    if self._labels is not None:
      same["labels"] = row["labels"]
    return result | same

  def _load_by_hand(self, position: tf.Tensor, wanted: tf.Tensor) -> dict:
    def read(position, wanted):
      row, sample, error = self._read(int(position), int(wanted))
      return (
        *(sample.image, sample.labels, sample.example),
        FORMATS[row["format"]].encode(),
        np.array([row["height"], row["width"], row["channels"]], np.int64),
        np.int32(row["bits"]),
        row["pixels_hash"].astype(np.int64),
        error.encode(errors="replace"),
      )

    outputs = {
      "image": tf.string,
      "labels": tf.TensorSpec([None], tf.float32),
      "example": tf.string,
      "format": tf.string,
      "shape": tf.TensorSpec([3], tf.int64),
      "bits": tf.int32,
      "pixels_hash": tf.int64,
      "error": tf.string,
    }
    return dict(zip(outputs, by_python(read, [position, wanted], *outputs.values())))

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
      record = ops.lib().liquid_unpack_record(framed=framed)
    except tf.errors.OpError as error:
      raise SampleError(f"is damaged: {ops.reason(error)}") from error
    return Sample(record.image.numpy(), record.labels.numpy(), record.example.numpy())

  def _check(self, row: np.void, stored: bytes) -> None:
    crc = manifests.crc32c(stored)
    if crc != row["crc32c"]:
      raise SampleError(storage.wrong_crc(crc, row["crc32c"], "the index"))


class _PcrImages:
  """Reads single images of a dataset's records at full fidelity. Thread-safe.

  Args:
    manifest: of the dataset.

  Raises:
    ManifestError: the index of its records is damaged.
  """

  def __init__(self, manifest: manifests.Manifest):
    self._manifest = manifest
    self._entries = manifests.load_pcr_index(manifest)
    self._places = functools.lru_cache(_REMEMBERED)(self._find)

  def read(self, shard: int, slot: int) -> Sample:
    """Reads an image: a JPEG file, its label (-1 is none) and its example.

    Raises:
      SampleError: the record is damaged.
      OSError: it cannot be read.
    """
    places = self._places(shard)
    path = self._manifest.path(self._manifest.shards[shard].path)
    wanted = [*places.chunks[:, slot].tolist(), places.examples[slot].tolist()]
    *chunks, example = (read_range(path, *place) for place in wanted)
    image = b"".join(chunks)
    if not image.endswith(_END_OF_IMAGE):
      image += _END_OF_IMAGE
    label = places.labels[slot : slot + 1]
    return Sample(image, label[label != -1].astype(np.float32), example)

  def _find(self, shard: int) -> direct.PcrPlaces:
    described, entry = self._manifest.shards[shard], self._entries[shard]
    record = read_range(self._manifest.path(described.path), 0, described.bytes)
    try:
      return direct.pcr_places(
        np.frombuffer(record, np.uint8), entry.lengths, entry.crc32cs, described.records
      )
    except ValueError as error:
      raise SampleError(str(error)) from error
