"""What the kernel says was read: each epoch's disk bytes are those of its loads."""

import os
import shutil
import tempfile
import unittest

import runs
import tensorflow as tf
from absl.testing import parameterized

import liquid_tf
from liquid_tf._store import manifest

_EPOCHS = 3
_BLOCK = 4096


def _kernel_bytes() -> int:
  """Bytes that this process has made the disk read."""
  with open("/proc/self/io") as file:
    for line in file:
      if line.startswith("read_bytes:"):
        return int(line.split()[1])
  raise OSError("/proc/self/io has no read_bytes")


def _run_all(runs_to_make: dict[str, dict]) -> dict[str, list]:
  """`_run` with each of some named sets of arguments."""
  return {name: _run(**arguments) for name, arguments in runs_to_make.items()}


def _run(path: str, cache: str, shuffle: bool = True, memory: str = "1GiB") -> list:
  """Disk bytes of each epoch, by the kernel and by `stats`, and loads."""
  dataset = liquid_tf.dataset(
    path, 8, cache=cache, memory=memory, seed=3, shuffle=shuffle, features=["bytes"]
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
    cls.total = cls._bytes(cls.even)
    even, mixed = {"path": cls.even}, {"path": cls.mixed}
    # In a process of their own, whose disk nobody else reads.
    cls.found, _ = runs.in_new_process(
      _run_all,
      runs_to_make={
        "even 0": {**even, "cache": "0%"},
        "even 0.3": {**even, "cache": "30%"},
        "even 1": {**even, "cache": "100%"},
        # A share of PNGs is not exactly that share of their bytes.
        "mixed 0": {**mixed, "cache": "0%"},
        "mixed 1": {**mixed, "cache": "100%"},
        "stored": {**even, "cache": "30%", "shuffle": False},
        "small": {"path": cls.small, "cache": "0%"},
        "poor": {**even, "cache": "90%", "memory": f"{cls.total // 2}B"},
      },
    )
    if cls.found["even 0"][0][0] == 0:
      raise unittest.SkipTest(f"{folder} is no disk: the kernel counts no reads")

  @staticmethod
  def _bytes(path: str) -> int:
    return int(manifest.load_index(manifest.load(path))["length"].sum())

  def _check(self, path: str, share: float, found: list) -> None:
    total = self._bytes(path)
    samples = liquid_tf.inspect(path)["samples"]
    for epoch, (kernel, counted, loads) in enumerate(found):
      read = (1 - share if epoch else 1) * total
      if epoch:
        self.assertAllClose(loads, (1 - share) * samples, atol=1)
      # An aligned block may come with each end of a read, and there are no more reads
      # than samples.
      most = read + 0.02 * total + 2 * _BLOCK * loads
      self.assertBetween(kernel, read - 0.02 * total, most, f"epoch {epoch}")
      self.assertAllClose(counted, kernel, atol=0.02 * total)

  @parameterized.parameters(0, 0.3, 1)
  def test_epochs_read_what_is_not_cached(self, share):
    self._check(self.even, share, self.found[f"even {share}"])
    if share in (0, 1):
      self._check(self.mixed, share, self.found[f"mixed {share}"])

  def test_in_stored_order(self):
    self._check(self.even, 0.3, self.found["stored"])

  def test_small_records_are_read_together(self):
    # Records of one block or less: if each were a read of its own, an epoch without a
    # cache would read more than twice what there is.
    total = self._bytes(self.small)
    for kernel, _, _ in self.found["small"]:
      self.assertBetween(kernel, total, 1.2 * total)

  def test_a_budget_below_the_cache_costs_reads_and_keeps_the_order(self):
    # Not half of the cached 90 % fits.
    for kernel, counted, _ in self.found["poor"][1:]:
      self.assertBetween(kernel, 0.5 * self.total, 1.1 * self.total)
      self.assertAllClose(counted, kernel, atol=0.02 * self.total)
    options = {"cache": "90%", "seed": 3, "features": ["id"]}
    poor = liquid_tf.dataset(self.even, 8, memory=self.total // 2, **options)
    rich = liquid_tf.dataset(self.even, 8, memory="1GiB", **options)
    for _ in range(_EPOCHS):
      self.assertEqual(runs.ids(poor), runs.ids(rich))


if __name__ == "__main__":
  tf.test.main()
