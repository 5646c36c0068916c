"""Stages of a pipeline whatever they hold: found, counted, taken one by one."""

from typing import Any

import tensorflow as tf

from liquid_tf._native import ops


def find_stage(dataset: tf.data.Dataset, kind: type) -> Any:
  """The first dataset of a class at or below `dataset`, or None."""
  queue = [dataset]
  while queue:
    found = queue.pop(0)
    if isinstance(found, kind):
      return found
    queue.extend(found._inputs())
  return None


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


def unbatched(batches: tf.data.Dataset, ragged: bool, planar: bool) -> tf.data.Dataset:
  """The samples of batches.

  Args:
    batches: of tensors, tuples or dicts; images may be ragged.
    ragged: whether they are.
    planar: whether an image's channels come before its rows.
  """
  samples = batches.unbatch()
  if not ragged:
    return samples
  return samples.map(lambda *sample: _dense(sample, planar))


def _dense(sample: tuple[Any, ...], planar: bool) -> Any:
  """A sample whose ragged images are dense tensors of their own size.

  Args:
    sample: (image, ...), or a dict with "image".
    planar: whether the image's channels come before its rows.
  """
  dense = tf.nest.map_structure(
    lambda x: x.to_tensor() if isinstance(x, tf.RaggedTensor) else x, sample
  )
  if isinstance(dense[0], dict):
    [named] = dense
    if planar and "image" in named:
      named["image"] = tf.transpose(named["image"], [2, 0, 1])
    return named
  if planar:
    dense = (tf.transpose(dense[0], [2, 0, 1]), *dense[1:])
  return dense if len(dense) > 1 else dense[0]
