"""Parts of the tf.data graphs of a conversion."""

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf


def by_python(
  function: Callable[..., Any],
  inputs: Sequence[tf.Tensor],
  *outputs: tf.DType | tf.TensorSpec,
) -> list[tf.Tensor]:
  """Calls a function of Python inside a graph; it must depend on its inputs alone.

  Args:
    function: takes NumPy's values, and gives as many as there are outputs.
    inputs: for it.
    *outputs: what it gives: scalars of a type, or arrays.
  """
  specs = [
    one if isinstance(one, tf.TensorSpec) else tf.TensorSpec([], one) for one in outputs
  ]
  types = [spec.dtype for spec in specs]
  found = tf.numpy_function(function, inputs, types, stateful=False)
  return [tf.ensure_shape(value, spec.shape) for value, spec in zip(found, specs)]


def first_error(*errors: tf.Tensor) -> tf.Tensor:
  """The first of some texts that is not empty; empty where all are."""
  result = errors[-1]
  for error in reversed(errors[:-1]):
    result = tf.where(tf.equal(error, ""), result, error)
  return result
