"""Tables that an interleave asks for when an epoch begins: scan groups, mixes."""

import numpy as np
import tensorflow as tf

from liquid_tf._native import ops, tensors
from liquid_tf._pipeline import fidelity as _fidelity
from liquid_tf._pipeline.fidelity import Fidelity
from liquid_tf._pipeline.mixes import NUMBERS, Mixes
from liquid_tf._pipeline.room import Room


class EpochDataset(tf.data.Dataset):
  """One element, the number of the epoch that the interleave above it runs."""

  def __init__(self):
    super().__init__(ops.lib().liquid_epoch_dataset())

  def _inputs(self):
    return []

  @property
  def element_spec(self):
    return tf.TensorSpec([], tf.int64)


def fidelity_table(fidelity: Fidelity, batches: int) -> tf.data.Dataset | None:
  """A dataset whose one element is the scan groups of an epoch's batches.

  Args:
    fidelity: as `fidelity.check` returned it.
    batches: of an epoch.

  Returns:
    Elements of shape [batches] or [1], int64; None where all groups are read.
  """
  if fidelity is None:
    return None
  if tensors.is_variable(fidelity):
    return EpochDataset().map(lambda _: tf.reshape(tf.cast(fidelity, tf.int64), [1]))
  if not callable(fidelity):
    return tf.data.Dataset.from_tensors(tf.constant([fidelity], tf.int64))

  def ask(epoch: np.ndarray) -> np.ndarray:
    return _fidelity.of_epoch(fidelity, int(epoch), batches)

  def in_graph(epoch: tf.Tensor) -> tf.Tensor:
    return tf.ensure_shape(tf.numpy_function(ask, [epoch], tf.int64), [batches])

  return EpochDataset().map(in_graph)


def mixes_table(mixes: Mixes, room: Room, pixel_bytes: float) -> tf.data.Dataset:
  """A dataset whose one element gives the mixes of epochs up to the one that is run.

  Args:
    mixes: of the dataset.
    room: likewise.
    pixel_bytes: of a decoded image, on average.

  Returns:
    A dataset of `Mixes.numbers`.
  """
  if mixes.threads is None:
    table = mixes.table(room)
    last = tf.constant(len(mixes.given) - 1, tf.int64)

    def look_up(epoch: tf.Tensor) -> dict[str, tf.Tensor]:
      rows = tf.minimum(tf.range(epoch + 1), last)
      return {name: tf.gather(numbers, rows) for name, numbers in table.items()}

    return EpochDataset().map(look_up)
  choose = mixes.numbers(room, pixel_bytes)

  def numbers(epoch: np.ndarray) -> list[np.ndarray]:
    found = choose(int(epoch))
    return [found[name] for name in NUMBERS]

  def ask(epoch: tf.Tensor) -> dict[str, tf.Tensor]:
    found = tf.numpy_function(numbers, [epoch], [tf.int64] * len(NUMBERS))
    shape = [None, len(mixes.formats)]
    return {n: tf.ensure_shape(one, shape) for n, one in zip(NUMBERS, found)}

  return EpochDataset().map(ask)
