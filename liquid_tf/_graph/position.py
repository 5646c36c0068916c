"""Where a training stands in its data, for a later process to go on from there."""

import json
from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from liquid_tf._graph import lineage
from liquid_tf._graph.decode import DecodeBatchDataset
from liquid_tf._graph.interleave import InterleaveDataset
from liquid_tf._graph.stages import find_stage
from liquid_tf._native import whole
from liquid_tf._pipeline import position as _position
from liquid_tf._pipeline.position import Position
from liquid_tf._pipeline.start import Start

_UNKNOWN = (tf.data.UNKNOWN_CARDINALITY, tf.data.INFINITE_CARDINALITY)


def position(dataset: tf.data.Dataset, epoch: int, step: int) -> dict[str, Any]:
  """Where a training stands in its data, for `dataset(start=)` to go on from.

  Save it together with the model. Then a later process goes on with the very next
  batch, whatever memory it has: beside the epoch and the step, a position holds how
  many samples are cached, which the order depends on, and what the dataset is made of.

      for epoch in range(begin["epoch"], 90):
        first = begin["step"] if epoch == begin["epoch"] else 0
        for step, batch in enumerate(train, first):
          ...
          save(model, liquid_tf.position(train, epoch, step + 1))

  You count the batches that you have trained on, since nothing else knows how many
  batches a `prefetch` or `map` after the dataset has taken ahead. A count that the
  dataset cannot have reached is an error. For Keras's `fit` there is `Resume`.

  Args:
    dataset: what `liquid_tf.dataset` gave, or what `map` and `prefetch` made of it; in
      the process that takes its batches. If you zip several, each has its position.
    epoch: that is run.
    step: batches of it that were trained on, also in processes before this one: after
      the first batch of an epoch it is 1. All batches of an epoch are the beginning of
      the next one.

  Returns:
    A dict of numbers, strings, lists and dicts, for JSON, pickle or `torch.save`
    (docs/formats/position.md). Its "epoch" and "step" are where the next process begins
    to count. A worker's position serves all workers that train in step, and other
    numbers of them, as far as `start=(epoch, [(workers, steps), …])` does
    (docs/scaling.md). With `on_error="skip"`, going on may repeat as many samples as
    the epoch had skipped.

  Raises:
    ValueError: the dataset is not made from `liquid_tf.dataset`, or from several, has
      `batch_size=None`, or no longer its batches, as after a `shuffle`; or it has not
      delivered so many batches, or began after them.
  """
  blocks = lineage.only_blocks(
    dataset, "take a position of each, for the start of its own dataset()"
  )
  if blocks.rests is None:
    raise ValueError("dataset must come from liquid_tf.dataset(), which takes start")
  lineage.origins(dataset, "Give what you made it of, and count its batches.")
  count = int(dataset.cardinality())
  if count not in _UNKNOWN and count != blocks.batches:
    raise ValueError(
      f"dataset must have the {blocks.batches} batches of liquid_tf.dataset(), one for "
      f"one, not {count}: give what you made it of, and count its batches"
    )
  epoch = whole.number(epoch, "epoch", 0)
  step = whole.number(step, "step", 0)
  stats = json.loads(blocks.snapshot.stats_json())
  begin = blocks.begin
  cuts = begin.cuts if epoch == begin.epoch else ()
  _check_delivered(blocks, stats, epoch, step)
  batches = blocks.begun_batches if epoch == begin.epoch else blocks.batches
  if 0 < step == batches:
    epoch, step, cuts = epoch + 1, 0, ()
  start = Start(epoch, step - sum(steps for _, steps in cuts), cuts)
  return Position.of(blocks, run_of(blocks, dataset), start).saved()


def _check_delivered(
  blocks: InterleaveDataset, stats: Mapping[str, Any], epoch: int, step: int
) -> None:
  """Raises ValueError where a training cannot stand there."""
  begin, now = blocks.begin, stats["next_epoch"]
  first = (begin.epoch, begin.before + begin.step)
  place = f"position: epoch {epoch}, step {step}"
  if (epoch, step) < first:
    raise ValueError(
      f"{place} is before start, epoch {first[0]}, step {first[1]}: count from there on"
    )
  delivered = sum(one["batches"] for one in stats["epochs"] if one["epoch"] == now)
  if now == begin.epoch:
    delivered += first[1]
  batches = blocks.begun_batches if epoch == begin.epoch else blocks.batches
  if step > batches:
    raise ValueError(f"{place} must be at most {batches}, the batches of the epoch")
  if (epoch, step) > (now, delivered):
    raise ValueError(
      f"{place} is not reached: of epoch {now}, {delivered} batches were delivered in "
      "this process. Count as the dataset does: an epoch that is left early runs "
      "again, and the next one begins after the last batch"
    )


def run_of(blocks: InterleaveDataset, dataset: tf.data.Dataset) -> dict[str, Any]:
  """Identity of the run that trains on a dataset; see `Position.run`.

  Args:
    blocks: at or below the dataset.
    dataset: that is trained on.
  """
  decoded = find_stage(dataset, DecodeBatchDataset)
  return _position.run_of(blocks, None if decoded is None else decoded.recipe)
