"""Signals that end a training: the process goes, and `Resume` goes on behind it."""

import os
import shutil
import signal
import sys
import tempfile

import faults
import runs
import tensorflow as tf
from absl.testing import parameterized

import liquid_tf
from liquid_tf import transforms

_EPOCHS = 2


class _Say(tf.keras.callbacks.Callback):
  """Tells the process that watches when it is time for the signal."""

  def on_train_batch_end(self, batch, logs=None):
    if batch == 4:
      print("training", flush=True)


def _train(path: str, folder: str, handler: str = "none", forever: bool = True) -> list:
  """Trains; returns (epoch, step) that it began with, and those that it ended with."""
  if handler == "exit":
    signal.signal(signal.SIGTERM, lambda *unused: sys.exit(0))
  dataset = liquid_tf.dataset(
    path, 8, seed=3, cache="30%", transforms=[transforms.RandomCrop(16)]
  )
  model = tf.keras.Sequential(
    [tf.keras.layers.GlobalAveragePooling2D(), tf.keras.layers.Dense(1)]
  )
  model.compile("sgd", "mse")
  resume = liquid_tf.keras.Resume(dataset, folder, save_freq=2)
  began = []

  class Note(tf.keras.callbacks.Callback):
    def on_train_begin(self, logs=None):
      began.extend([resume.epoch, resume.step])

  callbacks = [resume, Note(), _Say()]
  # It need not end: a signal comes in the first epoch.
  epochs = 10_000 if forever else _EPOCHS
  model.fit(dataset, epochs=epochs, callbacks=callbacks, verbose=0)
  return [began, [resume.epoch, resume.step]]


class SignalsTest(parameterized.TestCase, tf.test.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.root = tempfile.mkdtemp()
    cls.addClassCleanup(shutil.rmtree, cls.root)
    cls.path = runs.make(cls.root, "png:1,raw:1")

  @parameterized.named_parameters(
    ("interrupt", signal.SIGINT, "none", -signal.SIGINT),
    ("terminate", signal.SIGTERM, "none", -signal.SIGTERM),
    ("terminate_with_a_handler", signal.SIGTERM, "exit", 0),
  )
  def test_a_signal_ends_a_training(self, number, handler, exit_code):
    folder = os.path.join(self.create_tempdir().full_path, "saved")
    ended = faults.run(
      _train,
      path=self.path,
      folder=folder,
      handler=handler,
      send=number,
      after="training",
      preload=False,
    )
    self.assertEqual(ended.exit_code, exit_code, ended.stderr)
    self.assertLess(ended.seconds, 30)
    again = faults.run(
      _train, path=self.path, folder=folder, preload=False, forever=False
    )
    begin, end = again.value
    self.assertGreaterEqual(begin, [0, 4])
    self.assertEqual(end, [max(_EPOCHS, begin[0]), 0])


if __name__ == "__main__":
  tf.test.main()
