"""The gradient of a compiled model's loss over a batch, in each backend of Keras."""

from typing import Any

import numpy as np

from liquid_tf._tensorflow import tf


def parts(model: tf.keras.Model, batch: object) -> list[np.ndarray]:
  """Gradients of the loss, of each trainable variable that it depends on.

  Layers run as in inference. Nothing in the model changes.

  Args:
    model: built and compiled.
    batch: (x, y) or (x, y, sample_weight), of tensors of TensorFlow or of arrays.
  """
  match tf.keras.backend.backend():
    case "jax":
      found = _of_jax(model, _arrays(batch))
    case "torch":
      found = _of_torch(model, _arrays(batch))
    case _:
      found = _of_tensorflow(model, batch)
  return [tf.keras.ops.convert_to_numpy(part) for part in found if part is not None]


def _arrays(batch: object) -> Any:
  """A batch as the other backends take it."""
  return tf.nest.map_structure(np.asarray, batch)


def _of_tensorflow(model: tf.keras.Model, batch: Any) -> list[Any]:
  x, y, weight = tf.keras.utils.unpack_x_y_sample_weight(batch)
  with tf.GradientTape() as tape:
    predicted = model(x, training=False)
    loss = model.compute_loss(x, y, predicted, weight, training=False)
  return tape.gradient(loss, [v.value for v in model.trainable_variables])


def _of_jax(model: tf.keras.Model, batch: Any) -> list[Any]:
  import jax

  x, y, weight = tf.keras.utils.unpack_x_y_sample_weight(batch)
  state = (
    [v.value for v in variables]
    for variables in (
      model.trainable_variables,
      model.non_trainable_variables,
      model.metrics_variables,
    )
  )
  loss = jax.grad(model.compute_loss_and_updates, has_aux=True)
  found, _ = loss(*state, x, y, weight, training=False)
  return found


def _of_torch(model: tf.keras.Model, batch: Any) -> list[Any]:
  import torch

  x, y, weight = tf.keras.utils.unpack_x_y_sample_weight(batch)
  predicted = model(x, training=False)
  loss = model.compute_loss(x, y, predicted, weight, training=False)
  values = [v.value for v in model.trainable_variables]
  return list(torch.autograd.grad(loss, values, allow_unused=True))
