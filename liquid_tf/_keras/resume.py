"""A Keras callback that lets a killed `fit` go on with the very next batch."""

import json
import logging
import os
from typing import Any

import tensorflow as tf

from liquid_tf._pipeline import stats as stats_lib
from liquid_tf._pipeline.counted import CountedDataset
from liquid_tf._pipeline.decode import DecodeBatchDataset
from liquid_tf._pipeline.sources import find_part

_logger = logging.getLogger(__name__)

# Where a checkpoint holds the variable of an attribute.
_KEY = "{}/.ATTRIBUTES/VARIABLE_VALUE"

# What ends an epoch but not the training: true, and nobody else's.
_EPOCH_IS_OVER = object()


class Resume(tf.keras.callbacks.Callback):
  """Saves the model and the data's position; a new run goes on from there.

  `fit` hides its iterator from checkpoints. But the order of samples is a pure function
  of the epoch's number, so (epoch, step) is all there is to save. Both are in one
  checkpoint with the variables of the model and the optimizer.

      ds = liquid_tf.dataset("flowers.liquid", batch_size=32)
      model.fit(ds, epochs=4, callbacks=[liquid_tf.Resume(ds, "run1")])

  Run it again after a kill: it starts in the epoch and at the batch after the last
  checkpoint. The metrics of that epoch cover the batches that were left of it, and a
  line in the log says so. A run that ended is not run again. The dataset must be the
  one that `fit` gets, or what it is mapped from.

  Args:
    dataset: what `liquid_tf.dataset` gave, or anything mapped from it.
    directory: for the checkpoints; made where there is none.
    save_freq: batches between two checkpoints; the end of an epoch is always one.

  Raises:
    ValueError: the dataset is not made from `liquid_tf.dataset`, or has
      `batch_size=None`; or `save_freq` is not at least 1. When `fit` begins: its
      dataset has no known `cardinality()`, and `fit` no `steps_per_epoch`; or the
      directory holds a run with another dataset, split, shard, batch size, seed,
      `shuffle`, `transforms`, shares of scan groups or `steps_per_epoch`, or one of an
      older version. At the first checkpoint: the model cannot say how to build it
      again.
  """

  def __init__(
    self, dataset: tf.data.Dataset, directory: str | os.PathLike, save_freq: int = 100
  ):
    super().__init__()
    if not isinstance(save_freq, int) or save_freq < 1:
      raise ValueError(f"save_freq ({save_freq!r}) must be at least 1")
    self._blocks = stats_lib.blocks_of(dataset)
    if find_part(dataset, CountedDataset) is not None:
      raise ValueError(
        "dataset must have batches: with batch_size=None a batch that you make is none "
        "of its own, whose place could be saved"
      )
    self._directory = os.fspath(directory)
    self._save_freq = save_freq
    self._epoch = tf.Variable(0, dtype=tf.int64, trainable=False)
    self._step = tf.Variable(0, dtype=tf.int64, trainable=False)
    # A cache="auto" that another machine resolves otherwise would change the order.
    self._cached = tf.Variable(self._blocks.cached, dtype=tf.int64, trainable=False)
    self._build = tf.Variable("null", dtype=tf.string, trainable=False)
    self._identity = _identity(self._blocks, dataset)
    self._run = tf.Variable("", dtype=tf.string, trainable=False)
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
    self._was_built = self.model.built
    self._step_offset = 0
    self._steps_since_save = 0
    steps = self.params.get("steps")
    if steps is None:
      raise ValueError(
        "the dataset of fit must have a known cardinality(), or fit steps_per_epoch: "
        "to go on inside of an epoch Keras must know how many batches it has"
      )
    run = self._identity | {"steps_per_epoch": steps}
    self._run.assign(json.dumps(run))
    latest = tf.train.latest_checkpoint(self._directory)
    if latest is None:
      return
    self._check_run(latest, run)
    self._build_model(latest)
    checkpoint = self._make_manager().checkpoint
    checkpoint.restore(latest).assert_existing_objects_matched()
    # Epochs of steps_per_epoch batches are not those of the data.
    batches = int(self._blocks.cardinality())
    trained = self.epoch * steps + self.step
    mixes = [] if self._mixes is None else self._mixes.numpy()
    self._blocks.snapshot.seek(*divmod(trained, batches), self._cached.numpy(), mixes)
    # A kill may come between an epoch's last batch and its end.
    epoch, step = divmod(trained, steps)
    if step > 0:
      _logger.warning(
        "going on at batch %d of epoch %d: the metrics of this epoch cover its other "
        "%d batches",
        step,
        epoch + 1,
        steps - step,
      )
    self._epoch.assign(epoch)
    self._step.assign(step)
    self._step_offset = self.step
    # What Keras's own BackupAndRestore does; fit reads it after this call.
    self.model._initial_epoch = self.epoch

  def on_train_batch_end(self, batch, logs=None):
    # With steps_per_execution the last execution may be a shorter one.
    step = min(self._step_offset + batch + 1, self.params["steps"])
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
    config = self.model.get_build_config()
    if config is None and not self._was_built:
      raise ValueError(
        f"model ({self.model.name}) must be built before fit(), since it does not say "
        "how to build it again after a kill: call it on a batch"
      )
    self._build.assign(json.dumps(config))
    if self._mixes is not None:
      self._mixes.assign(json.loads(self._blocks.snapshot.stats_json())["mixes"])
    (self._manager or self._make_manager()).save()
    self._steps_since_save = 0

  def _check_run(self, latest: str, run: dict[str, Any]) -> None:
    """Raises ValueError unless a checkpoint is of a run such as this one."""
    reader = tf.train.load_checkpoint(latest)
    if not reader.has_tensor(_KEY.format("run")):
      raise ValueError(
        f"{latest} does not say what it was trained on, as this version of Resume "
        "does: give another directory for a new run"
      )
    before = json.loads(reader.get_tensor(_KEY.format("run")))
    for name, value in run.items():
      if before.get(name) != value:
        raise ValueError(
          f"{self._directory} holds a run with {name} {before.get(name)!r}, but this "
          f"one has {value!r}: give the same again, or another directory for a new run"
        )

  def _build_model(self, latest: str) -> None:
    """Makes the variables that Keras would only make in the first batch."""
    model = self.model
    if not model.built:
      saved = tf.train.load_checkpoint(latest).get_tensor(_KEY.format("build"))
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
      run=self._run,
      **state,
    )
    self._manager = tf.train.CheckpointManager(checkpoint, self._directory, 2)
    return self._manager


def _identity(blocks: Any, dataset: tf.data.Dataset) -> dict[str, Any]:
  """What must be the same for a run to go on, by name."""
  view = blocks.sources[0].view
  found = {
    "dataset": f"index 0x{view.manifest['index']['crc32c']:08x}",
    "split": "+".join(view.splits),
    "samples": f"{len(view)} samples, fingerprint {view.fingerprint[:16]}",
    "shard": {
      name: list(map(int, found)) for name, found in blocks.part.ranges.items()
    },
    "batch_size": blocks.batch_size,
    "batches": blocks.batches,
    "shuffle": blocks.shuffle,
    "seed": blocks.seed,
  }
  groups = [s.name for s in blocks.sources if s.scan_groups is not None]
  found["records of scan groups"] = dict(zip(groups, blocks.parts)) if groups else None
  if blocks.weighing is not None:
    found["samples"] += f", weights {blocks.weighing.fingerprint[:16]}"
    found["shard"]["worker"] = list(blocks.weighing.worker)
  decoded = find_part(dataset, DecodeBatchDataset)
  if decoded is not None:
    found["transforms"] = [str(step) for step in decoded.recipe.given]
  return found


def _raw(variable) -> tf.Variable:
  """The TensorFlow variable behind a Keras one."""
  return getattr(variable, "value", variable)
