"""The callback that writes a dataset's counters as TensorBoard's scalars."""

import os
import pathlib
import shutil
import tempfile

import damaged
import runs
import tensorflow as tf
from absl.testing import parameterized
from tensorflow.core.util import event_pb2

import liquid_tf

_BATCH = 8
_IMAGES = 40
_STEPS = _IMAGES // _BATCH


def _model() -> tf.keras.Model:
  model = tf.keras.Sequential(
    [tf.keras.Input((24, 24, 3)), tf.keras.layers.Flatten(), tf.keras.layers.Dense(4)]
  )
  model.compile("sgd", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
  return model


def _values(folder: str) -> dict[str, dict[int, float | str]]:
  """What the event files of a folder say: by tag and step."""
  found = {}
  files = [os.fspath(path) for path in pathlib.Path(folder).glob("*")]
  for record in tf.data.TFRecordDataset(files).as_numpy_iterator():
    event = event_pb2.Event.FromString(record)
    for value in event.summary.value:
      array = tf.make_ndarray(value.tensor)
      point = array.item()
      text = point.decode() if isinstance(point, bytes) else point
      found.setdefault(value.tag, {})[event.step] = text
  return found


class TensorBoardStatsTest(parameterized.TestCase, tf.test.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.root = tempfile.mkdtemp()
    cls.addClassCleanup(shutil.rmtree, cls.root)
    cls.path = runs.make(cls.root, "png:3,raw:2", per_class=_IMAGES // 4)

  def _fit(self, **options) -> tuple[dict, list[dict]]:
    dataset = liquid_tf.dataset(self.path, _BATCH, cache="50%")
    logs = self.create_tempdir().full_path
    callback = liquid_tf.keras.TensorBoardStats(dataset, logs, **options)
    _model().fit(dataset.map(lambda *b: b), epochs=3, verbose=0, callbacks=[callback])
    return _values(f"{logs}/liquid"), liquid_tf.stats(dataset).epochs

  def test_epochs(self):
    values, epochs = self._fit()
    self.assertLen(epochs, 3)
    for number, epoch in enumerate(epochs):
      for key in ("samples", "hits", "loads", "memory_hits"):
        wanted = sum(epoch[key].values())
        self.assertEqual(values[f"liquid_epoch/{key}"][number], wanted, key)
      self.assertEqual(values["liquid_epoch/disk_bytes"][number], epoch["disk_bytes"])
      self.assertEqual(values["liquid_epoch/batches"][number], _STEPS)
      for name in ("png", "raw"):
        for key in ("samples", "bytes"):
          found = values[f"liquid_epoch/{key}/{name}"][number]
          self.assertEqual(found, epoch[key][name])
      for key in ("consumer_waited", "records_waited"):
        seconds = epoch["seconds"]["wait" if key == "consumer_waited" else "read"]
        found = values[f"liquid_epoch/{key}"][number]
        self.assertAllClose(found, seconds / epoch["seconds"]["step"], rtol=1e-3)
      self.assertIn("is the limit", values["liquid_epoch/verdict"][number])
    self.assertEqual(epochs[1]["hits"], {"png": 12, "raw": 8})
    self.assertFalse([tag for tag in values if tag.startswith("liquid_steps")])

  def test_steps(self):
    values, _ = self._fit(update_freq=4)
    steps = list(range(4, 3 * _STEPS + 1, 4))
    self.assertEqual(list(values["liquid_steps/samples"]), steps)
    # tf.data may have taken some batches ahead of the steps.
    samples = sum(values["liquid_steps/samples"].values())
    self.assertBetween(samples, steps[-1] * _BATCH, 3 * _IMAGES)
    self.assertEqual(list(values["liquid_epoch/samples"]), [0, 1, 2])

  def test_every_step_that_had_a_delivery_has_its_shares_of_time(self):
    values, _ = self._fit(update_freq=1)
    batches = values["liquid_steps/batches"]
    self.assertEqual(list(batches), list(range(1, 3 * _STEPS + 1)))
    delivered = [step for step, count in batches.items() if count > 0]
    self.assertEqual(list(values["liquid_steps/consumer_waited"]), delivered)

  def test_steps_go_on_after_a_kill(self):
    class KillError(Exception):
      pass

    class Kill(tf.keras.callbacks.Callback):
      def on_train_batch_end(self, batch, logs=None):
        if int(self.model.optimizer.iterations) == _STEPS + 3:
          raise KillError

    folder = self.create_tempdir().full_path
    dataset = liquid_tf.dataset(self.path, _BATCH, cache="50%")

    def fit(logs: str, *kill) -> list[int]:
      stats = liquid_tf.keras.TensorBoardStats(
        dataset, f"{folder}/{logs}", update_freq=2
      )
      # In either order, since a callback may be told of the start before Resume is.
      callbacks = [stats, liquid_tf.keras.Resume(dataset, f"{folder}/run", 1), *kill]
      try:
        _model().fit(dataset, epochs=2, verbose=0, callbacks=callbacks)
      except KillError:
        stats.on_train_end()
      return list(_values(f"{folder}/{logs}/liquid")["liquid_steps/batches"])

    self.assertEqual(fit("killed", Kill()), [2, 4, 6, 8])
    self.assertEqual(fit("resumed"), [10])

  def test_steps_of_several_batches_in_an_execution(self):
    dataset = liquid_tf.dataset(self.path, _BATCH, cache="50%")
    logs = self.create_tempdir().full_path
    callback = liquid_tf.keras.TensorBoardStats(dataset, logs, update_freq=3)
    model = _model()
    model.compile("sgd", model.loss, steps_per_execution=2)
    model.fit(dataset.take(4), epochs=2, verbose=0, callbacks=[callback])
    self.assertEqual(list(_values(f"{logs}/liquid")["liquid_steps/batches"]), [4, 6])

  def test_what_was_left_out_is_counted(self):
    root = self.create_tempdir().full_path
    path = runs.make(root, "png:3,raw:2", per_class=_IMAGES // 4)
    damaged.flip(path, damaged.samples(path, "png")[3])
    dataset = liquid_tf.dataset(path, _BATCH, on_error="skip")
    callback = liquid_tf.keras.TensorBoardStats(dataset, root)
    _model().fit(dataset, epochs=2, verbose=0, callbacks=[callback])
    found = _values(f"{root}/liquid")["liquid_epoch/skipped"]
    self.assertEqual(found, {0: 1, 1: 1})

  @parameterized.parameters(0, "batch", 1.5)
  def test_wrong_update_freq(self, update_freq):
    dataset = liquid_tf.dataset(self.path)
    with self.assertRaisesRegex(ValueError, "update_freq .* must be"):
      liquid_tf.keras.TensorBoardStats(dataset, update_freq=update_freq)

  def test_another_dataset(self):
    with self.assertRaisesRegex(ValueError, "must come from liquid_tf.dataset"):
      liquid_tf.keras.TensorBoardStats(tf.data.Dataset.range(3))


if __name__ == "__main__":
  tf.test.main()
