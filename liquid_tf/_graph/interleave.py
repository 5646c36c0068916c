"""The interleave: batches of one composition from several formats."""

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from liquid_tf._graph import asked
from liquid_tf._graph.format_dataset import FormatDataset
from liquid_tf._graph.snapshot import Snapshot
from liquid_tf._native import messages, ops
from liquid_tf._native import whole as _whole
from liquid_tf._pipeline import fidelity as _fidelity
from liquid_tf._pipeline.draws import Draws, check_batches, check_last_batch
from liquid_tf.errors import WrongArgument
from liquid_tf.transforms import seed_bits


class InterleaveDataset(Draws, tf.data.Dataset):
  """Batches drawn as the planner says; made by `interleave`.

  Args:
    sources: of the samples.
    snapshot: that iterators share.
    epoch: that every iterator runs, a number or a scalar tensor; None where one follows
      the other.
    steps: (first, count) of its batches; None for all.
    **more: of `Draws`.
  """

  def __init__(
    self,
    sources: Sequence[FormatDataset],
    snapshot: Snapshot,
    *,
    epoch: int | tf.Tensor | None,
    steps: tuple[int | tf.Tensor, int | tf.Tensor] | None = None,
    **more: Any,
  ):
    Draws.__init__(self, sources, snapshot, epoch=epoch, **more)
    mixes = None
    if self.mixes is not None:
      mixes = asked.mixes_table(self.mixes, self.room, self.pixel_bytes)
    fidelity = asked.fidelity_table(self.fidelity, self.batches)
    self._asked = [fidelity, mixes]
    variant = ops.lib().liquid_interleave_dataset(
      input_datasets=[source._variant_tensor for source in sources],
      fidelity=[] if fidelity is None else [fidelity._variant_tensor],
      mixes=[] if mixes is None else [mixes._variant_tensor],
      plan=self.message,
      range=_range(epoch, steps),
      groups=self.groups,
      record_blocks=self.record_blocks,
      snapshot=snapshot.name,
    )
    tf.data.Dataset.__init__(self, variant)

  def _inputs(self):
    return self.sources + [dataset for dataset in self._asked if dataset is not None]

  @property
  def element_spec(self):
    return tf.TensorSpec([], tf.variant)


def _range(
  epoch: int | tf.Tensor | None,
  steps: tuple[int | tf.Tensor, int | tf.Tensor] | None,
) -> tf.Tensor:
  """Epoch of iterators, and its batches, as the op takes them."""
  first, count = (0, -1) if steps is None else steps
  numbers = [-1 if epoch is None else epoch, first, count]
  return tf.stack([tf.cast(number, tf.int64) for number in numbers])


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
