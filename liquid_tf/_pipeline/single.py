"""Samples one at a time, each image of its own size."""

from typing import Any

import tensorflow as tf


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
