"""A Keras callback that lets a killed `fit` go on with the very next batch."""

import os

import tensorflow as tf

from liquid_tf import stats as stats_lib


class Resume(tf.keras.callbacks.Callback):
  """Saves the model and the data's position; a new run goes on from there.

  `fit` hides its iterator from checkpoints. But the order of samples is a pure
  function of the epoch's number, so (epoch, step) is all there is to save, and both
  are written in one checkpoint with the model's and the optimizer's variables.

      ds = liquid_tf.dataset("flowers.liquid", batch_size=32)
      model.fit(ds, epochs=4, callbacks=[liquid_tf.Resume(ds, "run1")])

  Run it again after a kill: it starts in the epoch and at the batch behind the last
  checkpoint. A run that ended is not run again. The dataset must be the one that
  `fit` gets, or what it is mapped from.

  Args:
    dataset: what `liquid_tf.dataset` gave, or anything mapped from it.
    directory: for the checkpoints; made where there is none.
    save_freq: batches between two checkpoints; the end of an epoch is always one.

  Raises:
    ValueError: the dataset is not made from `liquid_tf.dataset`, or `save_freq` is
      not at least 1.
  """

  def __init__(
    self, dataset: tf.data.Dataset, directory: str | os.PathLike, save_freq: int = 100
  ):
    super().__init__()
    if not isinstance(save_freq, int) or save_freq < 1:
      raise ValueError(f"save_freq ({save_freq!r}) must be at least 1")
    self._blocks = stats_lib.blocks_of(dataset)
    self._directory = os.fspath(directory)
    self._save_freq = save_freq
    self._epoch = tf.Variable(0, dtype=tf.int64, trainable=False)
    self._step = tf.Variable(0, dtype=tf.int64, trainable=False)
    self._manager = None
    self._step_offset = 0

  @property
  def epoch(self) -> int:
    """The epoch to run next."""
    return int(self._epoch.numpy())

  @property
  def step(self) -> int:
    """Batches of it that were trained on."""
    return int(self._step.numpy())

  def on_train_begin(self, logs=None):
    variables = list(self.model.variables)
    optimizer = self.model.optimizer
    if optimizer is not None:
      variables += [v for v in optimizer.variables if v not in variables]
    state = {f"variable{i}": _raw(v) for i, v in enumerate(variables)}
    checkpoint = tf.train.Checkpoint(epoch=self._epoch, step=self._step, **state)
    self._manager = tf.train.CheckpointManager(checkpoint, self._directory, 2)
    latest = self._manager.latest_checkpoint
    if latest is None:
      return
    checkpoint.restore(latest).assert_existing_objects_matched()
    self._blocks.snapshot.seek(self.epoch, self.step)
    self._step_offset = self.step
    # What Keras's own BackupAndRestore does; fit reads it after this call.
    self.model._initial_epoch = self.epoch

  def on_train_batch_end(self, batch, logs=None):
    self._step.assign(self._step_offset + batch + 1)
    if (batch + 1) % self._save_freq == 0:
      self._manager.save()

  def on_epoch_end(self, epoch, logs=None):
    self._epoch.assign(epoch + 1)
    self._step.assign(0)
    self._step_offset = 0
    self._manager.save()


def _raw(variable) -> tf.Variable:
  """The TensorFlow variable behind a Keras one."""
  return getattr(variable, "value", variable)
