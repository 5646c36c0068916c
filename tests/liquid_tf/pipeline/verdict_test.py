"""What limits a training, on cases where it is known."""

import os
import shutil
import tempfile
import time

import runs
import tensorflow as tf
from absl.testing import parameterized

import liquid_tf
from liquid_tf._graph import stats as stats_lib
from liquid_tf._measure import throttle
from liquid_tf._pipeline import verdict as _verdict

_SLOW_BYTES_PER_SECOND = 5_000_000


def _epoch(
  number: int,
  shares: tuple[float, float, float, float],
  *,
  batches: int = 4,
  seconds: float = 4.0,
  read: int = 10**8,
  decoded: dict[str, float] | None = None,
) -> dict:
  """An epoch as `stats` counts it.

  Args:
    number: of the epoch.
    shares: of its time, in which the consumer and the interleave waited and reads were
      under way; and the threads that decoded.
    batches: that it delivered.
    seconds: that it took.
    read: bytes from the disk.
    decoded: seconds of decoding by format.
  """
  wait, records, disk, decoding = (share * seconds for share in shares)
  decoded = {"png": decoding} if decoded is None else decoded
  return {
    "epoch": number,
    "batches": batches,
    "disk_bytes": read,
    "tier": {"records": 0, "bytes": 0},
    "fill": {"bytes": 0, "seconds": 0.0},
    "seconds": {
      "read": records,
      "decode": decoding,
      "wait": wait,
      "step": seconds,
      "disk": disk,
    },
    "decodes": dict.fromkeys(decoded, 7),
    "decode_seconds": decoded,
  }


def _subject(**other) -> _verdict.Subject:
  """A set of 3 GB, of which memory holds nothing and has room for 2 GB."""
  given = {
    "held": 0.0,
    "form": "encoded",
    "whole_bytes": 3 * 10**9,
    "pixel_bytes": 9 * 10**9,
    "room": 2 * 10**9,
  }
  return _verdict.Subject(**given | other)


_DISK = (0.9, 0.6, 0.9, 0.1)
_DECODE = (0.9, 0.05, 0.3, 1.9)
_TRAINING = (0.05, 0.0, 0.1, 0.2)


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
    blocks = liquid_tf.graph.interleave(
      [liquid_tf.graph.format_dataset(path, "raw")], batch_size=8, seed=1
    )
    batches = liquid_tf.graph.decode_and_batch(blocks)
    self.assertEqual(stats_lib._between(batches), _verdict.Between())
    self.assertEqual(
      stats_lib._between(batches.prefetch(1).map(augment)),
      _verdict.Between(("map(augment)",)),
    )
    several = batches.map(augment, num_parallel_calls=2).take(1).prefetch(1)
    self.assertEqual(
      stats_lib._between(several),
      _verdict.Between(("parallel map(augment)", "take"), ahead=True),
    )
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
    ((0.09, 0.9, 0.9, 9.0), "consumer-bound"),
    ((0.9, 0.6, 0.9, 0.1), "disk-bound"),
    ((0.9, 0.4, 0.7, 1.2), "disk-bound"),
    ((0.9, 0.4, 0.5, 1.2), "decode-bound"),
    ((0.9, 0.05, 0.9, 1.9), "decode-bound"),
  )
  def test_figures(self, shares, bound):
    # The first epoch, which fills the cache, does not count.
    epochs = [_epoch(0, (0.5,) * 4, batches=9), _epoch(1, shares, read=4000)]
    verdict = _verdict.judge(epochs, _subject())
    self.assertEqual(verdict.bound, bound)
    self.assertEqual((verdict.batches, verdict.first_epoch), (4, False))
    self.assertAllClose(
      (
        verdict.seconds,
        verdict.consumer_waited,
        verdict.records_waited,
        verdict.disk_busy,
        verdict.decoders_busy,
        verdict.disk_bytes_per_second,
      ),
      (4, *shares, 1000),
    )
    self.assertIn(f"{shares[0]:.0%}", str(verdict))
    self.assertIn("at 1.0 KB/s in all", str(verdict))

  def test_one_epoch_is_judged_by_itself(self):
    one = _epoch(3, (1, 1, 1, 0))
    found = _verdict.judge([one], _subject())
    self.assertEqual((found.bound, found.first_epoch), ("disk-bound", True))
    self.assertStartsWith(str(found), "the disk is the limit of the first epoch: ")
    # The first batches of the second one are too few.
    found = _verdict.judge([one, _epoch(4, (0,) * 4, batches=3, seconds=1)], _subject())
    self.assertEqual((found.bound, found.batches), ("disk-bound", 7))

  @parameterized.parameters(1, 3)
  def test_too_few_batches_tell_nothing(self, count):
    few = _epoch(0, (1, 1, 1, 0), batches=count)
    found = _verdict.judge([few], _subject(held=1), step_ms=1)
    self.assertEqual(found.bound, "unknown")
    self.assertStartsWith(str(found), "too few batches to tell")
    self.assertIn("better after the second epoch", str(found))
    self.assertNotIn("is the limit", str(found))
    found = _verdict.judge([few, few | {"batches": 0}], _subject())
    self.assertEqual(found.bound, "unknown")
    # The second epoch is there.
    one = few | {"batches": 1}
    self.assertNotIn("second", str(_verdict.judge([one, one], _subject())))

  def test_no_time_tells_nothing(self):
    found = _verdict.judge([_epoch(0, _DISK, seconds=0.0)], _subject(), step_ms=5)
    self.assertEqual((found.bound, found.disk_bytes_per_second), ("unknown", 0))

  @parameterized.named_parameters(
    ("first", _DISK, {"held": 1}, {}, ["memory, which has all", "after the second"]),
    ("a_part", _DISK, {"held": 0.3}, {}, ["memory, which has 30%"]),
    ("decoding", _DECODE, {"held": 1}, {}, ["after the second"]),
    # A millionth is not worth a word.
    ("hardly", _DISK, {"held": 1e-6}, {"png": 1.0}, ["less png"]),
  )
  def test_the_first_epoch_of_a_cache_is_no_measure(self, shares, has, decoded, said):
    found = _verdict.judge([_epoch(0, shares, decoded=decoded)], _subject(**has))
    self.assertTrue(found.first_epoch)
    self.assertIn(" is the limit of the first epoch: ", found.sentence)
    for words in said:
      self.assertIn(words, found.advice)

  @parameterized.named_parameters(
    ("room_for_all", {"room": 4 * 10**9}, ["png"], "takes 3.0 GB of the 4.0 GB"),
    ("all_there", {"held": 1.0}, ["raw"], "a fidelity or a mix that changes"),
    ("remote", {"remote": True, "may_add_disk": True}, ["raw"], "disk=FOLDER"),
    ("remote_tier", {"remote": True}, ["raw", "png"], "with less raw"),
    ("raw", {}, ["raw"], "with less raw, the largest"),
    ("l3", {"held": 0.2}, ["jpeg", "l3"], "with less l3, the largest"),
    ("jpeg", {"held": 0.2}, ["jpeg"], "room for 2.0 GB of 3.0 GB"),
    ("pcr", {"pixel_bytes": None}, ["pcr"], "or store smaller images"),
    ("replicas", {"replicas": ("raw", "png")}, ["raw"], 'mix="auto" finds'),
    ("larger_one", {"replicas": ("raw", "l3")}, ["l3"], "liquid_tf.profile finds it"),
    ("moves", {"replicas": ("raw", "png"), "moves": True}, ["raw"], "more memory"),
    ("stored_bytes", {}, [], "more memory"),
  )
  def test_what_to_do_about_the_disk(self, has, formats, advice):
    later = _epoch(1, _DISK, decoded=dict.fromkeys(formats, 0.1))
    found = _verdict.judge([_epoch(0, _DISK), later], _subject(**has))
    where = "the network" if has.get("remote") else "the disk"
    self.assertStartsWith(str(found), f"{where} is the limit: the training waited 90%")
    self.assertIn("reads were under way 90% of the time, at 25.0 MB/s", str(found))
    self.assertIn(advice, found.advice)

  @parameterized.named_parameters(
    ("l3", {"held": 1}, {"l3": 1.0}, "let transforms= do less", ["l3", "profile"]),
    ("raw", {"held": 1}, {"raw": 1.0}, "let transforms= do less", ["decoding", "raw"]),
    ("kept", {"held": 1, "form": "pixels"}, {}, "transforms= do less", ["decoding"]),
    ("fits", {"pixel_bytes": 10**9}, {"jpeg": 1.0}, "take 1.0 GB of the 2.0", []),
    ("too_large", {}, {"png": 3.0, "l3": 1.0}, "png takes 75% of the time", ["Cache("]),
    ("pixels", {"form": "pixels", "held": 0.3}, {"png": 1.0}, "png takes", ["Cache("]),
    ("pcr", {"pixel_bytes": None}, {"pcr@2": 1.0}, "pcr takes 100%", ["Cache("]),
    ("mixture", {}, {"a/webp": 1.0, "b/raw": 1.0}, "webp takes 50%", []),
    ("replicas", {"replicas": ("png", "l3")}, {"png": 1.0}, "has l3, which", []),
    ("others", {"replicas": ("png", "jpeg")}, {"png": 1.0}, "profile finds", []),
    ("moves", {"replicas": ("png", "l3"), "moves": True}, {"png": 1.0}, "chosen", []),
  )
  def test_what_to_do_about_decoding(self, has, decoded, advice, never):
    epochs = [_epoch(n, _DECODE, read=0, decoded=decoded) for n in range(2)]
    found = _verdict.judge(epochs, _subject(**has))
    self.assertEqual(found.bound, "decode-bound")
    self.assertIn(advice, found.advice)
    for words in never:
      self.assertNotIn(words, str(found).replace("transforms= do less", ""))

  def test_nothing_that_was_read_has_no_rate(self):
    shares = (0.8, 0.0, 0.0, 1.9)
    found = _verdict.judge([_epoch(n, shares, read=0) for n in range(2)], _subject())
    self.assertIn("; nothing was read. ", str(found))
    self.assertNotIn("B/s", str(found))
    # What an epoch read ahead of its first batches, and what the cache's disk gave.
    begun = _epoch(0, _DISK, read=0) | {"fill": {"bytes": 8 * 10**6, "seconds": 1.0}}
    self.assertIn(", at 2.0 MB/s", str(_verdict.judge([begun], _subject())))
    local = _epoch(0, _DISK, read=0) | {"tier": {"records": 1, "bytes": 4000}}
    found = _verdict.judge([local], _subject())
    self.assertIn(", at 1.0 KB/s", str(found))
    self.assertEqual(found.disk_bytes_per_second, 0)

  def test_decoders_that_rest_are_not_the_limit(self):
    epochs = [_epoch(n, (0.6, 0.0, 0.0, 0.1), read=0) for n in range(2)]
    found = _verdict.judge(epochs, _subject(held=1))
    self.assertStartsWith(str(found), "passing batches on, not reading or decoding")
    self.assertIn("take larger ones", found.advice)

  @parameterized.named_parameters(
    ("loop", (), False, None, "make the training's own step faster"),
    ("map", ("map(f)",), False, None, "Tell them apart"),
    ("model", ("map(f)",), False, 900, "make the model's step faster"),
    ("serial", ("map(f)",), False, 9, "parallel (num_parallel_calls"),
    ("ahead", ("map(f)",), True, 9, "AUTOTUNE), or leave the work of map"),
    ("parallel", ("parallel map(f)",), False, 9, "Add prefetch(tf.data.AUTOTUNE)"),
    ("both", ("parallel map(f)",), True, 9, "Leave the work of map to transforms="),
    ("other", ("take",), True, 9, "Shorten these steps"),
    ("none", (), False, 9, "Shorten what the loop does"),
  )
  def test_what_to_do_about_the_training(self, steps, ahead, step_ms, advice):
    found = _verdict.judge(
      [_epoch(0, _TRAINING)],
      _subject(held=1),
      fallbacks=1,
      between=_verdict.Between(steps, ahead),
      step_ms=step_ms,
    )
    said = str(found)
    self.assertIn("is the limit", said)
    self.assertNotIn("consumer", said)
    self.assertIn("1 sample was read in another format", said)
    self.assertIn(advice, said[said.index("is damaged. ") :])
    # What a notebook shows of a cell's last line.
    self.assertEqual(repr(found), f"<Verdict {found.bound}: {said}>")

  def test_a_step_that_takes_longer_than_a_batch_is_no_part_of_it(self):
    found = _verdict.judge([_epoch(0, _TRAINING)], _subject(), step_ms=1500)
    self.assertIn("a batch came every 1000.0 ms, and by step_ms", str(found))
    self.assertNotIn("of 1000.0 ms", str(found))
    for wrong in (0, -1, float("nan"), float("inf"), True, "5"):
      with self.assertRaisesRegex(ValueError, r"step_ms \(.*\) must be milliseconds"):
        _verdict.judge([_epoch(0, _TRAINING)], _subject(), step_ms=wrong)

  @parameterized.parameters("l3:1", "raw:1", "png:1,raw:1")
  def test_a_set_that_memory_holds(self, mix):
    path = self._make(mix.replace(":", ""), mix, 48, 40)
    dataset = liquid_tf.dataset(path, 8, memory="256MiB", seed=1)
    batches = iter(dataset)
    for _ in range(6):
      next(batches)
    stats = liquid_tf.stats(dataset)
    part = stats.verdict()
    self.assertTrue(part.first_epoch)
    self.assertGreater(part.disk_bytes_per_second, 0)
    for _ in batches:
      pass
    first = stats.verdict()
    self.assertIn("memory, which has all of the images", first.advice)
    self.assertNotIn("at 0.0", str(first))
    for _ in dataset:
      pass
    second = stats.verdict()
    self.assertFalse(second.first_epoch)
    self.assertEqual(second.disk_bytes_per_second, 0)
    self.assertIn("nothing was read", str(second))
    for words in ("of the disk", "a larger cache", "profile"):
      self.assertNotIn(words, str(second))

  def test_nothing_yet(self):
    dataset = liquid_tf.dataset(self._make("none", "raw:1", 8, 3))
    with self.assertRaisesRegex(ValueError, "no batch was delivered yet"):
      liquid_tf.stats(dataset).verdict()


if __name__ == "__main__":
  tf.test.main()
