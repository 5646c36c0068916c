"""A disk that fails, falls short, dawdles or hangs, below `liquid_tf.dataset`."""

import gc
import os
import shutil
import tempfile
import threading
import time

import damaged
import faults
import runs
import tensorflow as tf
from absl.testing import parameterized
from tensorflow.python.eager import cancellation

import liquid_tf
from liquid_tf._store import manifest

_BATCH = 8
_SIDE = 64  # a raw record is three blocks
_OPTIONS = {"seed": 3, "cache": "30%", "memory": "64MiB"}
_FEATURES = ["id", "format", "image"]


def _dataset(path: str, **options) -> tf.data.Dataset:
  return liquid_tf.dataset(path, _BATCH, features=_FEATURES, **{**_OPTIONS, **options})


def _epochs(dataset: tf.data.Dataset, epochs: int = 2) -> dict:
  """Digests of some epochs, the error that ended them, and the counters."""
  digests, error = [], ""
  try:
    for _ in range(epochs):
      for batch in dataset:
        digests.append(runs.digest(batch))
  except tf.errors.OpError as caught:
    error = caught.message
  return {
    "digests": digests,
    "error": error,
    "stats": liquid_tf.stats(dataset).summary(),
  }


def _cases(path: str, cases: dict[str, dict]) -> dict[str, dict]:
  """`_epochs` of each case under its rules, with the faults that it met."""
  rules, found = faults.Rules(), {}
  for name, case in cases.items():
    rules.set()
    dataset = _dataset(path, **case.get("options", {}))
    before = len(rules.done())
    rules.set(*case["rules"])
    found[name] = _epochs(dataset)
    found[name]["faults"] = rules.done()[before:]
  return found


def _threads() -> int:
  return len(os.listdir("/proc/self/task"))


def _open_shards() -> int:
  """Open files of any dataset."""
  count = 0
  for name in os.listdir("/proc/self/fd"):
    try:
      count += os.readlink(f"/proc/self/fd/{name}").endswith(".rec")
    except FileNotFoundError:
      pass  # The folder's own descriptor.
  return count


def _begin(path: str):
  """An iterator that has given a few batches, and of which a read hangs."""
  dataset = liquid_tf.dataset(path, 1, features=_FEATURES, memory="512KiB", cache=0)
  iterator = iter(dataset)
  next(iterator)
  time.sleep(0.5)  # All that may be ahead is; so the next batch needs no read.
  rules = faults.Rules()
  rules.set("read .rec hang")
  while True:
    try:
      rules.wait("hang", seconds=0.2)
      return dataset, iterator, rules
    except TimeoutError:
      next(iterator)  # makes room for another read ahead


def _drop_while_reads_hang(path: str) -> dict:
  """Seconds that destruction takes; then what is left once the reads may end."""
  # What TensorFlow starts once and keeps.
  for _ in liquid_tf.dataset(path, _BATCH, **_OPTIONS):
    pass
  gc.collect()
  threads = _threads()
  dataset, iterator, rules = _begin(path)
  begin = time.monotonic()
  del iterator  # Nobody else has it: no garbage collection, which takes its time.
  seconds = time.monotonic() - begin
  hanging = _threads()
  rules.set()
  del dataset
  gc.collect()
  end = time.monotonic() + 10
  while (_threads() > threads or _open_shards()) and time.monotonic() < end:
    time.sleep(0.02)
  return {
    "seconds": seconds,
    "hanging": hanging - threads,
    "left": _threads() - threads,
    "open": _open_shards(),
  }


def _cancel_while_reads_hang(path: str) -> dict:
  """Seconds from a cancellation to the end of the GetNext that waits."""
  dataset, iterator, rules = _begin(path)
  found = {}
  manager = cancellation.CancellationManager()
  advance = manager.get_cancelable_function(
    tf.function(lambda: next(iterator)["id"]).get_concrete_function()
  )

  def wait() -> None:
    try:
      while True:
        advance()
    except tf.errors.OpError as error:
      found["error"] = type(error).__name__
      found["ended"] = time.monotonic()

  waiting = threading.Thread(target=wait)
  waiting.start()
  time.sleep(0.5)  # It has taken what was ready.
  begin = time.monotonic()
  manager.start_cancel()
  waiting.join()
  rules.set()
  return {"error": found["error"], "seconds": found["ended"] - begin}


def _leave_while_reads_hang(path: str) -> dict:
  """The interpreter ends with an iterator whose reads hang."""
  global _kept
  _kept = _begin(path)
  return {}


class ReadFaultsTest(parameterized.TestCase, tf.test.TestCase):
  # Seconds for what takes some hundredths of one where the processors, and who serves
  # a mount, have nothing else to do; a read that hangs does so until it is released.
  patience = 2

  # Whether what misbehaves is a mount, below a process that may use io_uring.
  mirror = False

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    # Beside the test, since /tmp may be memory.
    cls.root = tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))
    cls.addClassCleanup(shutil.rmtree, cls.root)
    cls.path = runs.make(
      cls.root, "png:1,raw:1", sides=(_SIDE, _SIDE), shard_size=200_000
    )
    cls.sound = _epochs(_dataset(cls.path))
    # A sample, and a block that no other one touches.
    cls.sample = damaged.samples(cls.path, "raw")[7]
    index = manifest.load_index(manifest.load(cls.path))
    row = next(row for row in index if row["sample"] == cls.sample)
    middle = int(row["offset"] + row["length"] // 2)
    shard = os.path.basename(damaged.shard_of(cls.path, cls.sample))
    bad = [f"read {shard} eio from={middle} to={middle + 1}"]
    cases = {
      "once": {"rules": ["read .rec eio times=1 size=5000"]},
      "always": {"rules": bad},
      "skip": {"rules": bad, "options": {"on_error": "skip"}},
      "gone": {"rules": ["read .rec eio"]},
      "short 1": {"rules": ["read .rec short arg=1000 times=1"]},
      "short 511": {"rules": ["read .rec short arg=511"]},
      "short 4096": {"rules": ["read .rec short arg=4096"]},
      # Some of them, so that reads end in another order than they began.
      "slow": {
        "rules": ["read raw delay arg=60 times=12", "read png delay arg=20 times=20"]
      },
    }
    cls.found = faults.run(_cases, path=cls.path, mirror=cls.mirror, cases=cases).value

  def _run(self, function) -> faults.Ended:
    return faults.run(function, path=self.path, mirror=self.mirror)

  def _check_sound(self, found: dict) -> None:
    self.assertNotEmpty(found["faults"])
    self.assertEqual(found["error"], "")
    self.assertEqual(found["digests"], self.sound["digests"])

  def test_an_error_that_does_not_come_back(self):
    self._check_sound(self.found["once"])
    self.assertLen(self.found["once"]["faults"], 1)
    self.assertEqual(self.found["once"]["stats"]["retries"], 1)
    self.assertEqual(self.sound["stats"]["retries"], 0)

  def test_an_error_that_stays(self):
    found = self.found["always"]
    self.assertRegex(found["error"], damaged.where(self.path, self.sample))
    self.assertRegex(found["error"], "cannot read .* Input/output error")
    # What comes before its batch is as ever.
    count = len(found["digests"])
    self.assertEqual(found["digests"], self.sound["digests"][:count])

  def test_an_error_that_stays_is_left_out(self):
    found = self.found["skip"]
    self.assertEqual(found["error"], "")
    # Once an epoch, and nothing but it.
    skipped = found["stats"]["skipped"]
    self.assertEqual(skipped["count"], 2)
    self.assertEqual({entry["sample"] for entry in skipped["first"]}, {self.sample})
    self.assertEqual(found["stats"]["samples"], 2 * 99)
    self.assertGreaterEqual(found["stats"]["retries"], 2)

  def test_a_disk_that_is_gone(self):
    self.assertEmpty(self.found["gone"]["digests"])
    self.assertRegex(
      self.found["gone"]["error"],
      r"\.rec, record [0-9]+ \(sample [0-9]+, offset [0-9]+\).*Input/output error",
    )

  @parameterized.parameters("short 1", "short 511", "short 4096")
  def test_short_reads(self, case):
    self._check_sound(self.found[case])

  def test_reads_that_take_their_time(self):
    self._check_sound(self.found["slow"])

  def test_an_iterator_goes_while_its_reads_hang(self):
    found = self._run(_drop_while_reads_hang).value
    self.assertLess(found["seconds"], self.patience)
    self.assertGreater(found["hanging"], 0)
    self.assertEqual(found["left"], 0)
    self.assertEqual(found["open"], 0)

  def test_a_wait_for_reads_that_hang_is_cancelled(self):
    found = self._run(_cancel_while_reads_hang).value
    self.assertEqual(found["error"], "CancelledError")
    self.assertLess(found["seconds"], self.patience)

  def test_a_process_ends_while_reads_hang(self):
    ended = self._run(_leave_while_reads_hang)
    self.assertEqual(ended.exit_code, 0, ended.stderr)
    # Most of it is TensorFlow's own end.
    self.assertLess(ended.seconds, 30)


class MirroredReadFaultsTest(ReadFaultsTest):
  mirror = True

  def test_a_process_ends_while_reads_hang(self):
    self.skipTest("the kernel itself waits for what a file system was asked")


if __name__ == "__main__":
  tf.test.main()
