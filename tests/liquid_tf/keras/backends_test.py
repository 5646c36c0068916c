"""Keras trains with JAX and PyTorch as with TensorFlow, and a killed `fit` goes on.

`make backends-test` installs both; without one, its tests are skipped.
"""

import importlib.util
import os
import pathlib
import shutil
import signal
import tempfile
import unittest
from typing import Any
from unittest import mock

import numpy as np
import runs
import tensorflow as tf
from absl.testing import parameterized

import liquid_tf
from liquid_tf import transforms

_BATCH = 8
_STEPS = 12  # in an epoch of 100 samples, whose last batch is dropped
_EPOCHS = 2
_SAVE_FREQ = 3
_OTHERS = ("jax", "torch")


class _Note(tf.keras.callbacks.Callback):
  """Writes the loss of each batch to a file; kills the process after some."""

  def __init__(self, path: str, kill_after: int = 0):
    super().__init__()
    self._path = path
    self._left = kill_after

  def on_train_batch_begin(self, batch, logs=None):
    self.model.reset_metrics()  # Else it would be the mean of the epoch so far.

  def on_train_batch_end(self, batch, logs=None):
    with open(self._path, "a") as file:
      file.write(f"{float(logs['loss'])!r}\n")
    self._left -= 1
    if self._left == 0:
      os.kill(os.getpid(), signal.SIGKILL)


def _losses(path: str) -> list[float]:
  losses = [float(line) for line in pathlib.Path(path).read_text().splitlines()]
  os.remove(path)
  return losses


def _dataset(path: str, **options) -> tf.data.Dataset:
  return liquid_tf.dataset(
    path,
    _BATCH,
    seed=3,
    cache="30%",
    last_batch="drop",
    transforms=[transforms.RandomCrop(16)],
    **options,
  )


def _model(weights: str, dropout: float = 0.0) -> tf.keras.Model:
  tf.keras.utils.set_random_seed(1)
  model = tf.keras.Sequential(
    [
      tf.keras.Input((16, 16, 3)),
      tf.keras.layers.Rescaling(1 / 255),
      tf.keras.layers.Conv2D(4, 3, strides=2, activation="relu"),
      tf.keras.layers.Flatten(),
      tf.keras.layers.Dropout(dropout, seed=4),
      tf.keras.layers.Dense(4),
    ]
  )
  if os.path.exists(weights):
    model.load_weights(weights)
  else:
    model.save_weights(weights)
  assert tf.keras.backend.backend() == os.environ["KERAS_BACKEND"]
  loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
  compiled = tf.keras.backend.backend() == "jax"
  model.compile("adam", loss, jit_compile=compiled)
  return model


def _fit(path: str, weights: str, log: str) -> None:
  """Trains from the given weights, or makes them."""
  note = _Note(log)
  _model(weights).fit(_dataset(path), epochs=_EPOCHS, verbose=0, callbacks=[note])


def _resume(path: str, weights: str, folder: str, kill_after: int = 0) -> list[int]:
  """Goes on with a training whose layers draw random numbers; returns its epochs."""
  dataset = _dataset(path)
  callbacks = [
    liquid_tf.keras.Resume(dataset, os.path.join(folder, "run"), save_freq=_SAVE_FREQ),
    _Note(os.path.join(folder, "log"), kill_after),
  ]
  model = _model(weights, dropout=0.5)
  return model.fit(dataset, epochs=_EPOCHS, verbose=0, callbacks=callbacks).epoch


def _events(folder: str) -> dict[str, list[float]]:
  """Scalars of TensorBoard's files, by tag."""
  found: dict[str, list[float]] = {}
  files = [os.fspath(path) for path in pathlib.Path(folder, "liquid").iterdir()]
  for record in tf.data.TFRecordDataset(files).as_numpy_iterator():
    for value in tf.compat.v1.Event.FromString(record).summary.value:
      array = tf.make_ndarray(value.tensor)
      if array.dtype == np.float32:
        found.setdefault(value.tag, []).append(array.item())
  return found


def _schedule(path: str, weights: str, folder: str) -> dict[str, Any]:
  """Trains on rising scan groups, with TensorBoard's figures; and a gradient."""
  group = tf.Variable(1, dtype=tf.int64)
  dataset = _dataset(path, fidelity=group)
  rule = liquid_tf.keras.OnPlateau([1, 10], patience=1, min_delta=1e6)
  model = _model(weights)
  gradient = liquid_tf.keras.gradient(model, _dataset(path, fidelity=10).take(2))
  callbacks = [
    liquid_tf.keras.FidelityScheduler(group, rule),
    liquid_tf.keras.TensorBoardStats(dataset, folder),
  ]
  fit = model.fit(dataset, epochs=3, verbose=0, callbacks=callbacks)
  samples = _events(folder)["liquid_epoch/samples"]
  return {
    "gradient": gradient.tolist(),
    "loss": fit.history["loss"],
    "fidelity": fit.history["fidelity"],
    "samples": samples,
  }


def _run(backend: str, function, exit_code: int = 0, **arguments) -> Any:
  """Calls a function in a process of its own, as a backend is chosen once in each."""
  with mock.patch.dict(os.environ, KERAS_BACKEND=backend):
    return runs.in_new_process(function, exit_code, **arguments)[0]


class BackendsTest(parameterized.TestCase, tf.test.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    if not any(map(importlib.util.find_spec, _OTHERS)):
      raise unittest.SkipTest("neither jax nor torch is installed")
    cls.root = tempfile.mkdtemp()
    cls.addClassCleanup(shutil.rmtree, cls.root)
    cls.path = runs.make(f"{cls.root}/mixed", "png:6,raw:4")
    cls.progressive = runs.make(f"{cls.root}/progressive", "pcr", extension="jpg")
    cls.weights = f"{cls.root}/initial.weights.h5"
    log = f"{cls.root}/log"
    _run("tensorflow", _fit, path=cls.path, weights=cls.weights, log=log)
    cls.wanted = _losses(log)

  def _need(self, backend: str) -> None:
    if importlib.util.find_spec(backend) is None:
      self.skipTest(f"{backend} is not installed")

  @parameterized.parameters(*_OTHERS)
  def test_losses_are_those_of_tensorflow(self, backend):
    self._need(backend)
    log = self.create_tempdir().full_path + "/log"
    _run(backend, _fit, path=self.path, weights=self.weights, log=log)
    losses = _losses(log)
    self.assertLen(losses, _EPOCHS * _STEPS)
    self.assertAllClose(losses, self.wanted, rtol=1e-3)
    # A wrong order of batches would not be as close.
    self.assertNotAllClose(losses[::-1], self.wanted, rtol=1e-1)

  @parameterized.parameters(*_OTHERS)
  def test_killed_and_resumed(self, backend):
    self._need(backend)
    whole, killed = (self.create_tempdir().full_path for _ in range(2))
    given = {"path": self.path, "weights": self.weights}
    self.assertEqual(_run(backend, _resume, folder=whole, **given), [0, 1])
    wanted = _losses(f"{whole}/log")
    # In the second epoch, two batches after a checkpoint.
    _run(backend, _resume, -9, folder=killed, kill_after=_STEPS + 5, **given)
    self.assertAllClose(_losses(f"{killed}/log"), wanted[: _STEPS + 5], rtol=1e-5)
    self.assertEqual(_run(backend, _resume, folder=killed, **given), [1])
    self.assertAllClose(_losses(f"{killed}/log"), wanted[_STEPS + 3 :], rtol=1e-5)
    with self.assertRaisesRegex(AssertionError, f"backend '{backend}', but .* 'tens"):
      _run("tensorflow", _resume, folder=killed, **given)

  @parameterized.parameters(*_OTHERS)
  def test_callbacks(self, backend):
    self._need(backend)
    found = {}
    for name in ("tensorflow", backend):
      folder = self.create_tempdir().full_path
      given = {"path": self.progressive, "weights": self.weights, "folder": folder}
      found[name] = _run(name, _schedule, **given)
    ours, wanted = found[backend], found["tensorflow"]
    self.assertEqual(ours["fidelity"], [1, 1, 10])
    self.assertEqual(ours["samples"], [_STEPS * _BATCH] * 3)
    for key in ("gradient", "loss"):
      self.assertAllClose(ours[key], wanted[key], rtol=1e-3, atol=1e-5)

  def test_batches_have_static_shapes(self):
    images, labels = _dataset(self.path).element_spec
    self.assertEqual(images.shape, (_BATCH, 16, 16, 3))
    self.assertEqual(labels.shape, (_BATCH,))


if __name__ == "__main__":
  tf.test.main()
