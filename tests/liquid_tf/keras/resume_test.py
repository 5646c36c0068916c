"""A killed `fit`, started again with `Resume`, goes on with the very next batch."""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import tempfile
from typing import Any
from unittest import mock

import damaged
import numpy as np
import runs
import tensorflow as tf
from absl.testing import parameterized

import liquid_tf
from liquid_tf import transforms
from liquid_tf._pipeline import mix_control
from liquid_tf._pipeline.position import Position
from liquid_tf._view.view import View

_EPOCHS = 3
_STEPS = 13  # in an epoch of 100 samples
_SAVE_FREQ = 3


class NotingModel(tf.keras.Sequential):
  """Writes each batch's samples, pixels and loss to a file, before it counts."""

  log_path = ""

  def compute_loss(self, x, y, y_pred, *arguments, **named):
    loss = super().compute_loss(x, y[:, 0], y_pred, *arguments, **named)

    def note(ids, pixels, value):
      line = [ids.tolist(), runs.digest(pixels), float(value)]
      with open(self.log_path, "a") as file:
        file.write(json.dumps(line) + "\n")
      return np.float32(0)

    noted = tf.numpy_function(note, [y[:, 1], x, loss], tf.float32)
    with tf.control_dependencies([noted]):
      return tf.identity(loss)


class _KilledError(Exception):
  """Stands for a kill where no new process is needed."""


class _KillAt(tf.keras.callbacks.Callback):
  """Kills the process, or only `fit`, after some batches of its own."""

  def __init__(self, batches: int, whole_process: bool = True):
    super().__init__()
    self._left = batches
    self._whole_process = whole_process

  def on_train_batch_end(self, batch, logs=None):
    self._left -= 1
    if self._left == 0:
      if self._whole_process:
        os.kill(os.getpid(), signal.SIGKILL)
      raise _KilledError


_ARGUMENTS = {
  "batch_size": 8,
  "seed": 3,
  "cache": "30%",
  "features": ["id", "image", "label"],
  "transforms": [transforms.RandomCrop(16)],
}


def _dataset(path: str, **options) -> tf.data.Dataset:
  return (
    liquid_tf.dataset(path, **_ARGUMENTS, **options)
    .map(
      lambda batch: (batch["image"], tf.stack([batch["label"], batch["id"]], axis=1)),
      num_parallel_calls=2,
    )
    .prefetch(3)
  )


def _model(folder: str, built: bool = True) -> tf.keras.Model:
  tf.keras.utils.set_random_seed(1)
  layers = [tf.keras.Input((16, 16, 3))] if built else []
  model = NotingModel(
    [
      *layers,
      tf.keras.layers.Rescaling(1 / 255),
      tf.keras.layers.Conv2D(4, 3, strides=2, activation="relu"),
      tf.keras.layers.Flatten(),
      tf.keras.layers.Dropout(0.2, seed=4),
      tf.keras.layers.Dense(4),
    ]
  )
  model.log_path = os.path.join(folder, "log")
  loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
  model.compile("adam", loss, jit_compile=False)
  return model


def _two_layers(
  units: int = 5, frozen: int | None = None, layers: int = 1
) -> tf.keras.Model:
  """A model of some layers below the last one, of which one may be frozen."""
  tf.keras.utils.set_random_seed(1)
  dense = tf.keras.layers.Dense
  below = [dense(units) for _ in range(layers)]
  model = tf.keras.Sequential(
    [tf.keras.Input((16, 16, 3)), tf.keras.layers.Flatten(), *below, dense(4)]
  )
  if frozen is not None:
    model.layers[1 + frozen].trainable = False
  return model


def _fit(path: str, folder: str, kill_after: int = 0, repeats: int = 1) -> str:
  """Trains a small model, and returns a hash of its weights."""
  tf.config.experimental.enable_op_determinism()
  dataset, model = _dataset(path), _model(folder)
  for _ in range(repeats):
    resume = liquid_tf.keras.Resume(
      dataset, os.path.join(folder, "run"), save_freq=_SAVE_FREQ
    )
    callbacks = [resume] + ([_KillAt(kill_after)] if kill_after else [])
    model.fit(dataset, epochs=_EPOCHS, verbose=0, callbacks=callbacks)
  return runs.digest(model.get_weights())


class _Alternating:
  """Stands for the controller: a mix and its opposite in turn."""

  def __init__(self, *_):
    pass

  def next_mix(self, epoch):
    png = 0.8 if epoch.mix["png"] < 0.5 else 0.2
    return {"png": png, "raw": 1 - png}


def _fit_moving(path: str, folder: str, mix: str | list, kill_after: int = 0) -> None:
  """Trains with a mix that is another one in every epoch."""
  tf.config.experimental.enable_op_determinism()
  mix_control.Controller = _Alternating
  dataset, model = _dataset(path, mix=mix), _model(folder)
  resume = liquid_tf.keras.Resume(
    dataset, os.path.join(folder, "run"), save_freq=_SAVE_FREQ
  )
  callbacks = [resume] + ([_KillAt(kill_after)] if kill_after else [])
  model.fit(dataset, epochs=_EPOCHS, verbose=0, callbacks=callbacks)


def _loader(path: str, **options) -> Any:
  return liquid_tf.loader(path, **_ARGUMENTS, **options)


def _checkpoints(run: str) -> list[str]:
  return tf.train.get_checkpoint_state(run).all_model_checkpoint_paths


def _place(run: str, number: int | None = None) -> dict[str, Any]:
  """The JSON beside a checkpoint, by default the newest one."""
  path = tf.train.latest_checkpoint(run) if number is None else f"{run}/ckpt-{number}"
  return json.loads(pathlib.Path(f"{path}.position.json").read_text())


def _log(folder: str) -> list:
  lines = pathlib.Path(folder, "log").read_text().splitlines()
  return [json.loads(line) for line in lines]


class ResumeTest(parameterized.TestCase, tf.test.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.root = tempfile.mkdtemp()
    cls.addClassCleanup(shutil.rmtree, cls.root)
    cls.path = runs.make(cls.root, "png:6,raw:4")
    cls.undisturbed = os.path.join(cls.root, "undisturbed")
    os.mkdir(cls.undisturbed)
    cls.weights, _ = runs.in_new_process(_fit, path=cls.path, folder=cls.undisturbed)
    cls.wanted = _log(cls.undisturbed)

  def _check_resumed(self, folder: str, first: int, killed: int) -> int:
    """Checks a log up to a kill; returns where the next run has to begin."""
    log = _log(folder)
    os.remove(os.path.join(folder, "log"))
    self.assertEqual(log, self.wanted[first:killed])
    epoch, step = divmod(killed, _STEPS)
    # The end of an epoch is saved, and every third batch of a run of one.
    begin = max(first, epoch * _STEPS)
    return begin + (killed - begin) // _SAVE_FREQ * _SAVE_FREQ

  @parameterized.parameters("auto", [["png:6,raw:4", "png:1,raw:9", "raw"]])
  def test_the_mixes_of_epochs_are_gone_on_with(self, mix):
    path = runs.make(
      self.create_tempdir().full_path, "png:6,raw:4", per_class=25, replicate=True
    )
    whole, killed = (self.create_tempdir().full_path for _ in range(2))
    runs.in_new_process(_fit_moving, path=path, folder=whole, mix=mix)
    wanted = _log(whole)
    # In the second epoch: nobody but the checkpoint knows of its mix, or of the first.
    runs.in_new_process(
      _fit_moving, exit_code=-9, path=path, folder=killed, mix=mix, kill_after=18
    )
    self.assertEqual(_log(killed), wanted[:18])
    os.remove(os.path.join(killed, "log"))
    runs.in_new_process(_fit_moving, path=path, folder=killed, mix=mix)
    resumed = 13 + (18 - 13) // _SAVE_FREQ * _SAVE_FREQ
    self.assertEqual(_log(killed), wanted[resumed:])

  def test_killed_twice(self):
    folder = self.create_tempdir().full_path
    # In the first epoch, in the third, then to the end.
    runs.in_new_process(_fit, exit_code=-9, path=self.path, folder=folder, kill_after=8)
    first = self._check_resumed(folder, 0, 8)
    self.assertEqual(first, 6)
    runs.in_new_process(
      _fit, exit_code=-9, path=self.path, folder=folder, kill_after=24
    )
    second = self._check_resumed(folder, first, first + 24)
    self.assertEqual(second, 29)
    weights, _ = runs.in_new_process(_fit, path=self.path, folder=folder)
    self.assertEqual(_log(folder), self.wanted[second:])
    self.assertEqual(weights, self.weights)

  def test_a_loader_goes_on_where_a_fit_was_killed(self):
    folder = self.create_tempdir().full_path
    runs.in_new_process(
      _fit, exit_code=-9, path=self.path, folder=folder, kill_after=18
    )
    run = os.path.join(folder, "run")
    place = _place(run)
    self.assertEqual((place["epoch"], place["step"]), (1, 3))
    # Of the newest checkpoint and the one before it; all others are removed.
    numbers = [int(path.rpartition("-")[2]) for path in _checkpoints(run)]
    self.assertEqual(numbers, [5, 6])
    self.assertCountEqual(
      [name for name in os.listdir(run) if "json" in name],
      [f"ckpt-{number}.position.json" for number in numbers],
    )
    places = [_place(run, number) for number in numbers]
    self.assertEqual([one["step"] for one in places], [0, 3])
    self.assertEqual(places[1], place)
    dataset = liquid_tf.dataset(self.path, start=(1, 3), **_ARGUMENTS)
    with _loader(self.path) as loader:
      loader.load_state_dict(place)
      for epoch, first in ((1, 3), (2, 0)):
        found, wanted = list(loader), [*dataset.as_numpy_iterator()]
        self.assertLen(found, _STEPS - first)
        for one, other in zip(found, wanted, strict=True):
          for name in ("id", "image", "label"):
            np.testing.assert_array_equal(one[name], other[name])
        begin = epoch * _STEPS + first
        self.assertEqual(
          [batch["id"].tolist() for batch in found],
          [line[0] for line in self.wanted[begin : begin + len(found)]],
        )

  def test_each_of_zipped_datasets_has_its_place(self):
    folder = self.create_tempdir().full_path
    options = {"features": ["id"], "cache": "30%", "memory": "64MiB"}

    def one(seed: int, **more) -> tf.data.Dataset:
      return liquid_tf.dataset(self.path, 8, seed=seed, **options, **more)

    both = tf.data.Dataset.zip((one(1), one(2))).map(
      lambda a, b: (tf.cast(tf.stack([a["id"], b["id"]], 1), tf.float32), a["id"])
    )
    model = tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    resume = liquid_tf.keras.Resume(both, folder, save_freq=2)
    kill = _KillAt(_STEPS + 5, whole_process=False)
    with self.assertRaises(_KilledError):
      model.fit(both, epochs=2, verbose=0, callbacks=[resume, kill])
    latest = tf.train.latest_checkpoint(folder)
    for i, seed in enumerate((1, 2)):
      place = json.loads(pathlib.Path(f"{latest}.position-{i}.json").read_text())
      with liquid_tf.loader(self.path, 8, seed=seed, start=place, **options) as loader:
        ids = [batch["id"].tolist() for batch in loader]
      self.assertEqual(ids, runs.ids(one(seed, start=(1, 4))))
    self.assertLen([name for name in os.listdir(folder) if "json" in name], 4)

  def test_killed_between_a_place_and_its_checkpoint(self):
    folder = self.create_tempdir().full_path
    run = os.path.join(folder, "run")
    save = tf.train.CheckpointManager.save

    def fit(fail_at: int = 0) -> None:
      def failing(manager, number):
        if number == fail_at:
          raise _KilledError
        return save(manager, number)

      resume = liquid_tf.keras.Resume(dataset, run, save_freq=4)
      with mock.patch.object(tf.train.CheckpointManager, "save", failing):
        _model(folder).fit(dataset, epochs=1, verbose=0, callbacks=[resume])

    dataset = _dataset(self.path)
    with self.assertRaises(_KilledError):
      fit(fail_at=3)
    self.assertEqual([_place(run, number)["step"] for number in (1, 2, 3)], [4, 8, 12])
    self.assertEqual(_place(run)["step"], 8)
    # What others call alike is theirs.
    others = {"ckpt-old.position.json", "ckpt-1.positions.json", "position.json"}
    for name in others:
      pathlib.Path(run, name).touch()
    pathlib.Path(run, "ckpt-1.position.json.new").touch()
    dataset = _dataset(self.path)
    fit()
    ids = [line[0] for line in _log(folder)]
    self.assertEqual(ids[-5:], [line[0] for line in self.wanted[8:_STEPS]])
    self.assertEqual(
      {name for name in os.listdir(run) if "json" in name},
      {"ckpt-3.position.json", "ckpt-4.position.json"} | others,
    )
    self.assertEqual([_place(run, number)["epoch"] for number in (3, 4)], [0, 1])

  def test_what_a_checkpoint_lacks_is_named(self):
    folder = self.create_tempdir().full_path
    self._tuned(self.path, folder, "sgd")
    parse = Position.parse.__func__

    def older(cls, given, name):
      return parse(cls, {k: v for k, v in given.items() if k != "version"}, name)

    with mock.patch.object(Position, "parse", classmethod(older)):
      with self.assertRaisesRegex(
        ValueError, rf'^{folder}: positions\[0\]\["version"\] \(none\) must be 1'
      ):
        self._tuned(self.path, folder, "sgd", epochs=2)

  @parameterized.named_parameters(
    ("built", {}),
    ("unbuilt", {"built": False}),
    ("mirrored", {"mirrored": True}),
    ("mirrored_unbuilt", {"mirrored": True, "built": False}),
    ("epochs_of_some_steps", {"steps": 5}),
  )
  def test_kinds_of_models(self, how):
    folder = self.create_tempdir().full_path
    dataset, epochs = _dataset(self.path), 2
    if "steps" in how:
      dataset, epochs = dataset.repeat(), 5
    mirrored = how.get("mirrored", False)

    def fit(callbacks):
      strategy = tf.distribute.MirroredStrategy(["CPU:0"]) if mirrored else None
      with strategy.scope() if strategy else contextlib.nullcontext():
        model = _model(folder, how.get("built", True))
      resume = liquid_tf.keras.Resume(dataset, os.path.join(folder, "run"), save_freq=4)
      history = model.fit(
        dataset,
        epochs=epochs,
        steps_per_epoch=how.get("steps"),
        verbose=0,
        callbacks=[*callbacks, resume],
      )
      return history.epoch

    with self.assertRaises(_KilledError):
      fit([_KillAt(19, whole_process=False)])
    # Of a second epoch, or a fourth of 5 steps, 6 or 4 are behind us; 4 were saved.
    begin = 15 if "steps" in how else 17
    trained = fit([])
    self.assertEqual(trained, list(range(3 if "steps" in how else 1, epochs)))
    log = _log(folder)
    end = 25 if "steps" in how else 26
    wanted = self.wanted[:19] + self.wanted[begin:end]
    self.assertEqual([line[:2] for line in log], [line[:2] for line in wanted])
    # Without TensorFlow's deterministic mode, sums may end in other digits.
    losses = [[line[2] for line in lines] for lines in (log, wanted)]
    self.assertAllClose(losses[0], losses[1], rtol=1e-4)

  def test_killed_between_the_last_batch_and_the_end_of_its_epoch(self):
    folder = self.create_tempdir().full_path
    dataset = _dataset(self.path)

    def fit(*callbacks):
      resume = liquid_tf.keras.Resume(
        dataset, os.path.join(folder, "run"), save_freq=_STEPS
      )
      model = _model(folder)
      callbacks = [resume, *callbacks]
      return model.fit(dataset, epochs=2, verbose=0, callbacks=callbacks).epoch

    with self.assertRaises(_KilledError):
      fit(_KillAt(_STEPS, whole_process=False))
    self.assertEqual(fit(), [1])
    ids = [line[0] for line in _log(folder)]
    self.assertEqual(ids, [line[0] for line in self.wanted[: 2 * _STEPS]])

  def _work(self, folder: str, worker: int, workers: int, kill_after: int = 0) -> list:
    """Trains as one of several workers; returns the epochs of fit."""
    dataset = _dataset(self.path, shard=(worker, workers))
    resume = liquid_tf.keras.Resume(dataset, os.path.join(folder, "run"), save_freq=1)
    callbacks = [resume]
    if kill_after:
      callbacks.append(_KillAt(kill_after, whole_process=False))
    try:
      fit = _model(folder).fit(dataset, epochs=_EPOCHS, verbose=0, callbacks=callbacks)
    except _KilledError:
      return []
    return fit.epoch

  def test_another_number_of_workers_goes_on(self):
    root = self.create_tempdir().full_path
    seen = []  # samples of the second epoch

    def work(
      workers: int, kill_after: int, steps: int, model_of: str | None = None
    ) -> None:
      for worker in range(workers):
        folder = os.path.join(root, f"{worker} of {workers}")
        if model_of is not None:
          shutil.copytree(os.path.join(root, model_of, "run"), f"{folder}/run")
        self._work(folder, worker, workers, kill_after)
        log = _log(folder)
        os.remove(f"{folder}/log")
        seen.extend(runs.flat(ids for ids, _, _ in log[-steps:]))

    os.makedirs(f"{root}/0 of 2")
    os.makedirs(f"{root}/1 of 2")
    work(2, 7 + 3, 3)  # an epoch of two has 7 batches
    self.assertLen(set(seen), 48)
    work(3, 1, 1, "0 of 2")
    work(3, 1, 1)  # as many as before go on where they stood
    self.assertLen(seen, 48 + 48)
    folder = os.path.join(root, "0 of 1")
    shutil.copytree(f"{root}/2 of 3/run", f"{folder}/run")
    with self.assertLogs("liquid_tf", "WARNING") as logs:
      self.assertEqual(self._work(folder, 0, 1), [1, 2])
    self.assertRegex(logs.output[0], "batch 5 of epoch 2: .* cover its other 1 batches")
    ids = [line[0] for line in _log(folder)]
    # Of 52 samples, two of three workers have a second one of another's.
    self.assertLessEqual(len(seen) - len(set(seen)), 2)
    self.assertCountEqual(set(range(100)) - set(seen), ids[0])
    self.assertEqual(ids[1:], [line[0] for line in self.wanted[2 * _STEPS :]])

  def test_the_last_batch_that_other_workers_left_ends_the_epoch(self):
    folder = self.create_tempdir().full_path
    self._work(folder, 0, 2, kill_after=4)
    os.remove(os.path.join(folder, "log"))
    self._work(folder, 0, 1, kill_after=5)  # of 36 samples
    os.remove(os.path.join(folder, "log"))
    place = _place(os.path.join(folder, "run"))
    self.assertEqual((place["epoch"], place["step"], place["cuts"]), (1, 0, []))
    with _loader(self.path, start=place) as loader:
      ids = [batch["id"].tolist() for batch in loader]
    self.assertEqual(ids, [line[0] for line in self.wanted[_STEPS : 2 * _STEPS]])
    self.assertEqual(self._work(folder, 0, 1), [1, 2])
    self.assertEqual([line[0] for line in _log(folder)][:_STEPS], ids)

  def test_workers_that_stopped_at_the_end_of_an_epoch(self):
    folder = self.create_tempdir().full_path
    self._work(folder, 0, 2, kill_after=7)  # before fit has told of the end
    os.remove(os.path.join(folder, "log"))
    self.assertEqual(self._work(folder, 0, 1), [1, 2])
    ids = [line[0] for line in _log(folder)]
    self.assertEqual(ids, [line[0] for line in self.wanted[_STEPS:]])

  def test_what_other_workers_left_may_be_unknown(self):
    folder = self.create_tempdir().full_path

    def fit(workers: int, epochs: int, steps: int | None = None, kill: int = 0):
      dataset = liquid_tf.dataset(
        self.path,
        8,
        seed=3,
        shard=(0, workers),
        transforms=[transforms.RandomCrop(16)],
        cache="auto" if steps is None else 0,
      )
      model = tf.keras.Sequential([tf.keras.layers.Flatten(), tf.keras.layers.Dense(4)])
      loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
      model.compile("sgd", loss)
      resume = liquid_tf.keras.Resume(dataset, os.path.join(folder, "run"), save_freq=1)
      callbacks = [resume] + ([_KillAt(kill, whole_process=False)] if kill else [])
      data = dataset.repeat() if steps else dataset
      return model.fit(
        data, epochs=epochs, steps_per_epoch=steps, verbose=0, callbacks=callbacks
      ).epoch

    with self.assertRaises(_KilledError):
      fit(2, 1, kill=3)
    with self.assertRaisesRegex(ValueError, r'epoch 0, .* cache \("auto"\) must be a'):
      fit(3, 1)
    self.assertEqual(fit(2, 1), [0])
    # A whole epoch is known to everybody.
    self.assertEqual(fit(3, 2), [1])
    shutil.rmtree(folder)
    fit(2, 1, steps=5)
    with self.assertRaisesRegex(ValueError, "steps_per_epoch must be the batches"):
      fit(3, 2, steps=5)

  def test_inside_of_an_epoch_of_unknown_length_it_does_not_go_on(self):
    folder = self.create_tempdir().full_path
    dataset = _dataset(self.path)
    filtered = dataset.filter(lambda images, numbers: tf.shape(images)[0] > 0)

    def fit(*callbacks):
      resume = liquid_tf.keras.Resume(dataset, os.path.join(folder, "run"), save_freq=5)
      model = _model(folder)
      model.fit(filtered, epochs=2, verbose=0, callbacks=[resume, *callbacks])

    # At once, and not after the kill.
    with self.assertRaisesRegex(ValueError, "must have a known cardinality"):
      fit()

  @parameterized.parameters(
    ({"seed": 4}, "seed 3, but this one has 4"),
    ({"batch_size": 4}, "batch_size 8, but this one has 4"),
    ({"shard_policy": "drop"}, "shard_policy 'pad', but this one has 'drop'"),
    ({"transforms": [transforms.RandomCrop(12)]}, r"transforms .*16, 16.*12, 12"),
    ({"shuffle": False, "transforms": [transforms.CenterCrop(16)]}, "shuffle True"),
  )
  def test_another_run_is_refused(self, changed, message):
    folder = self.create_tempdir().full_path

    def fit(**options):
      options = {"seed": 3, "transforms": [transforms.RandomCrop(16)]} | options
      batch_size = options.pop("batch_size", 8)
      dataset = liquid_tf.dataset(self.path, batch_size, **options)
      model = tf.keras.Sequential([tf.keras.layers.Flatten(), tf.keras.layers.Dense(4)])
      loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
      model.compile("sgd", loss)
      resume = liquid_tf.keras.Resume(dataset, os.path.join(folder, "run"), save_freq=5)
      model.fit(dataset, epochs=1, verbose=0, callbacks=[resume])

    fit()
    with self.assertRaisesRegex(ValueError, message):
      fit(**changed)

  def test_another_mix_of_a_replicated_dataset_is_refused(self):
    root = self.create_tempdir().full_path
    path = runs.make(root, "png:6,raw:4", per_class=8, replicate=True)

    def fit(mix):
      dataset = liquid_tf.dataset(
        path, 8, mix=mix, transforms=[transforms.CenterCrop(16)]
      )
      model = tf.keras.Sequential([tf.keras.layers.Flatten(), tf.keras.layers.Dense(4)])
      loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
      model.compile("sgd", loss)
      resume = liquid_tf.keras.Resume(dataset, os.path.join(root, "run"))
      model.fit(dataset, epochs=1, verbose=0, callbacks=[resume])

    fit("png:6,raw:4")
    fit({"png": 0.6, "raw": 0.4})
    for mix, found in (("png:1,raw:1", "'png': 16"), (["png:6,raw:4"], "'changes'")):
      with self.assertRaisesRegex(ValueError, f"run with mix .*{found}"):
        fit(mix)

  def test_single_samples_are_refused(self):
    single = liquid_tf.dataset(self.path, None, transforms=[transforms.CenterCrop(16)])
    with self.assertRaisesRegex(ValueError, "must have batches"):
      liquid_tf.keras.Resume(single.batch(8), self.create_tempdir().full_path)

  def test_several_steps_in_an_execution_end_with_the_epoch(self):
    folder = self.create_tempdir().full_path

    def fit(epochs):
      dataset = liquid_tf.dataset(
        self.path, 8, seed=3, transforms=[transforms.RandomCrop(16)]
      )
      model = tf.keras.Sequential([tf.keras.layers.Flatten(), tf.keras.layers.Dense(4)])
      loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
      model.compile("sgd", loss, steps_per_execution=4)
      resume = liquid_tf.keras.Resume(dataset, os.path.join(folder, "run"), save_freq=4)
      model.fit(dataset, epochs=epochs, verbose=0, callbacks=[resume])
      return resume

    self.assertEqual((fit(1).epoch, fit(1).step), (1, 0))
    self.assertEqual(fit(2).epoch, 2)

  def test_the_rest_of_an_epoch_is_told(self):
    folder = self.create_tempdir().full_path
    dataset = _dataset(self.path)

    def fit(*callbacks):
      resume = liquid_tf.keras.Resume(dataset, os.path.join(folder, "run"), save_freq=5)
      _model(folder).fit(dataset, epochs=1, verbose=0, callbacks=[resume, *callbacks])

    with self.assertRaises(_KilledError):
      fit(_KillAt(7, whole_process=False))
    with self.assertLogs("liquid_tf", "WARNING") as logs:
      fit()
    rest = (
      f"batch 5 of epoch 1: the metrics of this epoch cover its other {_STEPS - 5} "
    )
    self.assertIn(rest, logs.output[0])

  def test_the_log_says_what_was_trained_on(self):
    self.assertLen(self.wanted, _EPOCHS * _STEPS)
    self.assertLen({pixels for _, pixels, _ in self.wanted}, _EPOCHS * _STEPS)
    for epoch in range(_EPOCHS):
      lines = self.wanted[epoch * _STEPS : (epoch + 1) * _STEPS]
      self.assertCountEqual(runs.flat(ids for ids, _, _ in lines), range(100))

  def test_a_run_that_ended_is_not_run_again(self):
    # The second fit finds the checkpoint of the first one's end.
    folder = self.create_tempdir().full_path
    weights, _ = runs.in_new_process(_fit, path=self.path, folder=folder, repeats=2)
    self.assertEqual(_log(folder), self.wanted)
    self.assertEqual(weights, self.weights)

  def _tuned(
    self,
    path: str | View,
    folder: str,
    optimizer: str | tf.keras.optimizers.Optimizer,
    *callbacks,
    epochs: int = 1,
    model: tf.keras.Model | None = None,
    **options,
  ) -> tf.keras.Model:
    """Trains a model of two layers, or another one."""
    dataset = liquid_tf.dataset(
      path, 8, seed=3, transforms=[transforms.CenterCrop(16)], **options
    )
    model = model or _two_layers()
    loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer, loss)
    callbacks = [liquid_tf.keras.Resume(dataset, folder), *callbacks]
    self.history = model.fit(dataset, epochs=epochs, verbose=0, callbacks=callbacks)
    return model

  def test_that_a_run_has_ended_is_told(self):
    folder = self.create_tempdir().full_path
    self._tuned(self.path, folder, "sgd")
    with self.assertLogs("liquid_tf", "WARNING") as logs:
      self._tuned(self.path, folder, "sgd")
    self.assertEqual(self.history.epoch, [])
    self.assertLen(logs.output, 1)
    self.assertIn(
      f"nothing to train: the run in {folder} ended after epoch 1; give fit more",
      logs.output[0],
    )
    # More epochs go on, without a word.
    with self.assertNoLogs("liquid_tf", "WARNING"):
      self._tuned(self.path, folder, "sgd", epochs=2)
    self.assertEqual(self.history.epoch, [1])

  def test_a_new_directory_begins_at_the_first_epoch(self):
    folders = [self.create_tempdir().full_path for _ in range(2)]
    self._tuned(self.path, folders[0], "sgd", epochs=2)
    model = self._tuned(self.path, folders[0], "sgd", epochs=2)
    self.assertEqual(self.history.epoch, [])
    self._tuned(self.path, folders[1], "sgd", model=model)
    self.assertEqual(self.history.epoch, [0])

  def test_a_second_run_over_a_dataset_goes_on_in_its_later_epochs(self):
    folder = self.create_tempdir().full_path

    def fit(dataset: tf.data.Dataset, run: str, *callbacks) -> None:
      resume = liquid_tf.keras.Resume(dataset, os.path.join(folder, run), save_freq=1)
      callbacks = [resume, *callbacks]
      _model(folder).fit(dataset, epochs=1, verbose=0, callbacks=callbacks)

    wanted = [line[0] for line in self.wanted]
    dataset = _dataset(self.path)
    fit(dataset, "head")
    with self.assertRaises(_KilledError):
      fit(dataset, "all", _KillAt(5, whole_process=False))
    fit(_dataset(self.path), "all")
    self.assertEqual([line[0] for line in _log(folder)], wanted[: 2 * _STEPS])
    os.remove(os.path.join(folder, "log"))
    with self.assertRaises(_KilledError):
      fit(_dataset(self.path, start=(1, 0)), "late", _KillAt(5, whole_process=False))
    fit(_dataset(self.path, start=(1, 0)), "late")
    self.assertEqual([line[0] for line in _log(folder)], wanted[_STEPS : 2 * _STEPS])

  def test_epochs_of_fit_may_begin_later(self):
    folder = self.create_tempdir().full_path

    def fit(*callbacks) -> list[int]:
      dataset = _dataset(self.path)
      resume = liquid_tf.keras.Resume(dataset, os.path.join(folder, "run"), save_freq=2)
      callbacks = [resume, *callbacks]
      model = _model(folder)
      return model.fit(
        dataset, initial_epoch=4, epochs=6, verbose=0, callbacks=callbacks
      ).epoch

    with self.assertRaises(_KilledError):
      fit(_KillAt(_STEPS + 3, whole_process=False))
    self.assertEqual(fit(), [5])
    ids = [line[0] for line in _log(folder)]
    wanted = [line[0] for line in self.wanted]
    self.assertEqual(ids, wanted[: _STEPS + 3] + wanted[_STEPS + 2 : 2 * _STEPS])

  def test_what_others_restore_is_refused(self):
    folder = self.create_tempdir().full_path
    run, backup = os.path.join(folder, "run"), os.path.join(folder, "backup")

    def both(first: bool, epochs: int, *callbacks) -> None:
      dataset = liquid_tf.dataset(self.path, 8, transforms=[transforms.CenterCrop(16)])
      model = _two_layers()
      loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
      model.compile("sgd", loss)
      keras = tf.keras.callbacks.BackupAndRestore(backup)
      resume = liquid_tf.keras.Resume(dataset, run, save_freq=2)
      own = [resume, keras] if first else [keras, resume]
      # A learning rate of the epoch's own restores nothing.
      rate = tf.keras.callbacks.LearningRateScheduler(lambda epoch: 1e-7 / (epoch + 1))
      callbacks = [rate, *own, *callbacks]
      model.fit(dataset, epochs=epochs, verbose=0, callbacks=callbacks)

    # Keras's callback has the end of the first epoch, and knows of nothing since.
    with self.assertRaises(_KilledError):
      both(True, 2, _KillAt(_STEPS + 5, whole_process=False))
    with self.assertRaisesRegex(ValueError, f"{run} .*leave out BackupAndRestore"):
      both(True, 2)
    both(False, 2)
    both(False, 3)

  def test_a_fit_that_is_stopped_inside_of_an_epoch_goes_on_there(self):
    folder = self.create_tempdir().full_path
    dataset = _dataset(self.path)

    class StopAt(tf.keras.callbacks.Callback):
      def on_train_batch_end(self, batch, logs=None):
        self.model.stop_training = batch == 5

    def fit(*callbacks) -> None:
      resume = liquid_tf.keras.Resume(dataset, os.path.join(folder, "run"), save_freq=2)
      callbacks = [resume, *callbacks]
      _model(folder).fit(dataset, epochs=1, verbose=0, callbacks=callbacks)

    fit(StopAt())
    fit()
    ids = [line[0] for line in _log(folder)]
    self.assertEqual(ids, [line[0] for line in self.wanted[:_STEPS]])

  def test_another_learning_rate_is_told(self):
    folder = self.create_tempdir().full_path
    adam = tf.keras.optimizers.Adam
    # What a callback sets is no other rate given.
    halve = tf.keras.callbacks.LearningRateScheduler(lambda epoch, rate: rate / 2)
    self._tuned(self.path, folder, adam(1e-3), halve)
    with self.assertNoLogs("liquid_tf", "WARNING"):
      model = self._tuned(self.path, folder, adam(1e-3), epochs=2)
    self.assertAlmostEqual(float(model.optimizer.learning_rate), 5e-4)
    with self.assertLogs("liquid_tf", "WARNING") as logs:
      model = self._tuned(self.path, folder, adam(1e-2), epochs=3)
    self.assertAlmostEqual(float(model.optimizer.learning_rate), 5e-4)
    self.assertLen(logs.output, 1)
    self.assertRegex(
      logs.output[0],
      "begun with Adam at learning rate 0.001, and compile.. now gives Adam at "
      "learning rate 0.01: .* with Adam at learning rate 0.0005. To change .*"
      "LearningRateScheduler",
    )
    # As the line says.
    rate = tf.keras.callbacks.LearningRateScheduler(lambda epoch: 0.25)
    model = self._tuned(self.path, folder, adam(1e-2), rate, epochs=4)
    self.assertAlmostEqual(float(model.optimizer.learning_rate), 0.25)

  def test_another_optimizer_with_as_many_variables_is_told(self):
    folder = self.create_tempdir().full_path
    self._tuned(self.path, folder, tf.keras.optimizers.RMSprop(1e-3))
    with self.assertLogs("liquid_tf", "WARNING") as logs:
      other = tf.keras.optimizers.SGD(1e-3, momentum=0.9)
      self._tuned(self.path, folder, other, epochs=2)
    self.assertRegex(logs.output[0], "begun with RMSprop .* gives SGD")

  @parameterized.parameters(
    ({"units": 6}, {}, r"shape.*, 5.*, 6"),
    ({"frozen": 0}, {}, "14 variables then, 10 now"),
    ({"frozen": 1}, {}, "14 variables then, 10 now"),
    ({}, {"frozen": 1}, "10 variables then, 14 now"),
    ({}, {"layers": 2}, "variables then"),
  )
  def test_a_model_that_changed_is_refused(self, now, before, reason):
    folder = self.create_tempdir().full_path
    self._tuned(self.path, folder, "adam", model=_two_layers(**before))
    with self.assertRaisesRegex(
      ValueError,
      "the model, its trainable layers or its optimizer changed since "
      rf"{folder}/.* was saved: give another directory .*\(.*{reason}",
    ):
      self._tuned(self.path, folder, "adam", epochs=2, model=_two_layers(**now))

  def test_another_version_of_the_dataset_is_named(self):
    root, folder = (self.create_tempdir().full_path for _ in range(2))
    path = runs.make(root)
    self._tuned(path, folder, "sgd")
    liquid_tf.append(
      path, os.path.join(root, "source"), duplicates="add", progress=False
    )
    with self.assertRaisesRegex(
      ValueError,
      f"holds a run with version 1 of {path}, but this is version 2: .*"
      rf'liquid_tf.open\("{path}", version=1\)',
    ):
      self._tuned(path, folder, "sgd", epochs=2)
    self._tuned(liquid_tf.open(path, version=1), folder, "sgd", epochs=2)
    self.assertEqual(self.history.epoch, [1])
    # Of another dataset all that is known is that it is none of these.
    other = runs.make(self.create_tempdir().full_path, "png", per_class=5)
    with self.assertRaisesRegex(
      ValueError, f"'index 0x[0-9a-f]+', which no version of {other} has"
    ):
      self._tuned(other, folder, "sgd", epochs=2)

  def test_what_is_left_out_is_told_after_each_epoch(self):
    root, folder = (self.create_tempdir().full_path for _ in range(2))
    path = runs.make(root, "png:6,raw:4")
    damaged.flip(path, damaged.samples(path, "png")[3])
    with self.assertLogs("liquid_tf", "WARNING") as logs:
      self._tuned(path, folder, "sgd", epochs=2, on_error="skip")
    said = [line for line in logs.output if "left out" in line]
    self.assertLen(said, 2)
    for epoch, line in enumerate(said, 1):
      self.assertIn(f"epoch {epoch} left out 1 of its samples as damaged", line)
      self.assertIn(f"liquid_tf.verify({path!r})", line)

  def test_a_later_start_without_a_callback(self):
    options = {"seed": 3, "cache": "30%", "features": ["id"]}
    dataset = liquid_tf.dataset(self.path, 8, start=(1, 4), **options)
    wanted = [ids for ids, _, _ in self.wanted]
    self.assertEqual(runs.ids(dataset), wanted[_STEPS + 4 : 2 * _STEPS])
    self.assertEqual(runs.ids(dataset), wanted[2 * _STEPS :])

  def test_wrong_arguments(self):
    dataset = liquid_tf.dataset(self.path, 8)
    with self.assertRaisesRegex(ValueError, r"save_freq \(0\) must be at least 1"):
      liquid_tf.keras.Resume(dataset, "run", save_freq=0)
    with self.assertRaisesRegex(ValueError, "must come from liquid_tf.dataset"):
      liquid_tf.keras.Resume(tf.data.Dataset.range(3), "run")


if __name__ == "__main__":
  tf.test.main()
