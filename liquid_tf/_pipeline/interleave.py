"""The interleave: batches of one composition from several formats."""

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from liquid_tf._cost import budget
from liquid_tf._native import messages, ops
from liquid_tf._native import whole as _whole
from liquid_tf._pipeline import fidelity as _fidelity
from liquid_tf._pipeline import format_rows as _format_rows
from liquid_tf._pipeline import mixes as _mixes
from liquid_tf._pipeline import tier as _tier
from liquid_tf._pipeline.format_dataset import FormatDataset
from liquid_tf._pipeline.parts import Part
from liquid_tf._pipeline.plan import Plan
from liquid_tf._pipeline.room import Room
from liquid_tf._pipeline.snapshot import Snapshot
from liquid_tf._pipeline.start import Start, check_inside
from liquid_tf._pipeline.weighing import Weighing
from liquid_tf._store.manifest import Manifest
from liquid_tf._words import Shown, argument
from liquid_tf.errors import WrongArgument
from liquid_tf.transforms import seed_bits

_NO_PART = Part({})
_NO_WEIGHTS = Weighing([], np.zeros(0, np.int64), np.zeros(0, np.int64), 0, "")


class InterleaveDataset(tf.data.Dataset):
  """Batches drawn as the planner says; made by `interleave`.

  Attributes:
    samples: of a whole epoch.
    batches: likewise.
    cached: samples, or records, of each source that are kept between epochs.
    sections: samples of each source in epoch 0 where sources share them, else None.
    rests: of `dataset`, what goes on in epochs of other numbers of workers, a `Rests`.
    begin: where the first iterator begins, a `Start`.
    begun_batches: of that epoch, also those before `begin`, of any worker.
    division: what memory is spent on, in epoch 0.
    moves: whether mixes are chosen by what was measured.
  """

  def __init__(
    self,
    sources: Sequence[FormatDataset],
    snapshot: Snapshot,
    *,
    batch_size: int,
    seed: int,
    shuffle: bool,
    last_batch: str,
    epoch: int | tf.Tensor | None,
    steps: tuple[int | tf.Tensor, int | tf.Tensor] | None = None,
    policy: str = "liquid",
    fidelity: _fidelity.Fidelity = None,
    part: Part = _NO_PART,
    fill_short_batches: bool = False,
    mixes: _mixes.Mixes | None = None,
    weighing: Weighing | None = None,
    is_sought: bool = False,
  ):
    self.sources = list(sources)
    self.snapshot = snapshot
    self.batch_size = batch_size
    self.seed = seed = seed_bits(seed, "seed")
    self.shuffle = shuffle
    self.part = part
    self.weighing = weighing
    # Workers in step need equal numbers of batches even where records are skipped.
    self.fill_short_batches = fill_short_batches
    self.drops = last_batch == "drop"
    # Whether steps may leave something to chance.
    self.draws = shuffle
    self.rests = None
    fidelity = _fidelity.check(fidelity, [source.format for source in sources])
    _check_cache(sources, snapshot, policy, weighing, epoch)
    keep_pixels = snapshot.cache.form == "pixels"
    self.sections = sections = None if mixes is None else mixes.given[0]
    self.samples = samples = _samples(sources, mixes, weighing)
    self.batches = batches = (
      samples // batch_size if self.drops else -(-samples // batch_size)
    )
    self.moves = mixes is not None and mixes.threads is not None
    self.begin, self.begun_batches = _begin(snapshot, batches, self.moves), batches
    pixel_bytes = mean_pixel_bytes(manifests_of(sources))
    room = Room(
      self.sources,
      snapshot,
      batch_size,
      shuffle,
      _bytes_ahead(sources, snapshot, batch_size, pixel_bytes),
      _fidelity.constant(fidelity),
      weighing,
    )
    fill, division = room.divide(sections)
    most = list(map(max, fill, division.resident))
    if mixes is not None and mixes.changing:
      # Another epoch may hold more of a format than the first.
      most = [source.records for source in sources]
    snapshot.most_bytes = room.most_bytes(most)
    self.division, self.cached = division, division.cached
    self.mixes = None
    if mixes is not None:
      self.mixes = mixes.dataset(room, pixel_bytes)
    self.fidelity = _fidelity.table(fidelity, batches)
    weights, groups = _weights(sources, weighing)
    tier, record_blocks = _tier.fields(snapshot.cache, snapshot.memory, sources)
    message = messages.interleave(
      plan=Plan(
        sources, self.cached, fill, seed, batch_size, shuffle, policy, sections or ()
      ).message(),
      sources=[
        messages.source(
          name=source.name,
          resident=resident,
          kept=kept,
          first_group=source.first_group,
          grouped_samples=len(source.groups),
        )
        for source, resident, kept in zip(sources, division.resident, division.kept)
      ],
      view=_view_hash(sources),
      drop_remainder=self.drops,
      initial_epoch=self.begin.epoch,
      # A process that does not seek must not begin with all of the epoch.
      initial_step=-1 if is_sought else self.begin.step,
      cache_bytes=division.cache_bytes,
      spare_bytes=division.spare_bytes,
      keep_pixels=keep_pixels,
      mask_bytes=_format_rows.mask_bytes(sources[0].manifest),
      **weights,
      **tier,
    )
    variant = ops.lib().liquid_interleave_dataset(
      input_datasets=[source._variant_tensor for source in sources],
      fidelity=[] if self.fidelity is None else [self.fidelity._variant_tensor],
      mixes=[] if self.mixes is None else [self.mixes._variant_tensor],
      plan=message,
      range=_range(epoch, steps),
      groups=groups,
      record_blocks=record_blocks,
      snapshot=snapshot.name,
    )
    super().__init__(variant)

  def _inputs(self):
    asked = [self.fidelity, self.mixes]
    return self.sources + [dataset for dataset in asked if dataset is not None]

  @property
  def element_spec(self):
    return tf.TensorSpec([], tf.variant)


def _check_cache(
  sources: Sequence[FormatDataset],
  snapshot: Snapshot,
  policy: str,
  weighing: Weighing | None,
  epoch: Any,
) -> None:
  """Checks what goes with a cache; arguments are those of `InterleaveDataset`."""
  formats = [source.format for source in sources]
  if policy != "liquid" and "pcr" in formats:
    raise WrongArgument("policy", policy, 'must be "liquid" where a format is pcr')
  if snapshot.cache.form == "pixels" and "pcr" in formats:
    raise WrongArgument(
      "Cache: form", "pixels", 'must be "encoded" where a format is pcr'
    )
  _tier.check(snapshot.cache, formats, policy, weighing is not None, epoch)


def _samples(
  sources: Sequence[FormatDataset],
  mixes: _mixes.Mixes | None,
  weighing: Weighing | None,
) -> int:
  """Samples of a whole epoch."""
  if weighing is not None:
    return weighing.samples
  if mixes is not None:  # They share them.
    return len(sources[0].rows)
  return sum(len(source.rows) for source in sources)


def _begin(snapshot: Snapshot, batches: int, chosen: bool) -> Start:
  """Where a snapshot begins, in epochs of so many batches.

  Args:
    snapshot: of the dataset.
    batches: of an epoch.
    chosen: whether epochs have mixes that were chosen by what was measured.

  Raises:
    ValueError: an epoch has no such step, or its rest is not known.
  """
  begin = Start(*snapshot.start)
  if begin.step > batches:
    raise WrongArgument(
      "start",
      snapshot.start,
      f"must have a step of at most {batches}, the batches of an epoch",
    )
  if 0 < begin.step == batches:
    begin = Start(begin.epoch + 1, 0)
  check_inside(begin, snapshot.cache.size, chosen)
  return begin


def _bytes_ahead(
  sources: Sequence[FormatDataset],
  snapshot: Snapshot,
  batch_size: int,
  pixel_bytes: float,
) -> int:
  """Most bytes that are on their way, from the disk to the consumer."""
  read = sum(source.lookahead_bytes for source in sources if len(source.rows))
  decoded = budget.decoded_bytes(
    snapshot.memory, batch_size * (pixel_bytes + mean_stored_bytes(sources))
  )
  return read + decoded + _tier.queue_bytes(snapshot.cache, snapshot.memory)


def _view_hash(sources: Sequence[FormatDataset]) -> int:
  """An int64 that differs where other samples are read."""
  fingerprints = " ".join(source.view.fingerprint for source in sources)
  digest = hashlib.sha256(fingerprints.encode()).digest()
  return int.from_bytes(digest[:8], "little", signed=True)


def _range(
  epoch: int | tf.Tensor | None,
  steps: tuple[int | tf.Tensor, int | tf.Tensor] | None,
) -> tf.Tensor:
  """Epoch of iterators, and its batches, as the op takes them."""
  first, count = (0, -1) if steps is None else steps
  numbers = [-1 if epoch is None else epoch, first, count]
  return tf.stack([tf.cast(number, tf.int64) for number in numbers])


def _weights(
  sources: Sequence[FormatDataset], weighing: Weighing | None
) -> tuple[dict[str, Any], np.ndarray]:
  """Fields of the message about weights, and the group of each sample."""
  given = _NO_WEIGHTS if weighing is None else weighing
  fields = dict(
    shares=given.shares,
    samples_per_epoch=given.samples_per_epoch,
    worker=given.worker[0],
    workers=given.worker[1],
    shard_policy=given.policy,
  )
  return fields, np.concatenate([source.groups for source in sources])


def manifests_of(sources: Sequence[FormatDataset]) -> list[Manifest]:
  """Manifests of the datasets of sources, each once."""
  return list(
    {source.manifest.directory: source.manifest for source in sources}.values()
  )


def mean_pixel_bytes(manifests: Iterable[Manifest]) -> float:
  """Bytes of a decoded image, on average."""
  formats = [entry for one in manifests for entry in one["formats"].values()]
  samples = sum(entry["samples"] for entry in formats)
  return sum(entry["pixel_bytes"] for entry in formats) / max(1, samples)


def mean_stored_bytes(sources: Sequence[FormatDataset]) -> float:
  """Bytes of a sample as it is stored, on average."""
  samples = sum(len(source.rows) for source in sources)
  return sum(source.stored_bytes(None) for source in sources) / max(1, samples)


def interleave(
  datasets: Sequence[tf.data.Dataset],
  snapshot: Snapshot | None = None,
  *,
  batch_size: int = 32,
  seed: int = 0,
  shuffle: bool = True,
  last_batch: str = "short",
  epoch: int | None = None,
  fidelity: _fidelity.Fidelity = None,
  policy: str = "liquid",
) -> tf.data.Dataset:
  """Mixes datasets so that every batch has the same composition.

  Of `format_dataset`s it draws blocks of `batch_size` records as the planner
  says: each sample once per epoch, a part kept in memory for the next one (Liquid,
  APSys '23, section 4.2). Any other datasets of known, finite size are mixed
  element by element, each in its own order and to its end.

  Args:
    datasets: one `format_dataset` per format of one split and part, or plain
      datasets of one structure.
    snapshot: epochs, cache and counters; by default one without a cache. Only for
      `format_dataset`s.
    batch_size: samples whose composition is constant.
    seed: of the order of samples, any 64-bit number.
    shuffle: False for stored order.
    last_batch: what happens to a last batch of fewer samples: "short" gives it as it
      is, "drop" leaves it out. Only for `format_dataset`s.
    epoch: runs this epoch in every iterator, instead of the snapshot's next.
    fidelity: scan groups of the format pcr that a batch has; as `dataset` takes them,
      but without shares.
    policy: which samples memory keeps between epochs. "liquid" replaces as many in
      every batch. "minio", there to be compared with it, keeps what it met first and
      never replaces it (CoorDL, VLDB '21): each format is drawn in a uniformly random
      order, so hits per batch are left to chance. Not with the format pcr.

  Returns:
    A dataset of record blocks for `decode_and_batch`, or of elements.

  Raises:
    ValueError: an argument is wrong; the message names it.
  """
  if policy not in ("liquid", "minio"):
    raise WrongArgument("policy", policy, 'must be "liquid" or "minio"')
  datasets = list(datasets)
  if not datasets:
    raise WrongArgument("datasets", [], "must be at least one dataset")
  batch_size = _whole.number(batch_size, "batch_size", 1)
  check_last_batch(last_batch, ("short", "drop"))
  ours = [isinstance(dataset, FormatDataset) for dataset in datasets]
  if all(ours):
    blocks = InterleaveDataset(
      datasets,
      snapshot if snapshot is not None else Snapshot(),
      batch_size=batch_size,
      seed=seed,
      shuffle=shuffle,
      last_batch=last_batch,
      epoch=epoch,
      fidelity=fidelity,
      policy=policy,
    )
    check_batches(blocks, f"datasets ({len(datasets)})")
    return blocks
  if any(ours):
    raise ValueError("datasets must be all format_dataset()s, or none")
  if fidelity is not None:
    raise ValueError("fidelity needs format_dataset()s; plain datasets have none")
  if snapshot is not None:
    raise ValueError("snapshot needs format_dataset()s; plain datasets have no cache")
  if last_batch != "short":
    raise WrongArgument(
      "last_batch", last_batch, 'must be "short" for plain datasets, mixed to their end'
    )
  return _interleave_plain(
    datasets, batch_size, seed_bits(seed, "seed"), shuffle, epoch or 0
  )


def check_batches(blocks: InterleaveDataset, whose: str) -> None:
  """Raises ValueError where an epoch has no batch, and a training would learn nothing.

  Args:
    blocks: the batches.
    whose: what they are of, for the error.
  """
  if not blocks.samples:
    raise ValueError(f"{whose} must have a sample, and has none")
  if not blocks.batches:
    raise WrongArgument(
      "last_batch",
      "drop",
      f"leaves no batch of {whose}: "
      f"{argument('batch_size', Shown(blocks.batch_size))} must be at most "
      f'{blocks.samples}, the samples that an epoch has here, or last_batch "short" '
      'or "repeat"',
    )


def check_last_batch(last_batch: str, allowed: Sequence[str]) -> None:
  """Raises ValueError where `last_batch` is none of those allowed."""
  if last_batch not in allowed:
    raise WrongArgument(
      "last_batch", last_batch, f"must be one of {', '.join(allowed)}"
    )


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
  formats = [
    messages.format_plan(
      files=[size], record_samples=[], cached=0, fill=0, scan_groups=0
    )
    for size in sizes
  ]
  plan = ops.lib().liquid_plan_epoch(
    plan=messages.plan(
      seed=seed,
      batch_size=batch_size,
      shuffle=shuffle,
      policy="liquid",
      formats=formats,
      sections=[],
    ),
    first_epoch=epoch,
    epoch=epoch,
  )
  order = tf.data.Dataset.from_tensor_slices(tf.cast(plan.format, tf.int64))
  return tf.data.Dataset.choose_from_datasets(
    datasets, order, stop_on_empty_dataset=False
  )
