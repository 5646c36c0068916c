"""tf.data's autotuner sees the decoding, and sets its threads and look-ahead."""

import tempfile
import time

import runs
import tensorflow as tf

import liquid_tf

# More than the 16 that decode before the autotuner has measured.
_THREADS = 24


class AutotuneTest(tf.test.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    folder = tempfile.TemporaryDirectory()
    cls.addClassCleanup(folder.cleanup)
    cls.path = runs.make(folder.name, "png:1", sides=(64, 64), per_class=50)

  def _decoding(self, *, autotune: bool, **arguments):
    """What `stats` says of the decoding of each of two epochs' last batches."""
    dataset = liquid_tf.dataset(self.path, batch_size=2, cache="100%", **arguments)
    options = tf.data.Options()
    options.threading.private_threadpool_size = _THREADS
    options.autotune.enabled = autotune
    tuned = dataset.with_options(options)
    for _ in range(2):
      for _ in tuned:
        time.sleep(0.005)  # The autotuner looks every few milliseconds, then less.
    found = [epoch["decoding"] for epoch in liquid_tf.stats(dataset).epochs]
    self.assertLen(found, 2)
    return found

  def test_without_it_numbers_stay_as_they_begin(self):
    for decoding in self._decoding(autotune=False):
      self.assertEqual(decoding, {"parallelism": 16, "lookahead": 2})

  def test_given_numbers_stay(self):
    for decoding in self._decoding(
      autotune=True, tuning=liquid_tf.graph.Tuning(parallelism=3, lookahead=5)
    ):
      self.assertEqual(decoding, {"parallelism": 3, "lookahead": 5})

  def test_it_sets_them(self):
    for decoding in self._decoding(autotune=True):
      self.assertNotEqual(decoding["parallelism"], 16)
      self.assertBetween(decoding["parallelism"], 1, _THREADS)
      self.assertBetween(decoding["lookahead"], 2, 16)

  def test_the_look_ahead_stays_within_the_memory(self):
    batch = 2 * 64 * 64 * 3
    # An eighth of the memory has room for one batch and a half.
    for decoding in self._decoding(autotune=True, memory=12 * batch):
      self.assertEqual(decoding["lookahead"], 1)

  def test_the_model_has_both_as_tunable_parameters(self):
    if not hasattr(tf.data.experimental, "get_model_proto"):
      self.skipTest("this TensorFlow does not show its model")
    dataset = liquid_tf.dataset(self.path, batch_size=2)
    iterator = iter(dataset)
    for _ in range(20):
      next(iterator)
    nodes = tf.data.experimental.get_model_proto(iterator).nodes.values()
    (node,) = [node for node in nodes if node.name == "LiquidDecodeBatch"]
    parameters = {parameter.name: parameter for parameter in node.parameters}
    self.assertCountEqual(parameters, ["parallelism", "buffer_size"])
    for parameter in parameters.values():
      self.assertTrue(parameter.tunable)
    self.assertEqual(parameters["buffer_size"].max, 16)
    self.assertGreater(node.processing_time, 0)
    self.assertBetween(node.buffered_elements, 0, 16)


if __name__ == "__main__":
  tf.test.main()
