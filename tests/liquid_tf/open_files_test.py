"""Datasets of more shards than a process may have open files."""

import os
import resource
import shutil
import tempfile

import runs
import tensorflow as tf

import liquid_tf

_OPTIONS = {"seed": 3, "cache": 0, "features": ["id"]}


def _open_files() -> int:
  return len(os.listdir("/proc/self/fd"))


class OpenFilesTest(tf.test.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.root = tempfile.mkdtemp()
    cls.addClassCleanup(shutil.rmtree, cls.root)
    # Some 200 shards.
    cls.path = runs.make(
      cls.root, "raw:1", per_class=50, sides=(40, 40), shard_size=4096
    )

  def _allow(self, more: int) -> None:
    """Lets the process open so many files beside those that it has."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = {int(name) for name in os.listdir("/proc/self/fd")}
    # The limit is of the number, and the least that is free is given out.
    free = [number for number in range(soft) if number not in used]
    resource.setrlimit(resource.RLIMIT_NOFILE, (free[more], hard))
    self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))

  def test_a_dataset_has_more_shards(self):
    self._allow(100)
    dataset = liquid_tf.dataset(self.path, 8, **_OPTIONS)
    for _ in range(2):
      self.assertCountEqual(runs.flat(runs.ids(dataset)), range(200))

  def test_files_are_closed_with_the_dataset(self):
    runs.ids(liquid_tf.dataset(self.path, 8, **_OPTIONS))
    before = _open_files()
    for _ in range(3):
      runs.ids(liquid_tf.dataset(self.path, 8, **_OPTIONS))
    self.assertLess(_open_files(), before + 16)

  def test_no_file_to_open_is_no_fault_of_a_sample(self):
    dataset = liquid_tf.dataset(self.path, 8, on_error="skip", **_OPTIONS)
    iterator = iter(dataset)
    self._allow(0)
    with self.assertRaisesRegex(
      tf.errors.ResourceExhaustedError, "cannot open: Too many open files"
    ):
      for _ in iterator:
        pass
    summary = liquid_tf.stats(dataset).summary()
    self.assertEqual(summary["skipped"]["count"], 0)


if __name__ == "__main__":
  tf.test.main()
