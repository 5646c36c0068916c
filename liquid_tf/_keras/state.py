"""Variables of a Keras model in a TensorFlow checkpoint, whatever backend trains it."""

import zlib

import numpy as np
import tensorflow as tf


class _Value(tf.train.experimental.PythonState):
  """A variable of JAX or PyTorch: its value is copied when a checkpoint is written."""

  def __init__(self, variable: tf.keras.Variable):
    self._variable = variable

  def serialize(self) -> bytes:
    array = tf.keras.ops.convert_to_numpy(self._variable.value)
    return tf.io.serialize_tensor(array).numpy()

  def deserialize(self, string_value: bytes) -> None:
    value = tf.io.parse_tensor(string_value, self._variable.dtype)
    self._variable.assign(value.numpy())


def checksum(variable: tf.keras.Variable, before: int) -> int:
  """The CRC-32 of a variable's bytes, after those of others."""
  if not isinstance(variable, tf.Variable):
    variable = variable.value
  array = np.ascontiguousarray(tf.keras.ops.convert_to_numpy(variable))
  return zlib.crc32(array.reshape(-1).view(np.uint8), before)


def trackable(variable: tf.keras.Variable) -> tf.Variable | _Value:
  """Trackable of a Keras variable, for a `tf.train.Checkpoint`."""
  if tf.keras.backend.backend() != "tensorflow":
    return _Value(variable)
  # Some optimizers hold variables of TensorFlow itself.
  return getattr(variable, "value", variable)
