"""What the figures' networks learn, and trainings of one network that take turns.

Where speeds are measured it is something of the images themselves: they do not depend
on it, and no label has to be stored or sent.
"""

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from tools.bench.papers import networks

_CLASSES = 10
_BYTES = 256
_RATE = 0.01


def compiled(network: str, side: int, seed: int = 0) -> tf.keras.Model:
  """A network with fresh weights, ready to train with what `examples` gives.

  Args:
    network: of `networks.NETWORKS`.
    side: of the images, in pixels.
    seed: of its weights, and of all chance that follows.
  """
  tf.keras.utils.set_random_seed(seed)
  model = networks.NETWORKS[network](side, _CLASSES)
  model.compile(
    tf.keras.optimizers.SGD(_RATE),
    tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    # To compile takes longer than the runs.
    jit_compile=False,
  )
  return model


def examples(network: str, images: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
  """A batch to train with: how bright images are, or for a U-Net their pixels.

  Args:
    network: of `networks.NETWORKS`.
    images: [n, side, side, 3] uint8.

  Returns:
    The images as float32, about -2 to 2; and classes, int32 [n] or [n, side, side].
  """
  values = tf.cast(images, tf.float32)
  whole = [3] if network.startswith("unet") else [1, 2, 3]
  classes = tf.reduce_mean(values, whole) * (_CLASSES / _BYTES)
  return (values - 127.5) / 64.0, tf.cast(classes, tf.int32)


class Contestants:
  """Several trainings in one compiled model, whose functions are traced only once.

  All begin with the weights that the model has when this is made.

  Args:
    model: a compiled Keras model that has not been trained.
    names: of the trainings.
  """

  def __init__(self, model: Any, names: Iterable[str | int]):
    self._model = model
    model.optimizer.build(model.trainable_variables)
    first = self._state()
    self._states = {name: first for name in names}

  @contextlib.contextmanager
  def turn(self, name: str | int) -> Iterator[None]:
    """The model is that of one training, and what it learns is that one's."""
    weights, slots = self._states[name]
    self._model.set_weights(weights)
    for variable, value in zip(self._model.optimizer.variables, slots):
      variable.assign(value)
    yield
    self._states[name] = self._state()

  def _state(self) -> tuple[list[np.ndarray], list[np.ndarray]]:
    slots = [np.array(value) for value in self._model.optimizer.variables]
    return self._model.get_weights(), slots
