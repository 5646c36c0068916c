"""Tensors that a batch was decoded into, in the structure that was asked for."""

import math
from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from liquid_tf._graph.join import Join
from liquid_tf._pipeline.columns import Columns
from liquid_tf._pipeline.features import in_structure
from liquid_tf._pipeline.spec import Spec


class Shape:
  """Makes batches of flat tuples of tensors.

  Args:
    columns: of the tensors.
  """

  def __init__(self, columns: Columns):
    self._columns = columns
    self._parsing = _parsing(columns.parsed)
    self._join = Join(columns)

  def shaped(self, *tensors: tf.Tensor) -> Any:
    """A batch in the structure that was asked for."""
    columns = self._columns
    values = dict(zip(columns.names, tensors))
    for name in columns.pixels:
      if columns.flat:
        values[name] = _to_ragged(values[name], values["size"])
      elif columns.recipe.ragged:
        values[name] = tf.RaggedTensor.from_tensor(values[name], ragged_rank=2)
    for name in columns.boxes.ragged:
      values[name] = tf.RaggedTensor.from_row_lengths(
        values[name], values["num_boxes"], validate=False
      )
    if self._parsing:
      parsed = tf.io.parse_example(values["example"], self._parsing)
      for name, value in parsed.items():
        values[name] = _in_shape(columns.parsed[name], value)
    values |= self._join.of(values)
    if columns.views:
      values["image"] = tuple(values[name] for name in columns.views)
    if columns.recipe.repeats > 1:
      values = repeated(columns, values)
    return in_structure(values, columns.wanted, columns.as_dict)


def repeated(columns: Columns, values: Mapping[str, Any]) -> dict[str, Any]:
  """The features among some that are given out, of each view of each image.

  Args:
    columns: of the arrays, whose views are samples.
    values: tensors by their names, [n, ...], or [n, views, ...].
  """
  repeats = columns.recipe.repeats
  found = {name: values[name] for name in columns.wanted if name in values}
  for name, value in found.items():
    if name in columns.of_views:
      shape = value.shape
      n = None if shape[0] is None else repeats * shape[0]
      found[name] = tf.ensure_shape(
        tf.reshape(value, [-1, *shape[2:]]), [n, *shape[2:]]
      )
      continue
    ragged = isinstance(value, tf.RaggedTensor)
    n = value.nrows() if ragged else tf.shape(value, tf.int64)[0]
    found[name] = tf.gather(value, tf.repeat(tf.range(n), repeats))
    if not ragged and value.shape[0] is not None:
      found[name].set_shape([repeats * value.shape[0], *value.shape[1:]])
  return found


def _parsing(
  features: Mapping[str, Spec],
) -> dict[str, tf.io.RaggedFeature | tf.io.FixedLenFeature]:
  """How to parse features of examples."""
  found = {}
  for name, spec in features.items():
    dtype = tf.as_dtype(spec.dtype)
    if None in spec.shape:
      found[name] = tf.io.RaggedFeature(dtype)
    else:
      found[name] = tf.io.FixedLenFeature(spec.shape, dtype)
  return found


def _in_shape(
  spec: Spec, value: tf.Tensor | tf.RaggedTensor
) -> tf.Tensor | tf.RaggedTensor:
  """A parsed feature of a batch: [n, sides...], or ragged [n, None, sides...]."""
  sides = spec.shape[1:]
  if not sides or None not in spec.shape:
    return value
  return tf.RaggedTensor.from_row_splits(
    tf.reshape(value.flat_values, [-1, *sides]),
    value.row_splits // math.prod(sides),
    validate=False,
  )


def _to_ragged(flat: tf.Tensor, sizes: tf.Tensor) -> tf.RaggedTensor:
  """[pixels, c] of several images of `sizes` [n, 2] to a ragged [n, h, w, c]."""
  heights, widths = sizes[:, 0], sizes[:, 1]
  rows = tf.repeat(widths, heights)
  return tf.RaggedTensor.from_nested_row_lengths(
    flat, [tf.cast(heights, tf.int64), tf.cast(rows, tf.int64)], validate=False
  )
