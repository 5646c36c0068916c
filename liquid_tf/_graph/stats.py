"""Counts of what a dataset has delivered, from its native ops."""

import tensorflow as tf

from liquid_tf._graph import lineage
from liquid_tf._pipeline import verdict
from liquid_tf._pipeline.stats import Stats


def _between(dataset: tf.data.Dataset) -> verdict.Between:
  """Finds what a user put after the batches."""
  found, ahead = [], False
  while not lineage.is_ours(dataset):
    inputs = dataset._inputs()
    if len(inputs) != 1:
      break
    kind = lineage.step(dataset)
    parallel = "parallel " if "Parallel" in type(dataset).__name__ else ""
    # Of the last step, since a batch that waits behind another step is none ahead.
    ahead = ahead or (kind == "prefetch" and not found)
    if kind not in ("prefetch", "options", "counted", "repeat"):
      function = getattr(getattr(dataset, "_map_func", None), "_func", None)
      name = getattr(function, "__name__", "")
      step = f"{kind}({name})" if name.isidentifier() else kind
      found.append(parallel + step)
    (dataset,) = inputs
  return verdict.Between(tuple(found[::-1]), ahead)


def stats(dataset: tf.data.Dataset) -> Stats:
  """The counters of a dataset.

  Args:
    dataset: what `liquid_tf.dataset` gave, or anything mapped, batched or prefetched
      from it.

  Returns:
    A `Stats`.

  Raises:
    ValueError: the dataset is not made from `liquid_tf.dataset`, or from several, as by
      `zip`, whose counters are not those of one.
  """
  blocks = lineage.only_blocks(dataset, "give stats each of them, which counts its own")
  return Stats(blocks, _between(dataset))
