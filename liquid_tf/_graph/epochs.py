"""Epochs as data: for tf.data service, and wherever one iterator runs several."""

import dataclasses
import os
from typing import Any

import tensorflow as tf

from liquid_tf._graph import interleave
from liquid_tf._graph.build import build
from liquid_tf._graph.stages import CountedDataset, find_stage
from liquid_tf._native import whole as _whole
from liquid_tf._pipeline.arguments import Arguments
from liquid_tf._view.mixture import Mixture, as_source
from liquid_tf._view.view import View
from liquid_tf.errors import WrongArgument

_OURS = ("epoch", "steps", "start")


def epochs(
  path: str | os.PathLike | View | Mixture,
  count: int,
  *,
  first: int = 0,
  parts: int = 1,
  **options: Any,
) -> tf.data.Dataset:
  """Several epochs of a Liquid dataset, one after another, each in its own order.

  It is `Dataset.range(count * parts).flat_map(...)` over ranges of batches, so
  what comes next is data and not the state of a process. That is what tf.data service
  needs, whose workers otherwise begin with epoch 0 each time. With
  `ShardingPolicy.DYNAMIC` an element of the range, a range of batches of one plan, is
  what a worker takes on; batches have the composition of the plan, on any worker.

  A part reads what its batches draw and nothing else. Its first batches are read in
  the order of draws, the others in that of the disk, so parts should have more batches
  than the first fill, which is some ten. A record of the format pcr whose images are
  drawn in two parts is read in both.

  Args:
    path: a dataset directory, a view of one, or a mixture of some.
    count: how many epochs.
    first: number of the first one.
    parts: ranges of batches that an epoch is divided into, of equal length to one.
    **options: of `dataset`; nothing is cached between epochs, and the cache must be 0
      or "auto".

  Returns:
    A dataset of the batches of `dataset`.

  Raises:
    ManifestError: the directory is no sound dataset.
    ValueError: an argument is wrong; the message names it.
  """
  count = _whole.number(count, "count", 0)
  first = _whole.number(first, "first", 0)
  parts = _whole.number(parts, "parts", 1)
  for name in _OURS:
    if name in options:
      raise WrongArgument(name, options[name], "is no option of epochs(): use first")
  # Opened once, not again for each part of each epoch.
  path = as_source(path, options.pop("split", None))
  given = Arguments(path, **options)
  whole = build(dataclasses.replace(given, epoch=0))
  blocks = find_stage(whole, interleave.InterleaveDataset)
  steps, each = blocks.batches, int(whole.cardinality())
  # One budget: what only counts batches must take none of the memory.
  given = dataclasses.replace(given, memory=blocks.snapshot.memory)
  traced = []  # what a graph names, such as a snapshot, ends with these

  def run(number: tf.Tensor) -> tf.data.Dataset:
    part = number % parts
    begin, end = part * steps // parts, (part + 1) * steps // parts
    steps_of_part = (begin, end - begin)
    traced.append(
      build(dataclasses.replace(given, epoch=number // parts, steps=steps_of_part))
    )
    return traced[-1]

  ranges = tf.data.Dataset.range(first * parts, (first + count) * parts)
  elements = ranges.flat_map(run)
  return elements if each < 0 else CountedDataset(elements, count * each)
