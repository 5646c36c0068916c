"""A Keras callback that lets a killed `fit` go on with the very next batch."""

import dataclasses
import json
import logging
import os
from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from liquid_tf._keras import state
from liquid_tf._pipeline import position as _position
from liquid_tf._pipeline import start as start_lib
from liquid_tf._pipeline import stats as stats_lib
from liquid_tf._pipeline.counted import CountedDataset
from liquid_tf._pipeline.sources import find_part
from liquid_tf._store import storage

_logger = logging.getLogger(__name__)

# Where a checkpoint holds the variable of an attribute.
_KEY = "{}/.ATTRIBUTES/VARIABLE_VALUE"

# The attributes that hold the variables of model and optimizer, before their numbers.
_VARIABLE = "variable"

# What ends an epoch but not the training: true, and nobody else's.
_EPOCH_IS_OVER = object()


class Resume(tf.keras.callbacks.Callback):
  """Saves the model and the data's position; a new run goes on from there.

  `fit` hides its iterator from checkpoints. But the order of samples is planned, so the
  epoch, the step and the numbers of cached samples are all there is to save. They are
  in one checkpoint with the variables of the model and the optimizer, whether Keras
  trains with TensorFlow, JAX or PyTorch. A loop of your own saves `position`.

      ds = liquid_tf.dataset("flowers.liquid", batch_size=32)
      resume = liquid_tf.Resume(ds, "run1")
      model.fit(ds, epochs=4, shuffle=False, callbacks=[resume])

  Run it again after a kill: it starts in the epoch and at the batch after the last
  checkpoint. The metrics of that epoch cover the batches that were left of it, and a
  line in the log says so. A run that ended is not run again; the log says that, too.
  The dataset must be the one that `fit` gets, or what it is mapped from.

  The learning rate is part of what is saved: another one given to `compile` has no
  effect, and the log says so. A model with other layers, or other trainable ones, is
  another run: fine-tuning takes a directory of its own (docs/tutorials/resume.md).
  Where the dataset leaves out what is damaged (`on_error="skip"`), the log says after
  each epoch how many samples that were.

  Other callbacks begin anew: `ModelCheckpoint(save_best_only=True)` takes the first
  epoch for the best one and overwrites a better model, unless its file name has
  `{epoch}` or its `initial_value_threshold` is the best value so far.

  Of workers that train in step, each with its `shard`, every one has the same model and
  the same (epoch, step). So the checkpoint of one serves all, and another number of
  workers too, which share what is left of the epoch (docs/scaling.md): give each a copy
  of some worker's directory.

  Args:
    dataset: what `liquid_tf.dataset` gave, or anything mapped from it.
    directory: for the checkpoints; made where there is none.
    save_freq: batches between two checkpoints; the end of an epoch is always one.

  Raises:
    ValueError: the dataset is not made from `liquid_tf.dataset`, or has
      `batch_size=None`; or `save_freq` is not at least 1. When `fit` begins: its
      dataset has no known `cardinality()`, and `fit` no `steps_per_epoch`; or the
      directory holds a run with another backend of Keras, dataset, split, batch size,
      seed, `shuffle`, `shard_policy`, mix, `transforms`, scan groups or
      `steps_per_epoch`, or of a model that has other variables, or one of an older
      version; or one that another worker, or another number of them, left inside of an
      epoch, and the dataset has weights, a mix that changes, shares of scan groups,
      cache="auto", or other batches than `steps_per_epoch`. At the first checkpoint:
      the model cannot say how to build it again.
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
    self._directory = storage.absolute(directory)
    self._save_freq = save_freq
    self._epoch = tf.Variable(0, dtype=tf.int64, trainable=False)
    self._step = tf.Variable(0, dtype=tf.int64, trainable=False)
    # Of an epoch that other numbers of workers began, who ran how many steps; `step`
    # counts those that came after.
    self._cuts = tf.Variable("[]", dtype=tf.string, trainable=False)
    # A cache="auto" that another machine resolves otherwise would change the order.
    self._cached = tf.Variable(self._blocks.cached, dtype=tf.int64, trainable=False)
    self._build = tf.Variable("null", dtype=tf.string, trainable=False)
    self._identity = {
      "backend": tf.keras.backend.backend(),
      **_position.identity(self._blocks, dataset),
    }
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
    self._epoch_steps = 0
    self._skipped = 0
    self._first_epoch = 0  # of the dataset, that the run began with
    self._held = 0  # variables of model and optimizer

  @property
  def epoch(self) -> int:
    """The epoch to run next."""
    return int(self._epoch.numpy())

  @property
  def step(self) -> int:
    """Batches of it that were trained on, by whatever number of workers."""
    return self._start().before + int(self._step.numpy())

  def _start(self) -> start_lib.Start:
    """Where the checkpoint's variables stand, for as many workers as saved them."""
    cuts = tuple(map(tuple, json.loads(self._cuts.numpy())))
    return start_lib.Start(self.epoch, int(self._step.numpy()), cuts)

  def _set_start(self, start: start_lib.Start) -> None:
    self._epoch.assign(start.epoch)
    self._step.assign(start.step)
    self._cuts.assign(json.dumps(start.cuts))

  def on_train_begin(self, logs: Mapping[str, float] | None = None) -> None:
    self._manager = None
    # Else a run that was gone on with before would be where this one begins.
    self.model._initial_epoch = None
    self._was_built = self.model.built
    self._step_offset = 0
    self._steps_since_save = 0
    steps = self.params.get("steps")
    if steps is None:
      raise ValueError(
        "the dataset of fit must have a known cardinality(), or fit steps_per_epoch: "
        "to go on inside of an epoch Keras must know how many batches it has"
      )
    self._epoch_steps = steps
    self._skipped = self._count_skipped()
    run = {
      **self._identity,
      **_position.of_worker(self._blocks),
      "steps_per_epoch": steps,
    }
    given = _optimizer(self.model)
    # Another fit may have drawn epochs of the dataset before this run began.
    begun = {"optimizer": given, "first_epoch": self._stats()["next_epoch"]}
    self._run.assign(json.dumps(run | begun))
    latest = tf.train.latest_checkpoint(self._directory)
    if latest is None:
      return
    before = self._check_run(latest, run)
    self._build_model(latest)
    self._restore(latest)
    begun = {
      "optimizer": before.get("optimizer", given),
      "first_epoch": before.get("first_epoch", 0),
    }
    self._tell_of_optimizer(begun["optimizer"], given)
    self._run.assign(json.dumps(run | begun))
    self._first_epoch = begun["first_epoch"]
    start = self._start()
    if before["worker"] == run["worker"] and not start.cuts:
      self._go_on(start, run)
    else:
      self._go_on_for_others(start, before, run)
    start = self._start()
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

  def _restore(self, latest: str) -> None:
    """Gives model, optimizer and place the values of a checkpoint.

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
    # Where a last layer is frozen, those that are left would fit.
    if saved != self._held:
      raise ValueError(f"{changed} ({saved} variables then, {self._held} now)")
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

  def _go_on(self, start: start_lib.Start, run: dict[str, Any]) -> None:
    """Makes the dataset go on where this worker stood."""
    # Epochs of steps_per_epoch batches are not those of the data.
    steps = run["steps_per_epoch"]
    trained = start.epoch * steps + start.step
    mixes = [] if self._mixes is None else self._mixes.numpy()
    epoch, step = divmod(trained, run["batches"])
    epoch += self._first_epoch
    self._blocks.snapshot.seek(epoch, step, self._cached.numpy(), mixes)
    # A kill may come between an epoch's last batch and its end.
    self._set_start(start_lib.Start(*divmod(trained, steps)))

  def _go_on_for_others(
    self, start: start_lib.Start, before: dict[str, Any], run: dict[str, Any]
  ) -> None:
    """Makes the dataset go on where other workers stood."""
    # What that worker cached, and the mixes that it chose, were its own.
    self._cached.assign(self._blocks.cached)
    if self._mixes is not None:
      self._mixes.assign(tf.zeros([0], tf.int64))
    if not start.cuts and start.step == before["batches"]:
      # A kill came between the epoch's last batch and its end.
      start = start_lib.Start(start.epoch + 1, 0)
    ran = [*start.cuts, (before["worker"][1], start.step)]
    # In epochs of the data, until it is known where to go on.
    start = start_lib.parse((self._first_epoch + start.epoch, ran), run["worker"][1])
    self._check_others(start, before, run)
    if not start.cuts:
      left = run["batches"] - start.step
      if left > 0:
        self._blocks.snapshot.seek(start.epoch, start.step)
    else:
      left = self._blocks.rests.seek(start)
    if left > 0:
      self._epoch_steps = start.step + left
    else:
      start = start_lib.Start(start.epoch + 1, 0)
      self._blocks.snapshot.seek(start.epoch)
    self._set_start(dataclasses.replace(start, epoch=start.epoch - self._first_epoch))

  def _check_others(
    self, start: start_lib.Start, before: dict[str, Any], run: dict[str, Any]
  ) -> None:
    """Raises ValueError where it is not known what others have left to do."""
    inside = start.step > 0 or bool(start.cuts)
    refusal = self._blocks.rests.refusal if inside else None
    if any(one["steps_per_epoch"] != one["batches"] for one in (before, run)):
      refusal = (
        "steps_per_epoch must be the batches of the dataset, so that an epoch of fit "
        "is one of the data"
      )
    if refusal is not None:
      (theirs, others), (mine, workers) = before["worker"], run["worker"]
      raise ValueError(
        f"{self._directory} holds a run of worker {theirs} of {others} that stopped in "
        f"epoch {start.epoch}, where worker {mine} of {workers} cannot go on: "
        f"{refusal}. Give as many workers, each its own directory, until the epoch ends"
      )

  def on_train_batch_end(
    self, batch: int, logs: Mapping[str, float] | None = None
  ) -> None:
    # With steps_per_execution the last execution may be a shorter one.
    step = min(self._step_offset + batch + 1, self._epoch_steps)
    self._steps_since_save += step - int(self._step.numpy())
    self._step.assign(step)
    if self._steps_since_save >= self._save_freq:
      self._save()
    # Of the epoch that was gone on with, Keras would run as many steps as of a whole
    # one. Asking the iterator at its end would already advance random generators.
    gone_on = self._step_offset or self._epoch_steps != self.params["steps"]
    if gone_on and step == self._epoch_steps and not self.model.stop_training:
      self.model.stop_training = _EPOCH_IS_OVER

  def on_epoch_end(self, epoch: int, logs: Mapping[str, float] | None = None) -> None:
    if self.model.stop_training is _EPOCH_IS_OVER:
      self.model.stop_training = False
    self._set_start(start_lib.Start(epoch + 1, 0))
    self._step_offset = 0
    self._epoch_steps = self.params["steps"]
    self._save()
    skipped = self._count_skipped()
    if skipped > self._skipped:
      _logger.warning(
        "epoch %d left out %d of its samples as damaged: liquid_tf.verify(%r) finds "
        "them",
        epoch + 1,
        skipped - self._skipped,
        self._blocks.sources[0].view.path,
      )
    self._skipped = skipped

  def _count_skipped(self) -> int:
    """Samples that the dataset has left out so far."""
    return self._stats()["skipped"]["count"]

  def _stats(self) -> dict[str, Any]:
    return json.loads(self._blocks.snapshot.stats_json())

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
      self._mixes.assign(self._stats()["mixes"])
    (self._manager or self._make_manager()).save()
    self._steps_since_save = 0

  def _check_run(self, latest: str, run: dict[str, Any]) -> dict[str, Any]:
    """What a checkpoint is of.

    Raises:
      ValueError: it is not a run such as this one.
    """
    reader = tf.train.load_checkpoint(latest)
    before = {}
    if reader.has_tensor(_KEY.format("run")):
      before = json.loads(reader.get_tensor(_KEY.format("run")))
    if "backend" not in before:
      raise ValueError(
        f"{latest} does not say what it was trained on, as this version of Resume "
        "does: give another directory for a new run"
      )
    same = run.keys()
    if before["worker"] != run["worker"]:  # Their epochs may differ in length.
      same = self._identity.keys()
    for name in same:
      if before.get(name) != run[name]:
        if name == "dataset":
          self._refuse_dataset(before.get(name))
        raise ValueError(
          f"{self._directory} holds a run with {name} {before.get(name)!r}, but this "
          f"one has {run[name]!r}: give the same again, or another directory for a new "
          "run"
        )
    return before

  def _refuse_dataset(self, before: str | None) -> None:
    """Raises ValueError that names the versions, where they are of one dataset."""
    was = _position.other_version(self._blocks.sources[0].view, before)
    raise ValueError(
      f"{self._directory} holds a run with {was}, or Resume another directory for a "
      "new run"
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
    self._held = len(variables)
    held = {f"{_VARIABLE}{i}": state.trackable(v) for i, v in enumerate(variables)}
    if self._mixes is not None:
      held["mixes"] = self._mixes
    checkpoint = tf.train.Checkpoint(
      epoch=self._epoch,
      step=self._step,
      cuts=self._cuts,
      cached=self._cached,
      build=self._build,
      run=self._run,
      **held,
    )
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
