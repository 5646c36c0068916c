"""A Keras callback that lets a killed `fit` go on with the very next batch."""

import json
import os

import tensorflow as tf

from liquid_tf._pipeline import stats as stats_lib

# Where a checkpoint holds the variable of its attribute `build`.
_BUILD_KEY = "build/.ATTRIBUTES/VARIABLE_VALUE"

# What ends an epoch but not the training: true, and nobody else's.
_EPOCH_IS_OVER = object()


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
      not at least 1; in `fit`, where that does not know how many batches its dataset
      has, and is to go on inside of an epoch.
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
    # A cache="auto" that another machine resolves otherwise would change the order.
    self._cached = tf.Variable(self._blocks.cached, dtype=tf.int64, trainable=False)
    self._build = tf.Variable("null", dtype=tf.string, trainable=False)
    # Of a mix that changes, what the epochs up to this one had: their order follows.
    self._mixes = None
    if self._blocks.mixes is not None:
      self._mixes = tf.Variable(
        tf.zeros([0], tf.int64), shape=[None], dtype=tf.int64, trainable=False
      )
    self._manager = None
    self._step_offset = 0
    self._steps_since_save = 0

  @property
  def epoch(self) -> int:
    """The epoch to run next."""
    return int(self._epoch.numpy())

  @property
  def step(self) -> int:
    """Batches of it that were trained on."""
    return int(self._step.numpy())

  def on_train_begin(self, logs=None):
    self._manager = None
    self._step_offset = 0
    self._steps_since_save = 0
    latest = tf.train.latest_checkpoint(self._directory)
    if latest is None:
      return
    self._build_model(latest)
    checkpoint = self._make_manager().checkpoint
    checkpoint.restore(latest).assert_existing_objects_matched()
    # Epochs of steps_per_epoch batches are not those of the data.
    batches = int(self._blocks.cardinality())
    steps = self.params.get("steps") or batches
    trained = self.epoch * steps + self.step
    mixes = [] if self._mixes is None else self._mixes.numpy()
    self._blocks.snapshot.seek(*divmod(trained, batches), self._cached.numpy(), mixes)
    # A kill may come between an epoch's last batch and its end.
    epoch, step = divmod(trained, steps)
    if step > 0 and self.params.get("steps") is None:
      raise ValueError(
        "the dataset of fit must have a known cardinality() to go on at batch "
        f"{step} of an epoch: Keras would take what is left of it for the length of "
        "every epoch"
      )
    self._epoch.assign(epoch)
    self._step.assign(step)
    self._step_offset = self.step
    # What Keras's own BackupAndRestore does; fit reads it after this call.
    self.model._initial_epoch = self.epoch

  def on_train_batch_end(self, batch, logs=None):
    step = self._step_offset + batch + 1
    self._steps_since_save += step - self.step
    self._step.assign(step)
    if self._steps_since_save >= self._save_freq:
      self._save()
    # Of the epoch that was gone on with, Keras would run as many steps as of a whole
    # one. Asking the iterator at its end would already advance random generators.
    over = self._step_offset and step == self.params.get("steps")
    if over and not self.model.stop_training:
      self.model.stop_training = _EPOCH_IS_OVER

  def on_epoch_end(self, epoch, logs=None):
    if self.model.stop_training is _EPOCH_IS_OVER:
      self.model.stop_training = False
    self._epoch.assign(epoch + 1)
    self._step.assign(0)
    self._step_offset = 0
    self._save()

  def _save(self) -> None:
    # The first batch has built what was not built before.
    self._build.assign(json.dumps(self.model.get_build_config()))
    if self._mixes is not None:
      self._mixes.assign(json.loads(self._blocks.snapshot.stats_json())["mixes"])
    (self._manager or self._make_manager()).save()
    self._steps_since_save = 0

  def _build_model(self, latest: str) -> None:
    """Makes the variables that Keras would only make in the first batch."""
    model = self.model
    if not model.built:
      saved = tf.train.load_checkpoint(latest).get_tensor(_BUILD_KEY)
      model.build_from_config(json.loads(saved))
    if not model.built:
      raise ValueError(
        f"model ({model.name}) must be built before fit() to go on from {latest}: "
        "call it on a batch"
      )
    if model.optimizer is not None and not model.optimizer.built:
      model.optimizer.build(model.trainable_variables)

  def _make_manager(self) -> tf.train.CheckpointManager:
    variables = list(self.model.variables)
    if self.model.optimizer is not None:
      # By identity: Keras compares variables by value.
      known = {id(variable) for variable in variables}
      variables += [v for v in self.model.optimizer.variables if id(v) not in known]
    state = {f"variable{i}": _raw(v) for i, v in enumerate(variables)}
    if self._mixes is not None:
      state["mixes"] = self._mixes
    checkpoint = tf.train.Checkpoint(
      epoch=self._epoch,
      step=self._step,
      cached=self._cached,
      build=self._build,
      **state,
    )
    self._manager = tf.train.CheckpointManager(checkpoint, self._directory, 2)
    return self._manager


def _raw(variable) -> tf.Variable:
  """The TensorFlow variable behind a Keras one."""
  return getattr(variable, "value", variable)
