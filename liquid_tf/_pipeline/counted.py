"""Datasets whose number of elements tf.data does not find by itself."""

import tensorflow as tf

from liquid_tf._native import ops


class CountedDataset(tf.data.Dataset):
  """A dataset of a known `cardinality()`, which is not enforced.

  `tf.data.experimental.assert_cardinality` makes it an error where an iterator goes on
  inside of an epoch, or where tf.data service shares the elements out.

  Args:
    dataset: whose elements these are.
    count: elements of a whole iteration.
  """

  def __init__(self, dataset: tf.data.Dataset, count: int):
    self._dataset = dataset
    super().__init__(
      ops.lib().liquid_counted_dataset(
        dataset._variant_tensor, count, **dataset._flat_structure
      )
    )

  def _inputs(self):
    return [self._dataset]

  @property
  def element_spec(self):
    return self._dataset.element_spec
