"""A Keras callback that lets a killed `fit` go on with the very next batch."""

import dataclasses
import json
import logging
import os
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from liquid_tf._graph import lineage
from liquid_tf._keras import position_files
from liquid_tf._keras.feed import Feed
from liquid_tf._pipeline import position as position_lib
from liquid_tf._pipeline import start as start_lib
from liquid_tf._pipeline.position import Position
from liquid_tf._pipeline.start import Start
from liquid_tf._store import storage
from liquid_tf._words import Shown
from liquid_tf.errors import WrongArgument

_logger = logging.getLogger(__name__)

# Where a checkpoint holds the variable of an attribute.
_KEY = "{}/.ATTRIBUTES/VARIABLE_VALUE"

# The attributes that hold the variables of model and optimizer, before their numbers.
_VARIABLE = "variable"

# True only where an epoch ends but not the training.
_EPOCH_IS_OVER = object()


class Resume(tf.keras.callbacks.Callback):
  """Saves the model and the data's position; a new run goes on from there.

  `fit` hides its iterator from checkpoints. But the order of samples is planned, so the
  `position` of each dataset is all there is to save. It is in one checkpoint with the
  variables of the model and the optimizer, whether Keras trains with TensorFlow, JAX or
  PyTorch. A loop of your own saves `position` itself.

      ds = liquid_tf.dataset("flowers.liquid", batch_size=32)
      resume = liquid_tf.keras.Resume(ds, "run1")
      model.fit(ds, epochs=4, shuffle=False, callbacks=[resume])

  Run it again after a kill: it starts in the epoch and at the batch after the last
  checkpoint. The metrics of that epoch cover the batches that were left of it, and a
  line in the log says so. A run that ended is not run again; the log says that, too.
  Give it the dataset that `fit` gets: all datasets that `tf.data.Dataset.zip` joins in
  it go on together. What else draws from several, or keeps batches back, is an error.

  The learning rate is part of what is saved: another one given to `compile` has no
  effect, and the log says so. A model with other layers, or other trainable ones, is
  another run: fine-tuning takes a directory of its own (docs/tutorials/resume.md).
  Where the dataset leaves out what is damaged (`on_error="skip"`), the log says after
  each epoch how many samples that were.

  The position lies beside each checkpoint as JSON, too, as `ckpt-7.position.json`, and
  is removed with it: `loader` and its `load_state_dict` go on there without TensorFlow
  (docs/formats/position.md). Of datasets that are zipped each has its own, from
  `ckpt-7.position-0.json` on.

  Its place among the callbacks does not matter. It saves after an epoch's last batch,
  before any of them lends the model other weights, as `SwapEMAWeights` does; and again
  before the next one's first batch, if they have changed the model or the optimizer
  for good. Other callbacks begin anew: `ModelCheckpoint(save_best_only=True)` takes the
  first epoch for the best one and overwrites a better model, unless its file name has
  `{epoch}` or its `initial_value_threshold` is the best value so far.

  Of workers that train in step, each with its `shard`, every one has the same model and
  the same (epoch, step). So the checkpoint of one serves all, and another number of
  workers too, which share what is left of the epoch (docs/scaling.md): give each a copy
  of some worker's directory.

  Args:
    dataset: what `fit` gets: of `liquid_tf.dataset`, or mapped or zipped from such.
    directory: for the checkpoints; made where there is none.
    save_freq: batches between two checkpoints; the end of an epoch is always one.

  Raises:
    ValueError: the dataset is not made from `liquid_tf.dataset`, batch for batch, or
      has `batch_size=None`, or zips datasets of unequal lengths; or `save_freq` is not
      at least 1. When `fit` begins: its dataset has no known `cardinality()`, and `fit`
      no `steps_per_epoch`; or the directory holds a run with another backend of Keras,
      dataset, split, batch size, seed, `shuffle`, `shard_policy`, mix, `transforms`,
      scan groups or `steps_per_epoch`, or of a model that has other variables, or one
      of an older version; or one that another worker, or another number of them, left
      inside of an epoch, and the dataset has weights, a mix that changes, shares of
      scan groups, cache="auto", other batches than `steps_per_epoch`, or is zipped; or
      another callback, such as `BackupAndRestore`, changes what was restored. At the
      first checkpoint: the model cannot say how to build it again.
  """

  def __init__(
    self, dataset: tf.data.Dataset, directory: str | os.PathLike, save_freq: int = 100
  ):
    super().__init__()
    if not isinstance(save_freq, int) or save_freq < 1:
      raise WrongArgument("save_freq", save_freq, "must be at least 1")
    advice = "A loop of your own can save liquid_tf.position()."
    self._feeds = [Feed(origin) for origin in lineage.origins(dataset, advice)]
    self._directory = storage.absolute(directory)
    self._save_freq = save_freq
    self._at = Start(0, 0)  # in epochs of fit
    # What the run is, and how it began; see `_begin`.
    self._begun: dict[str, Any] = {}
    self._build = tf.Variable("null", dtype=tf.string, trainable=False)
    self._run = tf.Variable("", dtype=tf.string, trainable=False)
    self._epoch_steps = 0
    self._reset()

  def _reset(self) -> None:
    """Forgets the last `fit`."""
    self._manager: tf.train.CheckpointManager | None = None
    self._step_offset = 0
    self._steps_since_save = 0
    # Of model and optimizer: the model's, and all. Keras makes them late.
    self._variables: tuple[list, list] = ([], [])
    # Fingerprints that were saved after an epoch's last batch, until the next one
    # begins; and that of the model that was restored.
    self._saved: tuple[int, int] | None = None
    self._restored: int | None = None
    self._is_between = False  # epochs
    self._is_new = True

  @property
  def epoch(self) -> int:
    """The epoch to run next."""
    return self._at.epoch

  @property
  def step(self) -> int:
    """Batches of it that were trained on, by whatever number of workers."""
    return self._at.before + self._at.step

  def on_train_begin(self, logs: Mapping[str, float] | None = None) -> None:
    self._reset()
    self._was_built = self.model.built
    steps = self.params.get("steps")
    if steps is None:
      raise ValueError(
        "the dataset of fit must have a known cardinality(), or fit steps_per_epoch: "
        "to go on inside of an epoch Keras must know how many batches it has"
      )
    self._epoch_steps = steps
    given = _optimizer(self.model)
    for feed in self._feeds:
      feed.count_skipped()
      # Another fit may have drawn epochs of the dataset before this run began.
      feed.first_epoch = feed.stats()["next_epoch"]
    self._begun = {
      "backend": tf.keras.backend.backend(),
      "steps_per_epoch": steps,
      "optimizer": given,
      "first_epoch": 0,  # of fit
      "first_epochs": [feed.first_epoch for feed in self._feeds],
    }
    latest = tf.train.latest_checkpoint(self._directory)
    if latest is None:
      return
    before, positions = self._check_run(latest)
    self._build_model(latest)
    self._restore(latest)
    self._tell_of_optimizer(before["optimizer"], given)
    for name in ("optimizer", "first_epoch", "first_epochs"):
      self._begun[name] = before[name]
    for feed, epoch in zip(self._feeds, before["first_epochs"]):
      feed.first_epoch = epoch
    if self._are_own(positions):
      self._go_on(before, positions)
    else:
      self._go_on_for_others(before, positions)
    self._restored = self._fingerprints()[0]
    start = self._at
    self._step_offset = start.step
    if start.epoch >= self.params["epochs"]:
      _logger.warning(
        "nothing to train: the run in %s ended after epoch %d; give fit more epochs, "
        "or another directory for a new run",
        self._directory,
        start.epoch,
      )
    elif start.step > 0 or start.cuts:
      _logger.warning(
        "going on at batch %d of epoch %d: the metrics of this epoch cover its other "
        "%d batches",
        self.step,
        start.epoch + 1,
        self._epoch_steps - start.step,
      )
    # What Keras's own BackupAndRestore does; fit reads it after this call.
    self.model._initial_epoch = start.epoch

  def on_epoch_begin(self, epoch: int, logs: Mapping[str, float] | None = None) -> None:
    if not self._is_new:
      return
    self._is_new = False
    # Another fit of this model begins where its own arguments say.
    self.model._initial_epoch = None
    if self._restored is None:
      self._begun["first_epoch"] = epoch
      self._at = Start(epoch, 0)
    elif epoch != self.epoch or self._fingerprints()[0] != self._restored:
      raise ValueError(
        f"the run in {self._directory} goes on in epoch {self.epoch + 1} with what was "
        "restored from there, but another callback has changed that: leave out "
        "BackupAndRestore and what else restores a model, and put Resume before "
        "callbacks that change weights when an epoch begins"
      )

  def _restore(self, latest: str) -> None:
    """Gives model and optimizer the values of a checkpoint.

    Raises:
      ValueError: it has other variables.
    """
    checkpoint = self._make_manager().checkpoint
    changed = (
      f"the model, its trainable layers or its optimizer changed since {latest} was "
      "saved: give another directory for a new run, as fine-tuning is one"
    )
    keys = tf.train.load_checkpoint(latest).get_variable_to_shape_map()
    saved = len({k.partition("/")[0] for k in keys if k.startswith(_VARIABLE)})
    held = len(self._variables[1])
    # Where a last layer is frozen, those that are left would fit.
    if saved != held:
      raise ValueError(f"{changed} ({saved} variables then, {held} now)")
    try:
      checkpoint.restore(latest).assert_existing_objects_matched()
    except (ValueError, tf.errors.InvalidArgumentError) as error:
      # Keras shows no error that is behind another one.
      raise ValueError(f"{changed} ({error})") from error

  def _tell_of_optimizer(self, before: list | None, given: list | None) -> None:
    """Says that what `compile` gives is not what is gone on with.

    Args:
      before: what it gave when the run began; see `_optimizer`.
      given: what it gives now.
    """
    restored = _optimizer(self.model)
    if before is None or given is None or restored is None:
      return
    # A rate that a callback has set before, and a user after it, is no other one.
    if before[0] == given[0] and given[1] in (before[1], restored[1]):
      return
    _logger.warning(
      "%s was begun with %s, and compile() now gives %s: the saved state goes on, with "
      "%s. To change the learning rate, give fit "
      "keras.callbacks.LearningRateScheduler(lambda epoch: …); for another optimizer, "
      "give another directory",
      self._directory,
      _said(before),
      _said(given),
      _said(restored),
    )

  def _are_own(self, positions: list[Position]) -> bool:
    """Whether this worker saved them, in epochs that it began."""
    shards = [position_lib.shard_of(feed.blocks) for feed in self._feeds]
    return all(map(Position.is_own, positions, shards))

  def _go_on(self, before: dict[str, Any], positions: list[Position]) -> None:
    """Makes the datasets go on where this worker stood."""
    for i, (feed, position) in enumerate(zip(self._feeds, positions)):
      position.seek(feed.blocks, self._named(i))
    # A kill may come between an epoch's last batch and its end.
    first, steps = before["first_epoch"], before["steps_per_epoch"]
    trained = (before["epoch"] - first) * steps + before["step"]
    self._at = Start(first + trained // steps, trained % steps)

  def _go_on_for_others(
    self, before: dict[str, Any], positions: list[Position]
  ) -> None:
    """Makes the datasets go on where other workers stood."""
    mine, workers = position_lib.shard_of(self._feeds[0].blocks)
    starts = [
      start_lib.parse(position.start((mine, workers)), workers)
      for position in positions
    ]
    refusal = self._why_unknown(starts[0], before, positions)
    # Epochs of the run are those of the data from here on.
    epoch = starts[0].epoch - self._feeds[0].first_epoch + before["first_epoch"]
    if refusal is not None:
      theirs, others = positions[0].run["worker"]
      raise ValueError(
        f"{self._directory} holds a run of worker {theirs} of {others} that stopped in "
        f"epoch {epoch}, where worker {mine} of {workers} cannot go on: {refusal}. "
        "Give as many workers, each its own directory, until the epoch ends"
      )
    (left,) = {feed.go_on_for_others(start) for feed, start in zip(self._feeds, starts)}
    if left > 0:
      self._epoch_steps = starts[0].step + left
      self._at = dataclasses.replace(starts[0], epoch=epoch)
    else:
      self._at = Start(epoch + 1, 0)

  def _why_unknown(
    self, start: Start, before: dict[str, Any], positions: list[Position]
  ) -> str | None:
    """Why it is not known what other workers have left to do; None where it is."""
    lengths = [(before["steps_per_epoch"], one.run["batches"]) for one in positions]
    lengths += [(self._begun["steps_per_epoch"], f.blocks.batches) for f in self._feeds]
    if any(steps != batches for steps, batches in lengths):
      return (
        "steps_per_epoch must be the batches of the dataset, so that an epoch of fit "
        "is one of the data"
      )
    if start.step == 0 and not start.cuts:
      return None
    if len(self._feeds) > 1:
      return "datasets that are zipped would be dealt anew each by itself"
    return self._feeds[0].blocks.rests.refusal

  def on_train_batch_begin(
    self, batch: int, logs: Mapping[str, float] | None = None
  ) -> None:
    # By now every callback has begun the epoch.
    if self._is_between:
      self._save_changes(settled=True)

  def on_train_batch_end(
    self, batch: int, logs: Mapping[str, float] | None = None
  ) -> None:
    # With steps_per_execution the last execution may be a shorter one.
    step = min(self._step_offset + batch + 1, self._epoch_steps)
    self._steps_since_save += step - self._at.step
    self._at = dataclasses.replace(self._at, step=step)
    is_last = step == self._epoch_steps
    if is_last or self._steps_since_save >= self._save_freq:
      self._save()
    if is_last:
      self._saved = self._fingerprints()
    # Of the epoch that was gone on with, Keras would run as many steps as of a whole
    # one. Asking the iterator at its end would already advance random generators.
    gone_on = self._step_offset or self._epoch_steps != self.params["steps"]
    if gone_on and is_last and not self.model.stop_training:
      self.model.stop_training = _EPOCH_IS_OVER

  def on_epoch_end(self, epoch: int, logs: Mapping[str, float] | None = None) -> None:
    if self.model.stop_training is _EPOCH_IS_OVER:
      self.model.stop_training = False
    elif self.model.stop_training and 0 < self._at.step < self._epoch_steps:
      return  # It was stopped inside of the epoch, and goes on there.
    self._at = Start(epoch + 1, 0)
    self._step_offset = 0
    self._epoch_steps = self.params["steps"]
    self._is_between = True
    self._save_changes(settled=False)
    for feed in self._feeds:
      skipped = feed.count_skipped()
      if skipped > 0:
        _logger.warning(
          "epoch %d left out %d of its samples as damaged: liquid_tf.verify(%r) finds "
          "them",
          epoch + 1,
          skipped,
          feed.blocks.sources[0].view.path,
        )

  def on_train_end(self, logs: Mapping[str, float] | None = None) -> None:
    self.model._initial_epoch = None
    if self._is_between:
      # Of an epoch that was shorter than was known, no batch was the last one.
      self._save_changes(settled=self._saved is None)

  def _save_changes(self, settled: bool) -> None:
    """Saves what callbacks have changed since the last batch of an epoch.

    Args:
      settled: whether training goes on with the model's weights. If not, a callback may
        have lent it others, so they are no reason to save, and must not be saved.
    """
    now = self._fingerprints()
    model_is_saved = self._saved is not None and self._saved[0] == now[0]
    if now != self._saved and (settled or model_is_saved):
      self._save()
      self._saved = now
    if settled:
      self._is_between, self._saved = False, None

  def _fingerprints(self) -> tuple[int, int]:
    """Checksums of the variables of the model, and of the optimizer."""
    if not self._variables[1]:
      self._make_manager()
    of_model, held = self._variables
    metrics = {id(variable) for variable in self.model.metrics_variables}
    sums = [0, 0]
    for i, variable in enumerate(held):
      if id(variable) not in metrics:
        which = int(i >= len(of_model))
        sums[which] = _checksum(variable, sums[which])
    return sums[0], sums[1]

  def _save(self) -> None:
    # The first batch has built what was not built before.
    config = self.model.get_build_config()
    if config is None and not self._was_built:
      raise WrongArgument(
        "model",
        Shown(self.model.name),
        "must be built before fit(), since it does not say how to build it again "
        "after a kill: call it on a batch",
      )
    self._build.assign(json.dumps(config))
    at = self._at
    if at.cuts and at.step == self._epoch_steps:
      at = Start(at.epoch + 1, 0)  # What others had left is done.
    since = dataclasses.replace(at, epoch=at.epoch - self._begun["first_epoch"])
    steps = self._begun["steps_per_epoch"]
    positions = [feed.position(since, steps) for feed in self._feeds]
    run = {
      **self._begun,
      "epoch": at.epoch,
      "step": at.step,
      "positions": [position.saved() for position in positions],
    }
    self._run.assign(json.dumps(run))
    manager = self._manager or self._make_manager()
    number = int(manager.checkpoint.save_counter) + 1
    # First, so that no checkpoint is without it.
    path = storage.join(self._directory, f"ckpt-{number}")
    position_files.write(path, positions)
    manager.save(number)
    kept = map(os.path.basename, manager.checkpoints)
    position_files.sweep(self._directory, kept)
    self._steps_since_save = 0

  def _check_run(self, latest: str) -> tuple[dict[str, Any], list[Position]]:
    """Reads the run that a checkpoint is from, and compares it with this one.

    Raises:
      ValueError: it is not a run such as this one.
    """
    reader = tf.train.load_checkpoint(latest)
    before = {}
    if reader.has_tensor(_KEY.format("run")):
      before = json.loads(reader.get_tensor(_KEY.format("run")))
    if "positions" not in before:
      raise ValueError(
        f"{latest} does not say what it was trained on, as this version of Resume "
        "does: give another directory for a new run"
      )
    positions = [
      Position.parse(one, self._named(i)) for i, one in enumerate(before["positions"])
    ]
    self._check_same("backend", before["backend"], self._begun["backend"])
    self._check_same("datasets", len(positions), len(self._feeds))
    for feed, position in zip(self._feeds, positions):
      subject = f"{self._directory} holds a run with"
      advice = "give Resume another directory for a new run"
      position.check(feed.blocks, feed.run, subject, advice)
    if self._are_own(positions):
      name = "steps_per_epoch"
      self._check_same(name, before[name], self._begun[name])
    return before, positions

  def _named(self, number: int) -> str:
    """Names one of the positions that the directory holds, for errors."""
    return f"{self._directory}: positions[{number}]"

  def _check_same(self, name: str, before: Any, now: Any) -> None:
    if before != now:
      raise ValueError(
        f"{self._directory} holds a run with {name} {before!r}, but this one has "
        f"{now!r}: give the same again, or give Resume another directory for a new run"
      )

  def _build_model(self, latest: str) -> None:
    """Makes the variables that Keras would only make in the first batch."""
    model = self.model
    if not model.built:
      saved = tf.train.load_checkpoint(latest).get_tensor(_KEY.format("build"))
      model.build_from_config(json.loads(saved))
    if not model.built:
      raise WrongArgument(
        "model",
        Shown(model.name),
        f"must be built before fit() to go on from {latest}: call it on a batch",
      )
    if model.optimizer is not None and not model.optimizer.built:
      model.optimizer.build(model.trainable_variables)

  def _make_manager(self) -> tf.train.CheckpointManager:
    variables = list(self.model.variables)
    if self.model.optimizer is not None:
      # By identity: Keras compares variables by value.
      known = {id(variable) for variable in variables}
      variables += [v for v in self.model.optimizer.variables if id(v) not in known]
    self._variables = list(self.model.variables), variables
    held = {f"{_VARIABLE}{i}": _trackable(v) for i, v in enumerate(variables)}
    tf.io.gfile.makedirs(self._directory)
    checkpoint = tf.train.Checkpoint(build=self._build, run=self._run, **held)
    self._manager = tf.train.CheckpointManager(checkpoint, self._directory, 2)
    return self._manager


def _optimizer(model: tf.keras.Model) -> list | None:
  """[class, learning rate] of a model's optimizer; None without one.

  The rate is None where it is no variable: a schedule's follows from the saved steps.
  """
  if model.optimizer is None:
    return None
  rate = getattr(model.optimizer, "learning_rate", None)
  value = None
  if isinstance(rate, tf.keras.Variable):
    # As people write it: it is kept in 32 bits.
    value = float(f"{float(tf.keras.ops.convert_to_numpy(rate.value)):.6g}")
  return [type(model.optimizer).__name__, value]


def _said(optimizer: list) -> str:
  name, rate = optimizer
  return name if rate is None else f"{name} at learning rate {rate:g}"


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


def _checksum(variable: tf.keras.Variable, before: int) -> int:
  """The CRC-32 of a variable's bytes, after those of others."""
  if not isinstance(variable, tf.Variable):
    variable = variable.value
  array = np.ascontiguousarray(tf.keras.ops.convert_to_numpy(variable))
  return zlib.crc32(array.reshape(-1).view(np.uint8), before)


def _trackable(variable: tf.keras.Variable) -> tf.Variable | _Value:
  """Trackable of a Keras variable, for a `tf.train.Checkpoint`."""
  if tf.keras.backend.backend() != "tensorflow":
    return _Value(variable)
  # Some optimizers hold variables of TensorFlow itself.
  return getattr(variable, "value", variable)
