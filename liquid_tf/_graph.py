"""The public parts of the tf.data graph: sources, interleave, decoding."""

import dataclasses
import uuid
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from liquid_tf import _budget, _ops
from liquid_tf import manifest as manifests
from liquid_tf.manifest import FORMATS, Manifest

_POLICIES = ("pad", "drop", "uneven")
# Samples to shuffle among before the first batch: ten batches, of at least this
# many samples, as far as they fit these bytes.
_FILL_BATCHES = 10
_FILL_LEAST_BATCH = 32
_FILL_BYTES = 512 << 20
# Bytes read ahead by a source.
_LOOKAHEAD_LEAST = 8 << 20
_LOOKAHEAD_MOST = 64 << 20

DEFAULT_MAX_PIXELS = 1 << 28


class Snapshot:
  """What the iterators of one dataset share: epochs, cache and counters.

  The epoch counter, the records that stay in memory between epochs, and the
  statistics live in a named resource, made when the first dataset uses it and
  forgotten with this object.

  Args:
    cache: part of the memory that lasts between epochs: a share of the dataset
      ("30%"), bytes, 0, or "auto".
    memory: whole budget of the pipeline: bytes ("8GiB"), or "auto" for what the
      machine has free.
    initial_epoch: the first epoch to give out.
    initial_step: batches of it to leave out.
    name: of the resource; by default one of its own.
  """

  def __init__(
    self,
    cache: int | str = 0,
    memory: int | str = "auto",
    *,
    initial_epoch: int = 0,
    initial_step: int = 0,
    name: str | None = None,
  ):
    for key, value in (
      ("initial_epoch", initial_epoch),
      ("initial_step", initial_step),
    ):
      if not isinstance(value, int) or value < 0:
        raise ValueError(f"{key} ({value!r}) must be a number of at least 0")
    self.name = name or f"liquid/{uuid.uuid4().hex}"
    self.cache = cache
    self.memory = _budget.resolve_memory(memory)
    self.initial_epoch = initial_epoch
    self.initial_step = initial_step
    weakref.finalize(self, _forget, self.name)

  def seek(self, epoch: int, step: int = 0) -> None:
    """Makes the next new iterator run `epoch` from its batch `step` on."""
    _ops.lib().liquid_seek_snapshot(self.name, epoch, step)

  def stats_json(self, batches: bool = False) -> str:
    """Counters as JSON; see `liquid_tf.stats`."""
    json = _ops.lib().liquid_snapshot_stats(self.name, batches=batches)
    return json.numpy().decode()


def _forget(name: str) -> None:
  try:
    with tf.init_scope():
      _ops.lib().liquid_delete_snapshot(name)
  except Exception:  # noqa: BLE001 - at interpreter exit TensorFlow may be gone.
    pass


class FormatDataset(tf.data.Dataset):
  """Records of one format; made by `format_dataset`.

  Attributes:
    manifest: of the dataset.
    format: name of the format.
    split: name of the split.
    rows: the index's rows of this part, in stored order.
    file_counts: samples in each shard file, in stored order.
  """

  def __init__(
    self,
    manifest: Manifest,
    format_name: str,
    split: str,
    index: np.ndarray,
    part: tuple[int, int] | None,
    threads: int,
    lookahead_bytes: int,
  ):
    self.manifest = manifest
    self.format = format_name
    self.split = split
    number = FORMATS.index(format_name)
    split_number = manifest.split_index(split)
    stored = index[(index["split"] == split_number) & (index["format"] == number)]
    start, length = part if part is not None else (0, len(stored))
    positions = (start + np.arange(length)) % max(1, len(stored))
    self.rows = stored[positions]
    self.file_counts = _file_counts(self.rows["shard"], positions)
    paths = [
      manifest.path(shard.path) if shard.format == format_name else ""
      for shard in manifest.shards
    ]
    super().__init__(
      _ops.lib().liquid_format_dataset(
        directory=manifest.directory,
        paths=tf.constant(paths, tf.string, [len(paths)]),
        split=split_number,
        format=number,
        start=start,
        length=length,
        threads=threads,
        lookahead_bytes=lookahead_bytes,
      )
    )

  def _inputs(self):
    return []

  @property
  def element_spec(self):
    return tf.TensorSpec([], tf.variant)


def _file_counts(shards: np.ndarray, positions: np.ndarray) -> np.ndarray:
  """Lengths of the runs of one shard file, a wrap to the first sample apart."""
  if len(shards) == 0:
    return np.zeros([0], np.int64)
  starts = np.flatnonzero(
    np.concatenate([[True], (shards[1:] != shards[:-1]) | (positions[1:] == 0)])
  )
  return np.diff(np.append(starts, len(shards))).astype(np.int64)


def resolve_shard(shard: Any) -> tuple[int, int]:
  """(index, count) of `shard=`, which may be a `tf.distribute.InputContext`."""
  if isinstance(shard, tf.distribute.InputContext):
    return shard.input_pipeline_id, shard.num_input_pipelines
  try:
    index, count = (int(x) for x in shard)
  except (TypeError, ValueError):
    index, count = -1, 0
  if not 0 <= index < count:
    raise ValueError(
      f"shard ({shard!r}) must be (index, count) with 0 <= index < count, or a "
      "tf.distribute.InputContext"
    )
  return index, count


@dataclasses.dataclass(frozen=True)
class Part:
  """One shard of a split.

  Attributes:
    ranges: (start, length) in stored order, by format.
    repeated: samples that this shard shares with another one.
    dropped: samples that no shard has.
  """

  ranges: dict[str, tuple[int, int]]
  repeated: int = 0
  dropped: int = 0


def split_part(
  counts: dict[str, int], shard: tuple[int, int], policy: str
) -> Part:
  """Which samples of each format a data-parallel shard has."""
  if policy not in _POLICIES:
    raise ValueError(
      f"shard_policy ({policy!r}) must be one of {', '.join(_POLICIES)}"
    )
  if shard == (0, 1):
    return Part({name: (0, count) for name, count in counts.items()})
  out = _ops.lib().liquid_shard_ranges(
    samples=tf.constant(list(counts.values()), tf.int64),
    index=shard[0],
    count=shard[1],
    policy=policy,
  )
  ranges = zip(out.start.numpy().tolist(), out.length.numpy().tolist())
  return Part(
    dict(zip(counts, ranges)), int(out.repeated.numpy()), int(out.dropped.numpy())
  )


def split_counts(
  manifest: Manifest, index: np.ndarray, split: str
) -> dict[str, int]:
  """Samples of each format in a split, in the formats' order."""
  rows = index[index["split"] == manifest.split_index(split)]
  counts = np.bincount(rows["format"], minlength=len(FORMATS))
  return {name: int(counts[FORMATS.index(name)]) for name in manifest["formats"]}


def default_split(manifest: Manifest) -> str:
  """The split that is meant when none is named: "train", or the only one."""
  splits = list(manifest["splits"])
  return "train" if "train" in splits else splits[0]


def format_dataset(
  path: str,
  format: str,  # noqa: A002 - the field's name for it.
  *,
  split: str | None = None,
  shard: Any = (0, 1),
  shard_policy: str = "pad",
  threads: int = 4,
  lookahead_bytes: int = 32 << 20,
) -> FormatDataset:
  """A source of the records of one format.

  Below `interleave` it reads what the plan says, ahead of its use; by itself it
  reads in stored order.

  Args:
    path: a dataset directory.
    format: name of one of its formats, such as "png".
    split: name of a split; by default "train", or the first one.
    shard: (index, count) for data-parallel training, or a
      `tf.distribute.InputContext`.
    shard_policy: how shards come to equal numbers of batches: "pad" repeats a
      sample, "drop" leaves one out, "uneven" does not.
    threads: reads under way at once.
    lookahead_bytes: most bytes read and not yet used.

  Returns:
    A dataset of scalar variants, blocks of records, for `interleave` and
    `decode_and_batch`.

  Raises:
    ManifestError: the directory is no sound dataset.
    ValueError: an argument is wrong; the message names it.
  """
  manifest = manifests.load(path)
  index = manifests.load_index(manifest)
  split = split or default_split(manifest)
  counts = split_counts(manifest, index, split)
  if format not in counts:
    raise ValueError(
      f'format ("{format}") must be one of {", ".join(counts)}, the formats of {path}'
    )
  part = split_part(counts, resolve_shard(shard), shard_policy)
  return FormatDataset(
    manifest, format, split, index, part.ranges[format], threads, lookahead_bytes
  )


class InterleaveDataset(tf.data.Dataset):
  """Batches drawn as the planner says; made by `interleave`."""

  def __init__(
    self,
    sources: Sequence[FormatDataset],
    snapshot: Snapshot,
    *,
    batch_size: int,
    seed: int,
    shuffle: bool,
    drop_remainder: bool,
    epoch: int | None,
  ):
    self.sources = list(sources)
    self.snapshot = snapshot
    self.batch_size = batch_size
    self.seed = seed
    self.shuffle = shuffle
    samples = [len(source.rows) for source in sources]
    size = [int(source.rows["length"].sum()) for source in sources]
    fill = _fill(samples, size, batch_size)
    staging = staging_bytes(samples, size, fill, batch_size)
    room = max(0, snapshot.memory - staging)
    self.cached = _budget.cached_samples(snapshot.cache, samples, size, room)
    self._structure = _ops.lib().liquid_interleave_dataset
    variant = self._structure(
      input_datasets=[source._variant_tensor for source in sources],
      file_counts=np.concatenate([source.file_counts for source in sources]),
      files_per_format=[len(source.file_counts) for source in sources],
      cached=self.cached,
      fill=fill,
      formats=[source.format for source in sources],
      seed=seed,
      batch_size=batch_size,
      epoch=-1 if epoch is None else epoch,
      initial_epoch=snapshot.initial_epoch,
      initial_step=snapshot.initial_step,
      cache_bytes=room,
      snapshot=snapshot.name,
      shuffle=shuffle,
      drop_remainder=drop_remainder,
    )
    super().__init__(variant)

  def _inputs(self):
    return self.sources

  @property
  def element_spec(self):
    return tf.TensorSpec([], tf.variant)


def _fill(samples: list[int], size: list[int], batch_size: int) -> list[int]:
  """Samples of each format to shuffle among at least (determinism.md)."""
  total = sum(samples)
  if total == 0:
    return [0] * len(samples)
  wanted = min(total, _FILL_BATCHES * max(batch_size, _FILL_LEAST_BATCH))
  fits = int(_FILL_BYTES * total / max(1, sum(size)))
  wanted = max(1, min(wanted, fits))
  return [-(-wanted * n // total) for n in samples]


def staging_bytes(
  samples: list[int], size: list[int], fill: list[int], batch_size: int
) -> int:
  """Bytes in memory beside the cache: regions' slack, look-ahead, a batch."""
  total = max(1, sum(samples))
  slack = sum(
    (max(count, -(-batch_size * n // total)) * s // n) if n else 0
    for n, s, count in zip(samples, size, fill)
  )
  return slack + sum(_LOOKAHEAD_LEAST if n else 0 for n in samples)


def lookahead_bytes(memory: int, formats: int) -> int:
  """Bytes that each of `formats` sources may read ahead."""
  return max(_LOOKAHEAD_LEAST, min(_LOOKAHEAD_MOST, memory // 16 // max(1, formats)))


def interleave(
  datasets: Sequence[tf.data.Dataset],
  snapshot: Snapshot | None = None,
  *,
  batch_size: int = 32,
  seed: int = 0,
  shuffle: bool = True,
  drop_remainder: bool = False,
  epoch: int | None = None,
) -> tf.data.Dataset:
  """Mixes datasets so that every batch has the same composition.

  Of `format_dataset`s it draws blocks of `batch_size` records as the planner
  says: each sample once per epoch, a part kept in memory for the next one (Liquid,
  APSys '23, section 4.2). Any other datasets of known, finite size are mixed
  element by element, each in its own order and to its end.

  Args:
    datasets: one `format_dataset` per format of one split and shard, or plain
      datasets of one structure.
    snapshot: epochs, cache and counters; by default one without a cache. Only for
      `format_dataset`s.
    batch_size: samples whose composition is constant.
    seed: of the order of samples, any 64-bit number.
    shuffle: False for stored order.
    drop_remainder: whether the last batch is left out where it is short.
    epoch: runs this epoch in every iterator, instead of the snapshot's next.

  Returns:
    A dataset of record blocks for `decode_and_batch`, or of elements.

  Raises:
    ValueError: an argument is wrong; the message names it.
  """
  datasets = list(datasets)
  if not datasets:
    raise ValueError("datasets ([]) must be at least one dataset")
  if not isinstance(batch_size, int) or batch_size < 1:
    raise ValueError(f"batch_size ({batch_size!r}) must be a number of at least 1")
  ours = [isinstance(dataset, FormatDataset) for dataset in datasets]
  if all(ours):
    return InterleaveDataset(
      datasets,
      snapshot if snapshot is not None else Snapshot(),
      batch_size=batch_size,
      seed=seed,
      shuffle=shuffle,
      drop_remainder=drop_remainder,
      epoch=epoch,
    )
  if any(ours):
    raise ValueError("datasets must be all format_dataset()s, or none")
  if snapshot is not None:
    raise ValueError("snapshot needs format_dataset()s; plain datasets have no cache")
  return _interleave_plain(datasets, batch_size, seed, shuffle, epoch or 0)


def _interleave_plain(
  datasets: list[tf.data.Dataset], batch_size: int, seed: int, shuffle: bool, epoch: int
) -> tf.data.Dataset:
  sizes = [int(dataset.cardinality().numpy()) for dataset in datasets]
  for i, size in enumerate(sizes):
    if size < 0:
      raise ValueError(
        f"datasets[{i}] must have a known, finite cardinality; say it with "
        "tf.data.experimental.assert_cardinality"
      )
  plan = _ops.lib().liquid_plan_epoch(
    file_counts=sizes,
    files_per_format=[1] * len(sizes),
    cached=[0] * len(sizes),
    fill=[0] * len(sizes),
    seed=seed,
    batch_size=batch_size,
    first_epoch=epoch,
    epoch=epoch,
    shuffle=shuffle,
  )
  order = tf.data.Dataset.from_tensor_slices(tf.cast(plan.format, tf.int64))
  return tf.data.Dataset.choose_from_datasets(
    datasets, order, stop_on_empty_dataset=False
  )


def find_part(dataset: tf.data.Dataset, kind: type) -> Any:
  """The first dataset of a class at or below `dataset`, or None."""
  queue = [dataset]
  while queue:
    found = queue.pop(0)
    if isinstance(found, kind):
      return found
    queue.extend(found._inputs())
  return None
