"""TensorFlow's profiler shows the stages of a pipeline by name."""

import pathlib

import runs
import tensorflow as tf

import liquid_tf

# Ours, and those that tf.data gives its iterators.
_NAMES = (
  "Liquid Plan",
  "Liquid Interleave",
  "Liquid Records wait",
  "Liquid Read wait",
  "Liquid Decode",
  "Liquid Batch wait",
  "LiquidFormat",
  "LiquidInterleave",
  "LiquidDecodeBatch",
)


class ProfilerTest(tf.test.TestCase):
  def test_names(self):
    path = runs.make(self.create_tempdir().full_path, "png:1,raw:1", per_class=8)
    dataset = liquid_tf.dataset(path, 8)
    logs = self.create_tempdir().full_path
    with tf.profiler.experimental.Profile(logs):
      for _ in dataset:
        pass
    (trace,) = pathlib.Path(logs).rglob("*.xplane.pb")
    found = trace.read_bytes()
    for name in _NAMES:
      self.assertIn(name.encode(), found)


if __name__ == "__main__":
  tf.test.main()
