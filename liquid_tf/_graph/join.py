"""Metadata columns as tensors, for the samples of a batch."""

from collections.abc import Mapping

import numpy as np
import tensorflow as tf

from liquid_tf._pipeline.joined import Joined


class Join:
  """Finds the values of samples by their numbers.

  A graph has the values as tensors outside of it, and does not copy them.

  Args:
    joined: the columns, by name.
  """

  def __init__(self, joined: Mapping[str, Joined]):
    # A dataset may be made inside of a function of a graph.
    with tf.init_scope():
      self._values = {name: _tensor(one) for name, one in joined.items()}

  def of(self, numbers: tf.Tensor | None) -> dict[str, tf.Tensor]:
    """Values of samples, [n] or [n, k], by name.

    Args:
      numbers: int64 [n]; None where nothing is joined.
    """
    return {name: tf.gather(values, numbers) for name, values in self._values.items()}


def _tensor(joined: Joined) -> tf.Tensor:
  values = joined.values
  if isinstance(values, np.ndarray):
    return tf.constant(values)
  return tf.constant(list(values.every()), tf.string)
