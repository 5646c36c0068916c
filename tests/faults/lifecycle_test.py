"""Iterators that come and go, many at once, and in forked children."""

import gc
import multiprocessing
import os
import shutil
import signal
import tempfile
import threading
import time

import runs
import tensorflow as tf
from absl.testing import parameterized

import liquid_tf
from liquid_tf._graph.build import build
from liquid_tf._pipeline.arguments import Arguments

_BATCH = 8
_OPTIONS = {"seed": 3, "cache": "30%", "memory": "64MiB", "features": ["id", "image"]}

# More iterators find smaller leaks; the default keeps the test short.
_ITERATORS = int(os.environ.get("LIQUID_TEST_ITERATORS", "1000"))

# Seconds in which a forked child must have ended.
_PATIENCE = 30


def _resident() -> int:
  with open("/proc/self/status") as file:
    for line in file:
      if line.startswith("VmRSS:"):
        return int(line.split()[1]) * 1024
  raise OSError("/proc/self/status has no VmRSS")


def _held() -> tuple[int, int]:
  """Threads and open files of this process."""
  return len(os.listdir("/proc/self/task")), len(os.listdir("/proc/self/fd"))


class LifecycleTest(parameterized.TestCase, tf.test.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.root = tempfile.mkdtemp()
    cls.addClassCleanup(shutil.rmtree, cls.root)
    cls.path = runs.make(cls.root, "png:1,raw:1", shard_size=40_000)

  def _dataset(self, **options) -> tf.data.Dataset:
    return build(Arguments(self.path, _BATCH, **{**_OPTIONS, **options}))

  def _churn(self, dataset: tf.data.Dataset, count: int) -> None:
    for i in range(count):
      iterator = iter(dataset)
      if i % 10 == 0:
        next(iterator)
      del iterator

  def test_iterators_that_are_dropped_leave_nothing(self):
    dataset = self._dataset()
    self._churn(dataset, 200)
    gc.collect()
    resident, (threads, files) = _resident(), _held()
    self._churn(dataset, _ITERATORS)
    gc.collect()
    # Threads end by themselves, a moment after what they worked for.
    end = time.monotonic() + 10
    while time.monotonic() < end:
      if _held()[0] <= threads and _held()[1] <= files:
        break
      time.sleep(0.02)
    self.assertLessEqual(_held()[0], threads)
    self.assertLessEqual(_held()[1], files)
    # A megabyte is less than one byte in a thousand of what they all used.
    self.assertLess(_resident() - resident, 8 << 20)
    self.assertEqual(liquid_tf.stats(dataset).next_epoch, 0)

  def test_iterators_at_once_see_the_same(self):
    wanted = [runs.digests(self._dataset(epoch=epoch)) for epoch in range(2)]
    dataset = self._dataset()
    found = [[] for _ in range(8)]
    start = threading.Barrier(len(found))

    def draw(mine: list) -> None:
      iterator = iter(dataset)
      mine.append(runs.digest(next(iterator)))
      start.wait()
      mine.extend(runs.digest(batch) for batch in iterator)

    for epoch in range(2):
      threads = [threading.Thread(target=draw, args=[mine]) for mine in found]
      for thread in threads:
        thread.start()
      for thread in threads:
        thread.join()
      for mine in found:
        self.assertEqual(mine, wanted[epoch])
        mine.clear()

  def _in_child(self, work) -> tuple[int, str]:
    """Forks; returns the child's exit code and what `work` gave or raised."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
      try:
        said = str(work())
      except tf.errors.OpError as error:
        said = error.message
      os.write(write, said.encode())
      # The end of an ordinary child: what is alive is destroyed.
      gc.collect()
      os._exit(0)
    os.close(write)
    end = time.monotonic() + _PATIENCE
    status = None
    while status is None and time.monotonic() < end:
      ended, code = os.waitpid(child, os.WNOHANG)
      status = code if ended else None
      time.sleep(0.01)
    if status is None:
      os.kill(child, signal.SIGKILL)
      os.waitpid(child, 0)
      self.fail(f"a forked child still ran after {_PATIENCE} s")
    with os.fdopen(read) as file:
      return os.waitstatus_to_exitcode(status), file.read()

  def _begun(self):
    dataset = self._dataset()
    iterator = iter(dataset)
    next(iterator)
    return dataset, iterator

  def test_a_forked_child_ends(self):
    kept = self._begun()
    self.assertEqual(self._in_child(lambda: None), (0, "None"))
    # And the parent goes on.
    self.assertLen(list(kept[1]), 12)

  def test_a_forked_child_cannot_use_its_parents_iterator(self):
    _, iterator = self._begun()
    code, said = self._in_child(lambda: next(iterator))
    self.assertEqual(code, 0)
    self.assertIn("belongs to the process that this one was forked from", said)
    self.assertLen(list(iterator), 12)

  def test_a_forked_child_makes_its_own_iterator(self):
    dataset, iterator = self._begun()
    wanted = runs.digests(self._dataset(epoch=0))
    code, said = self._in_child(lambda: runs.digests(dataset))
    self.assertEqual((code, said), (0, str(wanted)))
    self.assertLen(list(iterator), 12)

  def test_multiprocessing_forks(self):
    _, iterator = self._begun()
    context = multiprocessing.get_context("fork")
    child = context.Process(target=next, args=[iterator])
    child.start()
    child.join(_PATIENCE)
    self.assertFalse(child.is_alive(), "the child hangs")
    self.assertEqual(child.exitcode, 1)  # the error of the test above
    self.assertLen(list(iterator), 12)


if __name__ == "__main__":
  tf.test.main()
