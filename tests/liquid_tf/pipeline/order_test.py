"""The order of samples depends on nothing but what docs/determinism.md lists."""

import contextlib
import os
import shutil
import tempfile
import time

import numpy as np
import photos
import runs
import tensorflow as tf
from absl.testing import parameterized

import liquid_tf
from liquid_tf._convert.convert import convert

_THROTTLE = "/sys/fs/cgroup/blkio"
_SLOW_BYTES_PER_SECOND = 20_000_000


def _make(root: str) -> str:
  """60 images whose stored bytes depend on no encoder: 36 raw, 24 bmp."""
  random = np.random.default_rng(7)
  for i in range(60):
    pixels = random.integers(0, 256, (8, 8, 3), np.uint8)
    photos.save(os.path.join(root, "source", "all", f"{i:02}.bmp"), pixels)
  path = os.path.join(root, "dataset")
  convert(
    os.path.join(root, "source"), path, "raw:3,bmp:2", shard_size=4096, progress=False
  )
  return path


# Three epochs of what _make makes, with seed 5, batches of 8 and 30 % cached: a
# change of any of these numbers is a change of what users train on.
# fmt: off
_GOLDEN = (
  (
    33, 57, 41, 12, 9, 30, 7, 46, 18, 25, 26, 50, 11, 24, 23, 38, 54, 43, 17, 34, 13,
    40, 22, 4, 21, 44, 1, 47, 45, 6, 27, 20, 56, 14, 51, 37, 48, 59, 2, 0, 39, 58, 8,
    10, 35, 49, 3, 31, 55, 36, 5, 28, 42, 15, 53, 19, 16, 32, 29, 52,
  ),
  (
    18, 3, 27, 0, 40, 36, 32, 33, 41, 42, 28, 30, 22, 43, 12, 20, 54, 8, 5, 24, 59, 52,
    56, 57, 51, 47, 17, 29, 10, 15, 37, 16, 50, 25, 9, 38, 44, 39, 26, 55, 11, 19, 58,
    49, 4, 48, 6, 53, 2, 46, 35, 14, 23, 45, 7, 13, 34, 21, 31, 1,
  ),
  (
    28, 34, 36, 18, 4, 10, 21, 19, 39, 15, 37, 47, 23, 9, 54, 51, 35, 40, 33, 8, 55, 25,
    12, 27, 59, 42, 16, 57, 1, 41, 11, 38, 30, 26, 29, 32, 56, 48, 44, 53, 22, 14, 20,
    7, 46, 3, 49, 31, 6, 17, 13, 43, 50, 58, 52, 45, 24, 5, 0, 2,
  ),
)
# The first epoch of the second of two shards; stored order.
_GOLDEN_SHARD = (
  21, 12, 5, 35, 8, 20, 57, 4, 36, 53, 54, 28, 11, 51, 16, 43, 34, 58, 0, 42, 3, 22, 32,
  41, 44, 38, 48, 39, 23, 56,
)
_GOLDEN_STORED = (
  6, 52, 33, 46, 10, 40, 59, 24, 27, 55, 31, 13, 18, 29, 45, 7, 25, 26, 47, 14, 2, 19,
  49, 15, 37, 9, 30, 48, 17, 50, 1, 11, 58, 34, 23, 41, 3, 39, 35, 51, 36, 5, 16, 53,
  43, 57, 28, 0, 56, 54, 20, 38, 4, 22, 21, 32, 8, 42, 44, 12,
)
# fmt: on


def _run(path: str, epochs: int = 3, **options) -> list[list[int]]:
  dataset = liquid_tf.dataset(
    path, 8, seed=5, cache="30%", features=["id", "image"], **options
  )
  return [runs.flat(runs.ids(dataset)) for _ in range(epochs)]


def _throttled_group(path: str) -> str:
  """A version 1 cgroup that reads the disk of `path` slowly; OSError where none."""
  device = os.stat(path).st_dev
  group = tempfile.mkdtemp(prefix="liquid_test_", dir=_THROTTLE)
  try:
    with open(f"{group}/blkio.throttle.read_bps_device", "w") as file:
      file.write(f"{os.major(device)}:{os.minor(device)} {_SLOW_BYTES_PER_SECOND}")
  except OSError:
    os.rmdir(group)
    raise
  return group


def _timed_digests(path: str, group: str | None = None) -> dict:
  """Digests of two epochs of large images, read in a cgroup of its own."""
  dataset = liquid_tf.dataset(
    path, 16, seed=5, cache="30%", memory="64MiB", features=["id", "image"]
  )
  if group is not None:
    with open(f"{group}/cgroup.procs", "w") as file:
      file.write(str(os.getpid()))
  begin = time.monotonic()
  found = [runs.digests(dataset) for _ in range(2)]
  seconds = time.monotonic() - begin
  throttled = 0
  if group is not None:
    with open(f"{group}/blkio.throttle.io_service_bytes") as file:
      throttled = sum(int(line.split()[2]) for line in file if " Read " in line)
    # The group can be removed once nobody is in it.
    with open(f"{_THROTTLE}/cgroup.procs", "w") as file:
      file.write(str(os.getpid()))
  disk_bytes = liquid_tf.stats(dataset).summary()["disk_bytes"]
  return {
    "digests": found,
    "seconds": seconds,
    "disk_bytes": disk_bytes,
    "throttled_bytes": throttled,
  }


class OrderTest(parameterized.TestCase, tf.test.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.root = tempfile.mkdtemp()
    cls.addClassCleanup(shutil.rmtree, cls.root)
    cls.path = _make(cls.root)

  def test_golden(self):
    self.assertEqual(_run(self.path), [list(epoch) for epoch in _GOLDEN])
    self.assertEqual(_run(self.path, 1, shard=(1, 2)), [list(_GOLDEN_SHARD)])
    self.assertEqual(
      _run(self.path, 2, shuffle=False), [list(_GOLDEN_STORED), list(_GOLDEN_STORED)]
    )

  @parameterized.product(threads=(1, 2, 8), parallelism=(1, 2, 8))
  def test_threads_of_the_reader_and_the_decoder(self, threads, parallelism):
    found = _run(
      self.path, tuning=liquid_tf.graph.Tuning(threads=threads, parallelism=parallelism)
    )
    self.assertEqual(found, [list(epoch) for epoch in _GOLDEN])

  @parameterized.product(threads=(1, 2, 8), prefetch=(0, 1, 8, tf.data.AUTOTUNE))
  def test_threads_of_tf_data_and_prefetching(self, threads, prefetch):
    dataset = liquid_tf.dataset(self.path, 8, seed=5, cache="30%", features=["id"])
    if prefetch:
      dataset = dataset.prefetch(prefetch)
    options = tf.data.Options()
    options.threading.private_threadpool_size = threads
    options.threading.max_intra_op_parallelism = threads
    dataset = dataset.with_options(options)
    found = [runs.flat(runs.ids(dataset)) for _ in range(3)]
    self.assertEqual(found, [list(epoch) for epoch in _GOLDEN])

  def test_a_slow_consumer(self):
    dataset = liquid_tf.dataset(self.path, 8, seed=5, cache="30%", features=["id"])
    for epoch in _GOLDEN[:2]:
      found = []
      for batch in dataset.prefetch(4):
        time.sleep(0.02)
        found += batch["id"].numpy().tolist()
      self.assertEqual(found, list(epoch))

  def test_what_the_order_does_depend_on(self):
    orders = {
      tuple(runs.flat(runs.ids(liquid_tf.dataset(self.path, **arguments))))
      for arguments in (
        {"batch_size": 8, "cache": 0, "features": ["id"]},
        {"batch_size": 8, "cache": 0, "features": ["id"], "seed": 1},
        {"batch_size": 8, "cache": 0, "features": ["id"], "seed": 2**63},
        {"batch_size": 8, "cache": 0, "features": ["id"], "seed": -1},
        {"batch_size": 8, "cache": 0, "features": ["id"], "start": (1, 0)},
        {"batch_size": 9, "cache": 0, "features": ["id"]},
        {"batch_size": 8, "cache": 0, "features": ["id"], "shuffle": False},
      )
    }
    self.assertLen(orders, 7)

  def test_a_slow_disk(self):
    if os.geteuid() != 0 or not os.path.isdir(_THROTTLE):
      self.skipTest(f"needs root and a version 1 blkio controller at {_THROTTLE}")
    # Beside the test, since /tmp may be memory.
    with contextlib.ExitStack() as stack:
      folder = os.environ.get("TEST_TMPDIR", os.getcwd())
      root = stack.enter_context(tempfile.TemporaryDirectory(dir=folder))
      path = runs.make(
        root, "raw:1,bmp:1", per_class=30, sides=(256, 256), shard_size=2 << 20
      )
      try:
        group = _throttled_group(path)
      except OSError as error:
        self.skipTest(f"the disk of {folder} cannot be throttled: {error}")
      stack.callback(os.rmdir, group)
      fast, _ = runs.in_new_process(_timed_digests, path=path)
      slow, _ = runs.in_new_process(_timed_digests, path=path, group=group)
    self.assertEqual(slow["digests"], fast["digests"])
    # The throttle saw every read, and decided how long they took.
    self.assertGreaterEqual(slow["throttled_bytes"], 0.95 * slow["disk_bytes"])
    least = slow["disk_bytes"] / _SLOW_BYTES_PER_SECOND
    self.assertGreater(slow["seconds"], 0.8 * least)


if __name__ == "__main__":
  tf.test.main()
