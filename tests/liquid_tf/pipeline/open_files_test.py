"""Datasets of more shards than a process may have open files."""

import contextlib
import os
import resource
import shutil
import tempfile
import time
from collections.abc import Iterator

import damaged
import runs
import tensorflow as tf

import liquid_tf

_OPTIONS = {"seed": 3, "cache": 0, "features": ["id"]}


def _open_files() -> int:
  return len(os.listdir("/proc/self/fd"))


def _settled(most: int) -> int:
  """Open files once they are at most `most`, or after ten seconds.

  TensorFlow's thread that gave the last batch may keep the iterator a moment longer.
  """
  end = time.monotonic() + 10
  while (found := _open_files()) > most and time.monotonic() < end:
    time.sleep(0.02)
  return found


@contextlib.contextmanager
def _limited(files: int) -> Iterator[None]:
  """Lets the process open files of numbers below `files` only."""
  soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
  resource.setrlimit(resource.RLIMIT_NOFILE, (files, hard))
  try:
    yield
  finally:
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


class OpenFilesTest(tf.test.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.root = tempfile.mkdtemp()
    cls.addClassCleanup(shutil.rmtree, cls.root)
    cls.idle = _open_files()
    # Some 200 shards.
    cls.path = runs.make(
      cls.root, "raw:1", per_class=50, sides=(40, 40), shard_size=4096
    )

  def test_a_dataset_has_more_shards(self):
    with _limited(150):
      dataset = liquid_tf.dataset(self.path, 8, **_OPTIONS)
      for _ in range(2):
        self.assertCountEqual(runs.flat(runs.ids(dataset)), range(200))

  def test_records_that_wait_keep_no_file_open(self):
    iterator = iter(liquid_tf.dataset(self.path, 8, **_OPTIONS))
    next(iterator)
    time.sleep(1)  # All is read ahead now.
    self.assertBetween(_open_files(), self.idle + 1, self.idle + 60)

  def test_files_are_closed_with_the_dataset(self):
    for _ in range(3):
      runs.ids(liquid_tf.dataset(self.path, 8, **_OPTIONS))
    # One run alone has more open; what TensorFlow keeps for good has less.
    self.assertLess(_settled(self.idle + 15), self.idle + 16)

  def test_no_file_to_open_is_no_fault_of_a_sample(self):
    dataset = liquid_tf.dataset(self.path, 8, on_error="skip", **_OPTIONS)
    iterator = iter(dataset)
    message = "cannot open: Too many open files"
    error = self.assertRaisesRegex(tf.errors.ResourceExhaustedError, message)
    with _limited(0), error:
      for _ in iterator:
        pass
    summary = liquid_tf.stats(dataset).summary()
    self.assertEqual(summary["skipped"]["count"], 0)

  def test_a_checkpoint_behind_such_an_error_stands_before_its_batch(self):
    root = self.create_tempdir().full_path
    path = runs.make(root, "raw:1", per_class=50, sides=(256, 256), shard_size=4096)
    options = _OPTIONS | {"memory": "1700KiB", "on_error": "skip"}
    order = runs.flat(runs.ids(liquid_tf.dataset(path, 8, **options)))
    for sample in order[::3]:
      damaged.flip(path, sample)
    wanted = runs.ids(liquid_tf.dataset(path, 8, **options))
    self.assertLen(runs.flat(wanted), 133)
    for begun in (0, 1, 3):
      iterator = iter(liquid_tf.dataset(path, 8, **options))
      found = [next(iterator)["id"].numpy().tolist() for _ in range(begun)]
      with _limited(0), self.assertRaises(tf.errors.ResourceExhaustedError):
        for batch in iterator:
          found.append(batch["id"].numpy().tolist())
      prefix = tf.train.Checkpoint(iterator=iterator).write(os.path.join(root, "x"))
      restored = iter(liquid_tf.dataset(path, 8, **options))
      tf.train.Checkpoint(iterator=restored).restore(prefix)
      self.assertEqual(found + runs.ids(restored), wanted)


if __name__ == "__main__":
  tf.test.main()
