"""What the kernel says was read: each epoch's disk bytes are those of its loads."""

import os
import shutil
import tempfile
import unittest

import runs
import tensorflow as tf
from absl.testing import parameterized

import liquid_tf
from liquid_tf import manifest

_EPOCHS = 3
_BLOCK = 4096


def _kernel_bytes() -> int:
  """Bytes that this process has made the disk read."""
  with open("/proc/self/io") as file:
    for line in file:
      if line.startswith("read_bytes:"):
        return int(line.split()[1])
  raise OSError("/proc/self/io has no read_bytes")


def _run(path: str, cache: str, shuffle: bool = True, memory: str = "1GiB") -> list:
  """Disk bytes of each epoch, by the kernel and by `stats`, and loads."""
  dataset = liquid_tf.dataset(
    path, 8, cache=cache, memory=memory, seed=3, shuffle=shuffle, decode="none"
  )
  stats = liquid_tf.stats(dataset)
  found = []
  for epoch in range(_EPOCHS):
    before = _kernel_bytes()
    for _ in dataset:
      pass
    kernel = _kernel_bytes() - before
    counted = stats.epochs[epoch]
    hits = sum(counted["memory_hits"].values())
    loads = sum(counted["samples"].values()) - hits
    found.append([kernel, counted["disk_bytes"], loads])
  return found


class DiskBytesTest(parameterized.TestCase, tf.test.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    # Beside the test, since /tmp may be memory.
    folder = os.environ.get("TEST_TMPDIR", os.getcwd())
    cls.root = tempfile.mkdtemp(dir=folder)
    cls.addClassCleanup(shutil.rmtree, cls.root)
    # Within raw and within bmp all records have one size, so that a share of the
    # samples is a share of the bytes.
    cls.even = runs.make(
      os.path.join(cls.root, "even"),
      "raw:1,bmp:1",
      per_class=20,
      sides=(224, 224),
      shard_size=4 << 20,
    )
    cls.mixed = runs.make(
      os.path.join(cls.root, "mixed"), "png:1,raw:1", per_class=10, sides=(256, 256)
    )
    cls.small = runs.make(os.path.join(cls.root, "small"), "png:1,raw:1")
    if runs.in_new_process(_run, path=cls.even, cache="0%")[0][0][0] == 0:
      raise unittest.SkipTest(f"{folder} is no disk: the kernel counts no reads")

  def _check(self, path: str, share: float, found: list) -> None:
    index = manifest.load_index(manifest.load(path))
    total = int(index["length"].sum())
    for epoch, (kernel, counted, loads) in enumerate(found):
      read = (1 - share if epoch else 1) * total
      if epoch:
        self.assertAllClose(loads, (1 - share) * len(index), atol=1)
      # An aligned block may come with each end of a read, and there are no more reads
      # than samples.
      most = read + 0.02 * total + 2 * _BLOCK * loads
      self.assertBetween(kernel, read - 0.02 * total, most, f"epoch {epoch}")
      self.assertAllClose(counted, kernel, atol=0.02 * total)

  @parameterized.parameters(0, 0.3, 1)
  def test_epochs_read_what_is_not_cached(self, share):
    # A share of PNGs is not exactly that share of their bytes.
    for path in [self.even] + [self.mixed] * (share in (0, 1)):
      found, _ = runs.in_new_process(_run, path=path, cache=f"{100 * share:g}%")
      self._check(path, share, found)

  def test_in_stored_order(self):
    found, _ = runs.in_new_process(_run, path=self.even, cache="30%", shuffle=False)
    self._check(self.even, 0.3, found)

  def test_small_records_are_read_together(self):
    # Records of one block or less: if each were a read of its own, an epoch without a
    # cache would read more than twice what there is.
    found, _ = runs.in_new_process(_run, path=self.small, cache="0%")
    index = manifest.load_index(manifest.load(self.small))
    total = int(index["length"].sum())
    for kernel, _, _ in found:
      self.assertBetween(kernel, total, 1.2 * total)

  def test_a_budget_below_the_cache_costs_reads_and_keeps_the_order(self):
    index = manifest.load_index(manifest.load(self.even))
    total = int(index["length"].sum())
    # A third of the cached 90 % fits.
    found, _ = runs.in_new_process(
      _run, path=self.even, cache="90%", memory=f"{total // 2}B"
    )
    for kernel, counted, _ in found[1:]:
      self.assertBetween(kernel, 0.5 * total, 1.1 * total)
      self.assertAllClose(counted, kernel, atol=0.02 * total)
    options = {"cache": "90%", "seed": 3, "features": ["id"]}
    poor = liquid_tf.dataset(self.even, 8, memory=total // 2, **options)
    rich = liquid_tf.dataset(self.even, 8, memory="1GiB", **options)
    for _ in range(_EPOCHS):
      self.assertEqual(runs.ids(poor), runs.ids(rich))


if __name__ == "__main__":
  tf.test.main()
