"""What `Resume` gives after a kill: the pairs of a zip, and weights that were lent."""

import json
import os
import pathlib
import shutil
import signal
import tempfile

import kills
import numpy as np
import runs
import tensorflow as tf
from absl.testing import parameterized

import liquid_tf

_EPOCHS = 3
_KILLED = -signal.SIGKILL


class _Noting(tf.keras.Sequential):
  """Writes which samples a batch has to a file."""

  log_path = ""

  def compute_loss(self, x, y, y_pred, *arguments, **named):
    with open(self.log_path, "a") as file:
      file.write(json.dumps(y.numpy().tolist()) + "\n")
    target = tf.cast(y[:, :1], tf.float32) / 100
    return super().compute_loss(x, target, y_pred, *arguments, **named)


class _KillAt(tf.keras.callbacks.Callback):
  """Kills the process at the n-th call of a hook."""

  def __init__(self, hook: str, count: int):
    super().__init__()
    self._left = count
    setattr(self, hook, self._call)

  def _call(self, *_, **__):
    self._left -= 1
    if self._left == 0:
      os.kill(os.getpid(), signal.SIGKILL)


class _Halve(tf.keras.callbacks.Callback):
  """Halves the learning rate when an epoch ends."""

  def on_epoch_end(self, epoch, logs=None):
    rate = self.model.optimizer.learning_rate
    rate.assign(rate / 2)


@tf.autograph.experimental.do_not_convert
def _xy(*batches):
  """(input, numbers) of a batch, or of several that were zipped: a column each."""
  ids = tf.stack(tf.nest.flatten(batches), axis=1)  # Names of dicts are alike.
  return tf.cast(ids, tf.float32) / 100, ids


def _model(folder: str, columns: int, optimizer) -> tf.keras.Model:
  tf.keras.utils.set_random_seed(1)
  model = _Noting([tf.keras.Input((columns,)), tf.keras.layers.Dense(1)])
  model.log_path = os.path.join(folder, "log")
  model.compile(optimizer, "mse", run_eagerly=True)
  return model


def _log(folder: str) -> list:
  path = pathlib.Path(folder, "log")
  lines = [json.loads(line) for line in path.read_text().splitlines()]
  path.unlink()
  return lines


def _ema() -> tf.keras.optimizers.Optimizer:
  return tf.keras.optimizers.SGD(0.5, use_ema=True, ema_momentum=0.9)


class ResumeKillTest(parameterized.TestCase):
  """No test runs TensorFlow itself, so that it can fork what does."""

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.root = tempfile.mkdtemp()
    cls.addClassCleanup(shutil.rmtree, cls.root)
    cls.path = os.path.join(cls.root, "dataset")
    if kills.status(lambda: runs.make(cls.root, "png:6,raw:4", per_class=10)) != 0:
      raise AssertionError("no dataset")

  def _zip(self, kind: str) -> tf.data.Dataset:
    def one(seed: int, size: int = 8, **options) -> tf.data.Dataset:
      return liquid_tf.dataset(
        self.path, size, seed=seed, features=["id"], memory="64MiB", **options
      )

    first = one(1, cache="30%").map(lambda batch: batch["id"]).prefetch(2)
    second, third = one(2, cache=0), one(3, cache="60%").prefetch(1)
    if kind == "nested":
      both = tf.data.Dataset.zip({"a": second, "b": third})
      return tf.data.Dataset.zip((first, both)).map(_xy).prefetch(3)
    # Of 5 and 4 batches.
    shorter = one(4, last_batch="drop", cache="30%", split="train[:90%]")
    both = (first.repeat(), shorter.repeat())
    return tf.data.Dataset.zip(both).map(_xy).prefetch(3)

  @parameterized.parameters(("nested", None, 3), ("endless", 7, 2))
  def test_all_pairs_are_right_after_two_kills(self, kind, steps, columns):
    def fit(folder: str, *callbacks) -> None:
      dataset = self._zip(kind)
      model = _model(folder, columns, "adam")
      resume = liquid_tf.keras.Resume(dataset, f"{folder}/run", save_freq=2)
      callbacks = [resume, *callbacks]
      model.fit(
        dataset, epochs=_EPOCHS, steps_per_epoch=steps, verbose=0, callbacks=callbacks
      )
      np.savez(f"{folder}/weights", *model.get_weights())

    whole, killed = (tempfile.mkdtemp(dir=self.root) for _ in range(2))
    self.assertEqual(kills.status(lambda: fit(whole)), 0)
    wanted = _log(whole)
    self.assertLen(wanted, _EPOCHS * (steps or 5))
    self.assertLen({str(batch) for batch in wanted}, len(wanted))
    begin = 0
    for kill_after in (8, 3):  # batches of its own
      status = kills.status(
        lambda count=kill_after: fit(killed, _KillAt("on_train_batch_end", count))
      )
      self.assertEqual(os.waitstatus_to_exitcode(status), _KILLED)
      self.assertEqual(_log(killed), wanted[begin : begin + kill_after])
      # The second batch since an epoch began, or since the run went on.
      epoch = (begin + kill_after) // (steps or 5) * (steps or 5)
      saved = max(begin, epoch)
      begin = saved + (begin + kill_after - saved) // 2 * 2
    self.assertEqual(kills.status(lambda: fit(killed)), 0)
    self.assertEqual(_log(killed), wanted[begin:])
    self._assert_same_weights(whole, killed)

  def _assert_same_weights(self, *folders: str, exactly: bool = True) -> None:
    found = [np.load(f"{folder}/weights.npz") for folder in folders]
    for one, other in zip(found[0].values(), found[1].values()):
      if exactly:
        np.testing.assert_array_equal(one, other)
      else:
        np.testing.assert_allclose(one, other, rtol=1e-5)

  @parameterized.product(
    resume_is_first=(True, False),
    # Keras exchanges weights and averages by sums, which rounds them.
    kill=(("on_epoch_end", 1, False), ("on_train_batch_end", 6, True)),
  )
  def test_weights_that_are_lent_at_the_end_of_an_epoch(self, resume_is_first, kill):
    hook, count, exactly = kill

    def fit(folder: str, *callbacks) -> None:
      dataset = liquid_tf.dataset(self.path, 8, seed=1, features=["id"], cache="30%")
      dataset = dataset.map(lambda batch: batch["id"]).map(_xy)
      model = _model(folder, 1, _ema())
      resume = liquid_tf.keras.Resume(dataset, f"{folder}/run", save_freq=99)
      own = [resume, tf.keras.callbacks.SwapEMAWeights(swap_on_epoch=True)]
      if hook == "on_train_batch_end":
        # When the next epoch runs, what others have changed for good is saved, too.
        own.append(_Halve())
      callbacks = [*(own if resume_is_first else own[::-1]), *callbacks]
      model.fit(dataset, epochs=2, verbose=0, callbacks=callbacks)
      np.savez(f"{folder}/weights", *model.get_weights())

    whole, killed = (tempfile.mkdtemp(dir=self.root) for _ in range(2))
    self.assertEqual(kills.status(lambda: fit(whole)), 0)
    status = kills.status(lambda: fit(killed, _KillAt(hook, count)))
    self.assertEqual(os.waitstatus_to_exitcode(status), _KILLED)
    self.assertEqual(kills.status(lambda: fit(killed)), 0)
    self._assert_same_weights(whole, killed, exactly=exactly)


if __name__ == "__main__":
  tf.test.main()
