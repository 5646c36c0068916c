"""`fit` of datasets that end on TensorFlow's GPU, with the host in the place of it.

With LIQUID_TEST_GPU=1, on this machine's GPU.
"""

import os

import fake_gpu
import numpy as np
import runs
import tensorflow as tf

import liquid_tf

if os.environ.get("LIQUID_TEST_GPU") != "1":
  fake_gpu.install(2)


class _KilledError(Exception):
  """Stands for a kill."""


class _NotingModel(tf.keras.Model):
  """Trains nothing, and keeps the samples of each batch in a list."""

  def __init__(self, kill_after=None):
    super().__init__()
    self.compile(optimizer="sgd", jit_compile=False)
    self.built = True
    self.seen = []
    self._kill_after = kill_after

  def train_step(self, data):
    noted = tf.numpy_function(self._note, [data["id"], data["image"]], tf.float32)
    return {"loss": tf.ensure_shape(noted, [])}

  def _note(self, ids, images):
    self.seen.append(ids.tolist())
    return np.float32(images.mean())

  def kill(self, batch, logs):
    if len(self.seen) == self._kill_after:
      raise _KilledError


class TfFitTest(tf.test.TestCase):
  def _batches_for_fit(self):
    """A dataset of ten batches by its other options, and the ids of three epochs."""
    path = runs.make(
      self.create_tempdir().full_path, "l3:3,raw:1", sides=(40, 40), per_class=10
    )
    options = {"seed": 3, "features": ["id", "image"], "cache": "50%"}

    def make(**more):
      return liquid_tf.dataset(path, 4, **options | more)

    on_cpu = make()
    return make, [runs.ids(on_cpu) for _ in range(3)]

  def _fit(self, dataset, kill_after=None, epochs=3, callbacks=()):
    model = _NotingModel(kill_after)
    killer = tf.keras.callbacks.LambdaCallback(on_train_batch_end=model.kill)
    try:
      model.fit(dataset, epochs=epochs, verbose=0, callbacks=[*callbacks, killer])
    except _KilledError:
      self.assertLen(model.seen, kill_after)
    return model.seen

  def test_it_knows_how_many_batches_it_has(self):
    make, ids = self._batches_for_fit()
    dataset = make(decode="gpu")
    self.assertLen(dataset, len(ids[0]))
    self.assertLen(dataset.prefetch(2), len(ids[0]))
    self.assertLen(dataset.with_options(tf.data.Options()), len(ids[0]))
    self.assertLen(make(decode="gpu", last_batch="drop", shard=(1, 3)), 3)
    self.assertEqual(runs.ids(dataset.prefetch(2)), ids[0])

  def test_fit_goes_on_after_a_kill_with_whole_epochs(self):
    make, ids = self._batches_for_fit()
    folder = self.create_tempdir().full_path
    whole = runs.flat(ids)
    for begin, kill_after in ((0, 14), (14, None)):
      dataset = make(decode="gpu")
      resume = liquid_tf.keras.Resume(dataset, folder, save_freq=2)
      seen = self._fit(dataset, kill_after, callbacks=[resume])
      self.assertEqual(seen, whole[begin:][:kill_after])

  def test_fit_from_a_step_goes_on_with_whole_epochs(self):
    make, ids = self._batches_for_fit()
    dataset = make(decode="gpu", start=(1, 4))
    self.assertEqual(self._fit(dataset, epochs=2), runs.flat(ids)[14:])

  def test_each_replica_has_the_dataset_of_its_gpu(self):
    if len(tf.config.list_logical_devices("GPU")) < 2:
      self.skipTest("there is one GPU")
    make, _ = self._batches_for_fit()
    strategy = tf.distribute.MirroredStrategy(
      ["GPU:0", "GPU:1"], tf.distribute.ReductionToOneDevice()
    )
    made = []

    def batches(context):
      number = context.input_pipeline_id
      cache = liquid_tf.Cache("100%", gpu="4MB")
      made.append(make(decode=f"gpu:{number}", shard=context, cache=cache))
      return made[-1]

    each = tf.distribute.InputReplicationMode.PER_REPLICA
    options = tf.distribute.InputOptions(
      experimental_fetch_to_device=False, experimental_replication_mode=each
    )
    train = strategy.distribute_datasets_from_function(batches, options)
    on_cpu = [make(shard=(i, 2), cache="100%") for i in range(2)]
    for _ in range(3):
      for batch, *wanted in zip(train, *on_cpu, strict=True):
        for name in ("id", "image"):
          found = strategy.experimental_local_results(batch[name])
          for number in range(2):
            self.assertAllEqual(found[number], wanted[number][name])
        for number, image in enumerate(found):
          self.assertEndsWith(image.device, f"GPU:{number}")
    for dataset in made:
      summary = liquid_tf.stats(dataset).summary()
      self.assertEqual(summary["gpu_hits"], summary["samples"] * 2 // 3)


if __name__ == "__main__":
  tf.test.main()
