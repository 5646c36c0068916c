"""Tensors of what a batch gets by its samples' numbers."""

from collections.abc import Mapping

import numpy as np
import tensorflow as tf

from liquid_tf._pipeline.columns import Columns
from liquid_tf._pipeline.joined import Joined


class Join:
  """Finds the values of samples by their numbers.

  A graph has the values as tensors outside of it, and does not copy them.

  Args:
    columns: of the batches.
  """

  def __init__(self, columns: Columns):
    self._needed = columns.places.needed
    # A dataset may be made inside of a function of a graph.
    with tf.init_scope():
      self._begins = tf.constant(columns.places.begins)
      self._values = {name: _tensor(one) for name, one in columns.joined.items()}

  def of(self, values: Mapping[str, tf.Tensor]) -> dict[str, tf.Tensor]:
    """Values of a batch's samples, [n] or [n, k], by name.

    Args:
      values: the arrays of the batch.
    """
    if not self._values:
      return {}
    places = values["id"]
    if "source" in self._needed:
      places += tf.gather(self._begins, values["source"])
    return {name: tf.gather(found, places) for name, found in self._values.items()}


def _tensor(joined: Joined) -> tf.Tensor:
  if isinstance(joined.parts[0], np.ndarray):
    parts = [tf.constant(part) for part in joined.parts]
  else:
    parts = [tf.constant(list(part.every()), tf.string) for part in joined.parts]
  return parts[0] if len(parts) == 1 else tf.concat(parts, 0)
