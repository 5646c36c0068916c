"""`model.fit` draws one epoch after another, from the cache where it can."""

import contextlib
import shutil
import tempfile

import numpy as np
import runs
import tensorflow as tf
from absl.testing import parameterized

import liquid_tf
from liquid_tf._store import manifest

_BATCH = 16
_EPOCHS = 4
_OPTIONS = {"seed": 3, "cache": "30%", "features": ["id", "image", "label"]}


def _log(name: str, lines: list[list[int]]):
  """A loss on the label whose target is (label, id); it notes the ids."""

  def note(ids):
    lines.append(ids.tolist())
    return np.float32(0)

  def loss(y_true, y_pred):
    noted = tf.numpy_function(note, [y_true[:, 1]], tf.float32)
    with tf.control_dependencies([noted]):
      label = tf.identity(y_true[:, 0])
    return tf.keras.losses.sparse_categorical_crossentropy(
      label, y_pred, from_logits=True
    )

  loss.__name__ = name
  return loss


def _model(built: bool) -> tf.keras.Model:
  layers = [tf.keras.Input((96, 96, 3))] if built else []
  return tf.keras.Sequential(
    [
      *layers,
      tf.keras.layers.Rescaling(1 / 255),
      tf.keras.layers.AveragePooling2D(8),
      tf.keras.layers.Flatten(),
      tf.keras.layers.Dense(4),
    ]
  )


def _supervised(batch):
  return batch["image"], tf.stack([batch["label"], batch["id"]], axis=1)


class KerasTest(parameterized.TestCase, tf.test.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.root = tempfile.mkdtemp()
    cls.addClassCleanup(shutil.rmtree, cls.root)
    # Within a format all records have one size, so that shares of samples are shares
    # of bytes.
    cls.path = runs.make(
      cls.root, "raw:6,bmp:4", sides=(96, 96), extension="bmp", shard_size=200_000
    )
    dataset = liquid_tf.dataset(cls.path, _BATCH, **_OPTIONS)
    cls.wanted = [runs.ids(dataset) for _ in range(_EPOCHS)]

  @parameterized.product(built=(True, False), mirrored=(True, False))
  def test_four_epochs(self, built, mirrored):
    dataset = liquid_tf.dataset(self.path, _BATCH, **_OPTIONS).map(_supervised)
    lines = []
    strategy = tf.distribute.MirroredStrategy(["CPU:0"]) if mirrored else None
    with strategy.scope() if mirrored else contextlib.nullcontext():
      model = _model(built)
      model.compile("adam", _log("loss", lines), jit_compile=False)
    history = model.fit(dataset, epochs=_EPOCHS, verbose=0)
    self.assertEqual(lines, runs.flat(self.wanted))
    losses = history.history["loss"]
    self.assertLess(losses[-1], losses[0])
    self._check_stats(liquid_tf.stats(dataset), mirrored)

  def _check_stats(self, stats, mirrored):
    self.assertEqual(stats.next_epoch, _EPOCHS)
    epochs = stats.epochs
    self.assertEqual([epoch["epoch"] for epoch in epochs], list(range(_EPOCHS)))
    index = manifest.load_index(manifest.load(self.path))
    total = int(index["length"].sum())
    for epoch in epochs:
      samples, read = 100, total
      if epoch["epoch"] >= 1:
        self.assertEqual(sum(epoch["memory_hits"].values()), 30)
        read *= 0.7
      elif mirrored:
        # Keras makes an iterator to look at the data's shape, and drops it; a strategy
        # has read ahead in it.
        samples = sum(epoch["samples"].values())
        self.assertGreaterEqual(samples, 100)
        read *= samples / 100
      self.assertEqual(sum(epoch["samples"].values()), samples)
      # Every read may take one aligned block more at each of its ends.
      most = read + samples * 2 * 4096
      self.assertBetween(epoch["disk_bytes"], 0.98 * read, most)

  def test_validation_and_evaluation_do_not_disturb_the_order(self):
    dataset = liquid_tf.dataset(self.path, _BATCH, **_OPTIONS).map(_supervised)
    other = liquid_tf.dataset(self.path, _BATCH, **_OPTIONS).map(_supervised)
    lines = []
    model = _model(True)
    model.compile("adam", _log("loss", []), jit_compile=False)
    model.fit(dataset, epochs=2, validation_data=other, verbose=0)
    self.assertEqual(liquid_tf.stats(dataset).next_epoch, 2)
    self.assertEqual(liquid_tf.stats(other).next_epoch, 2)
    model.compile("adam", _log("loss", lines), jit_compile=False)
    model.fit(dataset, epochs=2, verbose=0)
    self.assertEqual(lines, runs.flat(self.wanted[2:]))

  def test_an_epoch_of_some_steps_goes_on_where_it_stopped(self):
    dataset = liquid_tf.dataset(self.path, _BATCH, **_OPTIONS).map(_supervised)
    lines = []
    model = _model(True)
    model.compile("adam", _log("loss", lines), jit_compile=False)
    model.fit(dataset.repeat(), epochs=3, steps_per_epoch=5, verbose=0)
    self.assertEqual(lines, runs.flat(self.wanted)[:15])

  def test_steps_run_together(self):
    dataset = liquid_tf.dataset(self.path, _BATCH, **_OPTIONS).map(_supervised)
    lines = []
    model = _model(True)
    model.compile("adam", _log("loss", lines), jit_compile=False, steps_per_execution=3)
    model.fit(dataset, epochs=2, verbose=0)
    self.assertEqual(lines, runs.flat(self.wanted[:2]))

  @parameterized.parameters(True, False)
  def test_distributed_datasets(self, from_function):
    strategy = tf.distribute.MirroredStrategy(["CPU:0"])

    def make(context):
      return liquid_tf.dataset(self.path, _BATCH, shard=context, **_OPTIONS)

    if from_function:
      distributed = strategy.distribute_datasets_from_function(make)
    else:
      distributed = strategy.experimental_distribute_dataset(make((0, 1)))
    for wanted in self.wanted[:3]:
      self.assertEqual(runs.ids(distributed), wanted)


if __name__ == "__main__":
  tf.test.main()
