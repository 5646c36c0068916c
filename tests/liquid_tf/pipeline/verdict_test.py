"""What limits a training, on cases where it is known."""

import os
import shutil
import tempfile
import time

import runs
import tensorflow as tf
from absl.testing import parameterized

import liquid_tf
from liquid_tf._pipeline import stats as stats_lib
from liquid_tf._pipeline import verdict as _verdict
from liquid_tf.cli.bench import throttle

_SLOW_BYTES_PER_SECOND = 5_000_000


def _batch(
  epoch: int, step: float, wait: float, read: float, disk: float, decode: float
) -> dict:
  seconds = {"read": read, "decode": decode, "wait": wait, "step": step, "disk": disk}
  return {"epoch": epoch, "disk_bytes": 1000, "seconds": seconds}


def _run(
  path: str,
  cache: str | int,
  sleep: float = 0,
  slow: bool = False,
) -> dict:
  """Two epochs of a consumer that sleeps at each step, and their verdict."""
  dataset = liquid_tf.dataset(path, 8, cache=cache, memory="256MiB", seed=1)
  for _ in range(2):
    if slow:
      with throttle.Throttle(path, _SLOW_BYTES_PER_SECOND):
        for _ in dataset:
          pass
    else:
      for _ in dataset:
        time.sleep(sleep)
  verdict = liquid_tf.stats(dataset).verdict()
  return {"bound": verdict.bound, "sentence": str(verdict), "figures": vars(verdict)}


class VerdictTest(parameterized.TestCase, tf.test.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    # Beside the test, since /tmp may be memory.
    cls.folder = os.environ.get("TEST_TMPDIR", os.getcwd())
    cls.root = tempfile.mkdtemp(dir=cls.folder)
    cls.addClassCleanup(shutil.rmtree, cls.root)

  def _make(self, name: str, mix: str, side: int, per_class: int) -> str:
    return runs.make(
      os.path.join(self.root, name), mix, per_class=per_class, sides=(side, side)
    )

  def test_a_slow_disk(self):
    reason = throttle.why_not()
    if reason:
      self.skipTest(reason)
    path = self._make("disk", "raw:1", 128, 50)
    try:
      with throttle.Throttle(path, _SLOW_BYTES_PER_SECOND):
        pass
    except OSError as error:
      self.skipTest(f"the disk of {self.folder} cannot be throttled: {error}")
    # A process of its own, all of whose reads are held back.
    found, _ = runs.in_new_process(_run, path=path, cache=0, slow=True)
    self.assertEqual(found["bound"], "disk-bound", found)
    self.assertIn("the disk is the limit: the training waited", found["sentence"])

  def test_a_slow_map_is_told_from_the_model(self):
    path = self._make("map", "raw:1", 32, 8)
    dataset = liquid_tf.dataset(path, 8, cache="100%", memory="256MiB", seed=1)

    def augment(image, label):
      def slow(pixels):
        time.sleep(0.03)
        return pixels

      return tf.numpy_function(slow, [image], tf.uint8), label

    mapped = dataset.map(augment).prefetch(1)
    for _ in range(2):
      for _ in mapped:
        pass
    found = liquid_tf.stats(mapped)
    self.assertEqual(found.verdict().bound, "consumer-bound")
    self.assertIn("what stands before it (map(augment))", str(found.verdict()))
    self.assertEqual(found.verdict(step_ms=2).bound, "map-bound")
    self.assertIn("is the limit (map(augment))", str(found.verdict(step_ms=2)))
    self.assertEqual(found.verdict(step_ms=30).bound, "model-bound")
    self.assertIn("the model is the limit", str(found.verdict(step_ms=30)))
    blocks = liquid_tf.interleave(
      [liquid_tf.format_dataset(path, "raw")], batch_size=8, seed=1
    )
    batches = liquid_tf.decode_and_batch(blocks)
    self.assertEqual(stats_lib._between(batches), [])
    self.assertEqual(stats_lib._between(batches.map(augment)), ["map(augment)"])
    self.assertEqual(stats_lib._between(blocks.take(1)), ["take"])
    # What stands between is told of what fit gets, and so not of the dataset itself.
    self.assertEqual(liquid_tf.stats(dataset).verdict().between, ())

  def test_slow_decoding(self):
    path = self._make("decode", "png:1", 280, 24)
    found = _run(path, "100%")
    self.assertEqual(found["bound"], "decode-bound", found)
    self.assertIn("decoding is the limit: the training waited", found["sentence"])

  def test_a_slow_consumer(self):
    path = self._make("consumer", "png:1,raw:1", 32, 60)
    found = _run(path, "100%", sleep=0.06)
    self.assertEqual(found["bound"], "consumer-bound", found)
    self.assertIn("is the limit: it waited only", found["sentence"])

  @parameterized.parameters(
    ((1.0, 0.09, 0.9, 0.9, 9.0), "consumer-bound"),
    ((1.0, 0.9, 0.6, 0.9, 0.1), "disk-bound"),
    ((1.0, 0.9, 0.4, 0.7, 1.2), "disk-bound"),
    ((1.0, 0.9, 0.4, 0.5, 1.2), "decode-bound"),
    ((1.0, 0.9, 0.05, 0.9, 1.9), "decode-bound"),
  )
  def test_figures(self, seconds, bound):
    # The first epoch, which fills the cache, does not count.
    batches = [_batch(0, 100, 50, 50, 50, 50), *[_batch(1, *seconds)] * 4]
    verdict = _verdict.judge(batches)
    self.assertEqual(verdict.bound, bound)
    self.assertEqual(verdict.batches, 4)
    self.assertAllClose(
      (
        verdict.seconds,
        verdict.consumer_waited,
        verdict.records_waited,
        verdict.disk_busy,
        verdict.decoders_busy,
        verdict.disk_bytes_per_second,
      ),
      (4, *seconds[1:], 1000),
    )
    self.assertIn(f"{seconds[1]:.0%}", str(verdict))

  def test_one_epoch_is_judged_by_itself(self):
    one = _batch(3, 1, 1, 1, 1, 0)
    self.assertEqual(_verdict.judge([one] * 4).bound, "disk-bound")
    # The first batches of the second one are too few.
    found = _verdict.judge([*[one] * 3, _batch(4, 1, 0, 0, 0, 0)])
    self.assertEqual((found.bound, found.batches), ("disk-bound", 4))

  @parameterized.parameters(1, 3)
  def test_too_few_batches_tell_nothing(self, count):
    found = _verdict.judge([_batch(0, 1, 1, 1, 1, 0)] * count, step_ms=1)
    self.assertEqual(found.bound, "unknown")
    self.assertStartsWith(str(found), "too few batches to tell")
    self.assertNotIn("is the limit", str(found))

  @parameterized.parameters(
    ((1.0, 0.9, 0.6, 0.9, 0.1), None, (), "cache= or memory="),
    ((1.0, 0.9, 0.05, 0.9, 1.9), None, (), "l3 or raw; liquid_tf.profile"),
    ((1.0, 0.05, 0.0, 0.1, 0.2), None, (), "Faster data would not help"),
    ((1.0, 0.05, 0.0, 0.1, 0.2), 900, (), "make the model's step faster"),
    ((1.0, 0.05, 0.0, 0.1, 0.2), 9, ("map(f)",), "num_parallel_calls"),
  )
  def test_it_ends_with_what_to_do_next(self, seconds, step_ms, between, advice):
    found = _verdict.judge([_batch(0, *seconds)] * 4, 1, between, step_ms)
    said = str(found)
    self.assertIn("is the limit", said)
    self.assertNotIn("consumer", said)
    self.assertIn("1 sample was read in another format", said)
    self.assertIn(advice, said[said.index("is damaged. ") :])
    # What a notebook shows of a cell's last line.
    self.assertEqual(repr(found), f"<Verdict {found.bound}: {said}>")

  def test_nothing_yet(self):
    dataset = liquid_tf.dataset(self._make("none", "raw:1", 8, 3))
    with self.assertRaisesRegex(ValueError, "no batch was delivered yet"):
      liquid_tf.stats(dataset).verdict()


if __name__ == "__main__":
  tf.test.main()
