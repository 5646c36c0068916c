"""The order in which a dataset gives its samples, known without reading them."""

import numpy as np
import tensorflow as tf

from liquid_tf._graph import lineage
from liquid_tf._graph.decode import DecodeBatchDataset
from liquid_tf._graph.stages import find_stage
from liquid_tf._pipeline.plan import Plan

# What gives each element of its input, in the same order.
_SAME = ("cache", "counted", "map", "options", "prefetch")


def order(dataset: tf.data.Dataset) -> np.ndarray:
  """Gives sample numbers in the order of a dataset with shuffle=False.

  It is the stored order, in which every batch has samples of each format, and not that
  of the numbers, which `View.numbers` has. So these are the files that the rows of
  `model.predict` are of, as `predictions` gives them too:

      test = liquid_tf.dataset(view, 64, shuffle=False)
      scores = model.predict(test)
      names = view.names(liquid_tf.keras.order(test))

  Args:
    dataset: what `liquid_tf.dataset` gave with `shuffle=False`, or something mapped or
      prefetched from it.

  Returns:
    Shape [samples], int64, one for each sample that an epoch gives: without those that
    last_batch="drop" leaves out, and with those that "repeat" adds.

  Raises:
    ValueError: the order is not known, or not the same in every epoch: the samples are
      shuffled, or something after the dataset may leave some out or move them; or
      on_error="skip" may; or `start` is inside an epoch. There the feature "id" gives
      the numbers of each batch.
  """
  blocks = lineage.only_blocks(dataset, "ask for the order of each of them")
  _check_same(dataset)
  advice = 'the feature "id" gives the sample numbers of each batch'
  decoded = find_stage(dataset, DecodeBatchDataset)
  if blocks.shuffle:
    raise ValueError(f"dataset must have shuffle=False for one order: {advice}")
  if blocks.begin.step or blocks.begin.cuts:
    raise ValueError(
      f"dataset must begin with an epoch, not inside of one as start says: {advice}"
    )
  if decoded is not None and decoded.skips:
    raise ValueError(
      'dataset must have on_error="raise": which samples "skip" leaves out is known '
      f"when they are read; {advice}"
    )
  fill = [0] * len(blocks.sources)  # In stored order nothing is filled first.
  found = Plan(
    blocks.sources, blocks.cached, fill, blocks.seed, blocks.batch_size, shuffle=False
  ).drawn()
  if blocks.drops:
    return found[: blocks.batches * blocks.batch_size]
  rest = len(found) % blocks.batch_size
  if rest and decoded is not None and decoded.fills:
    return np.append(found, np.resize(found[-rest:], blocks.batch_size - rest))
  return found


def _check_same(dataset: tf.data.Dataset) -> None:
  """Raises ValueError where what a user put after a dataset may change its order."""
  while not lineage.is_ours(dataset):
    step = lineage.step(dataset)
    if step not in _SAME or getattr(dataset, "_deterministic", None) == "false":
      raise ValueError(
        f"dataset must be what liquid_tf.dataset() gave: {step}() after it may change "
        "which samples there are, and where"
      )
    (dataset,) = dataset._inputs()
