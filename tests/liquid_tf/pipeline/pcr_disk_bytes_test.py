"""What the kernel says was read of progressive compressed records."""

import os
import shutil
import tempfile
import unittest

import runs
import tensorflow as tf
from absl.testing import parameterized

import liquid_tf
from liquid_tf._store import manifest

_BLOCK = 4096
# Blocks that are read to see whether O_DIRECT works, and io_uring, before an epoch.
_PROBES = 2
_EPOCHS = 3


def _kernel_bytes() -> int:
  """Bytes that this process has made the disk read."""
  with open("/proc/self/io") as file:
    for line in file:
      if line.startswith("read_bytes:"):
        return int(line.split()[1])
  raise OSError("/proc/self/io has no read_bytes")


def _run(path: str, options: dict) -> list:
  """Disk bytes of each epoch, by the kernel and by `stats`."""
  dataset = liquid_tf.dataset(path, 32, memory="1GiB", features=["bytes"], **options)
  stats = liquid_tf.stats(dataset)
  found = []
  for epoch in range(_EPOCHS):
    before = _kernel_bytes()
    for _ in dataset:
      pass
    found.append([_kernel_bytes() - before, stats.epochs[epoch]["disk_bytes"]])
  return found


def _run_all(path: str, cases: dict[str, dict]) -> dict[str, list]:
  return {name: _run(path, options) for name, options in cases.items()}


class PcrDiskBytesTest(parameterized.TestCase, tf.test.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    # Beside the test, since /tmp may be memory.
    folder = os.environ.get("TEST_TMPDIR", os.getcwd())
    cls.root = tempfile.mkdtemp(dir=folder)
    cls.addClassCleanup(shutil.rmtree, cls.root)
    # 10 records of 64 images.
    cls.path = runs.make(
      cls.root, "pcr:1", extension="jpg", per_class=160, sides=(128, 128)
    )
    cls.entries = list(manifest.load_pcr_index(manifest.load(cls.path)).values())
    cases = {
      f"group {group}": {"cache": 0, "fidelity": group} for group in range(1, 12)
    }
    cases["cached"] = {"cache": "90%"}
    cls.found, _ = runs.in_new_process(_run_all, path=cls.path, cases=cases)
    if cls.found["group 1"][0][0] == 0:
      raise unittest.SkipTest(f"{folder} is no disk: the kernel counts no reads")

  @parameterized.parameters(*range(1, 12))
  def test_an_epoch_reads_the_prefixes(self, group):
    self.assertLen(self.entries, 10)
    wanted = sum(entry.prefix_bytes(group) for entry in self.entries)
    for kernel, counted in self.found[f"group {group}"]:
      # The last block of each prefix, and those that show how files can be read.
      blocks = len(self.entries) + _PROBES
      self.assertBetween(kernel, wanted, wanted + _BLOCK * blocks)
      # The kernel counts the whole block in which a file ends.
      self.assertBetween(kernel - counted, 0, _BLOCK * blocks)

  def test_what_is_cached_is_not_read(self):
    whole = sum(entry.prefix_bytes(entry.groups) for entry in self.entries)
    self.assertGreaterEqual(self.found["cached"][0][0], whole)
    for kernel, _ in self.found["cached"][1:]:
      # One record in ten, and records are not quite alike.
      self.assertBetween(kernel / whole, 0.09, 0.11)


if __name__ == "__main__":
  tf.test.main()
