"""A cache's tier on a local disk: the same batches, and fewer bytes of the dataset."""

import concurrent.futures
import os
import resource
import shutil
import tempfile
from unittest import mock

import runs
import tensorflow as tf
from absl.testing import parameterized

import liquid_tf
from liquid_tf import transforms
from liquid_tf._store import manifest
from liquid_tf._view.view import View

_BATCH = 16
_EPOCHS = 4
_BLOCK = 4096
_FEATURES = ["id", "image", "format"]


def _dataset(path: str | View, folder: str | None, **options) -> tf.data.Dataset:
  size, form = options.pop("cache", 0), options.pop("form", "encoded")
  disk_size = options.pop("disk_size", "1GiB")
  cache = liquid_tf.Cache(size, form)
  if folder is not None:
    cache = liquid_tf.Cache(size, form, folder, disk_size)
  options = {"memory": "1GiB", "seed": 3, "features": _FEATURES, **options}
  options.setdefault("transforms", [transforms.Ragged()])
  return liquid_tf.dataset(path, _BATCH, cache=cache, **options)


def _lengths(path: str) -> list[int]:
  return manifest.load_index(manifest.load(path))["length"].tolist()


def _blocks(path: str) -> int:
  """Bytes that a tier of all records takes."""
  return sum(-(-length // _BLOCK) for length in _lengths(path)) * _BLOCK


def _tier(dataset: tf.data.Dataset) -> dict:
  return liquid_tf.stats(dataset).summary()["tier"]


def _repeated(path: str, folder: str) -> tf.data.Dataset:
  return _dataset(path, folder, cache="30%", disk_size="2MiB").repeat(3)


def _killed(path: str, folder: str, prefix: str, after: int) -> None:
  runs.save_and_die(_repeated(path, folder), prefix, after)


def _rest(path: str, folder: str, prefix: str) -> list[str]:
  return runs.restored_digests(_repeated(path, folder), prefix)


def _limited(path: str, folder: str, most: int) -> tuple[list, dict]:
  """Runs where no file may have more bytes; in a process of its own."""
  resource.setrlimit(resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))
  dataset = _dataset(path, folder, cache="30%")
  return [runs.digests(dataset) for _ in range(2)], _tier(dataset)


def _worker(path: str, folder: str, index: int) -> tuple[list, dict]:
  dataset = _dataset(path, folder, shard=(index, 2), disk_size="1MiB")
  return [runs.ids(dataset) for _ in range(_EPOCHS)], _tier(dataset)


def _flip_bits(folder: str, every: int) -> None:
  """Changes a byte in each of some blocks of a tier, whose file has no name."""
  for number in os.listdir("/proc/self/fd"):
    link = f"/proc/self/fd/{number}"
    try:
      if not os.readlink(link).startswith(os.path.join(folder, "liquid-tier-")):
        continue
    except FileNotFoundError:  # That of the listing.
      continue
    with open(link, "r+b", buffering=0) as file:
      size = os.fstat(file.fileno()).st_size
      for offset in range(100, size, every * _BLOCK):
        byte = os.pread(file.fileno(), 1, offset)
        os.pwrite(file.fileno(), bytes([byte[0] ^ 1]), offset)


class TierTest(parameterized.TestCase, tf.test.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    # Beside the test, since /tmp may be memory.
    cls.root = tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR", os.getcwd()))
    cls.addClassCleanup(shutil.rmtree, cls.root)
    cls.even = runs.make(
      f"{cls.root}/even",
      "raw:1,bmp:1",
      per_class=40,
      sides=(224, 224),
      shard_size=4 << 20,
    )
    cls.uneven = runs.make(
      f"{cls.root}/uneven",
      "png:1,raw:1",
      per_class=60,
      sides=(40, 200),
      shard_size=2 << 20,
    )
    cls.replicated = runs.make(
      f"{cls.root}/replicated", "png:6,raw:4", sides=(60, 90), replicate=True
    )

  def setUp(self):
    super().setUp()
    self.folder = tempfile.mkdtemp(dir=self.root)

  @parameterized.parameters(
    dict(cache=0, share=0.5, misses=[8]),
    dict(cache="30%", share=0.35, misses=[5, 6]),
  )
  def test_every_batch_takes_as_many_records_from_the_dataset(
    self, cache, share, misses
  ):
    length = max(_lengths(self.even))
    records = int(share * 160)
    size = records * -(-length // _BLOCK) * _BLOCK
    tiered = _dataset(self.even, self.folder, cache=cache, disk_size=size)
    stats = liquid_tf.stats(tiered)
    plain = _dataset(self.even, None, cache=cache)
    read = 0
    for epoch in range(_EPOCHS):
      self.assertEqual(runs.digests(tiered), runs.digests(plain))
      before, read = read, _tier(tiered)["read"]["records"]
      self.assertEqual(read - before, records if epoch else 0)
      batches = [b for b in stats.batches if b["epoch"] == epoch]
      found = {round(batch["disk_bytes"] / length) for batch in batches}
      if epoch:
        self.assertContainsSubset(found, misses)
    tier = _tier(tiered)
    self.assertEqual((tier["bytes"], tier["off"]), (size, ""))
    self.assertEqual((tier["left_out"], tier["failed"]), (0, 0))
    self.assertEqual(tier["there"]["records"], records)
    self.assertIsNone(_tier(plain))
    self.assertEmpty(os.listdir(self.folder))

  def test_half_the_bytes_are_read(self):
    lengths = _lengths(self.uneven)
    size = _blocks(self.uneven) // 2
    tiered = _dataset(self.uneven, self.folder, disk_size=size)
    plain = _dataset(self.uneven, None)
    read = 0
    for epoch in range(_EPOCHS):
      self.assertEqual(runs.digests(tiered), runs.digests(plain))
      tier = _tier(tiered)
      before, read = read, tier["read"]["bytes"]
      self.assertLessEqual(tier["there"]["bytes"], size)
      if epoch:
        self.assertLess(1 - (read - before) / sum(lengths), 0.52)

  @parameterized.parameters(
    {},
    {"cache": "40%"},
    {"shuffle": False, "cache": "30%"},
    {"last_batch": "drop"},
    {"form": "pixels", "cache": "40%"},
    {"tuning": liquid_tf.graph.Tuning(reader="threads", lookahead=1)},
  )
  def test_the_order_does_not_depend_on_it(self, **options):
    tiered = _dataset(self.uneven, self.folder, disk_size="3MiB", **options)
    plain = _dataset(self.uneven, None, **options)
    for _ in range(_EPOCHS):
      self.assertEqual(runs.digests(tiered), runs.digests(plain))
    self.assertGreater(_tier(tiered)["read"]["records"], 0)
    self.assertEqual(_tier(tiered)["failed"], 0)

  def test_mixes_that_change(self):
    mix = [{"png": 0.7, "raw": 0.3}, {"png": 0.3, "raw": 0.7}]
    tiered = _dataset(self.replicated, self.folder, disk_size="1MiB", mix=mix)
    plain = _dataset(self.replicated, None, mix=mix)
    for _ in range(_EPOCHS):
      self.assertEqual(runs.digests(tiered), runs.digests(plain))
    self.assertGreater(_tier(tiered)["read"]["records"], 0)

  def test_an_epoch_that_was_abandoned(self):
    tiered = _dataset(self.even, self.folder, cache="30%", disk_size="6MiB")
    plain = _dataset(self.even, None, cache="30%")
    runs.digests(tiered)
    runs.digests(plain)
    for _ in zip(tiered, range(3)):
      pass
    for _ in range(2):
      self.assertEqual(runs.digests(tiered), runs.digests(plain))

  def test_flipped_bits_are_found(self):
    tiered = _dataset(self.even, self.folder)
    plain = _dataset(self.even, None)
    self.assertEqual(runs.digests(tiered), runs.digests(plain))
    # The last ones may still be under way.
    iterator = iter(tiered)
    first = runs.digest(next(iterator))
    self.assertGreater(_tier(tiered)["there"]["records"], 150)
    del iterator
    _flip_bits(self.folder, every=100)
    whole = runs.digests(plain)
    self.assertEqual(first, whole[0])
    self.assertEqual(runs.digests(tiered), whole)
    self.assertEqual(runs.digests(tiered), runs.digests(plain))
    tier = _tier(tiered)
    self.assertGreater(tier["failed"], 20)
    self.assertEqual(tier["off"], "")

  @parameterized.parameters(1 << 20, 30 << 20)
  def test_without_space_training_goes_on(self, most):
    with mock.patch.dict(os.environ, TF_CPP_MIN_LOG_LEVEL="0"):
      (found, tier), log = runs.in_new_process(
        _limited, path=self.even, folder=self.folder, most=most
      )
    plain = _dataset(self.even, None, cache="30%")
    self.assertEqual(found, [runs.digests(plain) for _ in range(2)])
    full = most == 1 << 20
    self.assertEqual("cannot take" in tier["off"], full)
    self.assertEqual(log.count("training goes on without it"), int(full))

  @parameterized.parameters(3, 17)
  def test_after_a_kill_training_goes_on(self, after):
    prefix = f"{self.folder}/checkpoint"
    tier = tempfile.mkdtemp(dir=self.root)
    given = dict(path=self.even, folder=tier, prefix=prefix)
    runs.in_new_process(_killed, exit_code=-9, after=after, **given)
    self.assertEmpty(os.listdir(tier))
    found, _ = runs.in_new_process(_rest, **given)
    plain = _dataset(self.even, None, cache="30%").repeat(3)
    self.assertEqual(found, runs.digests(plain)[after:])

  def test_two_processes_in_one_folder(self):
    with concurrent.futures.ThreadPoolExecutor() as pool:
      workers = [
        pool.submit(
          runs.in_new_process,
          _worker,
          path=self.uneven,
          folder=self.folder,
          index=index,
        )
        for index in range(2)
      ]
    for index, worker in enumerate(workers):
      (found, tier), _ = worker.result()
      plain = _dataset(self.uneven, None, shard=(index, 2))
      self.assertEqual(found, [runs.ids(plain) for _ in range(_EPOCHS)])
      self.assertGreater(tier["read"]["records"], 0)
      self.assertEqual((tier["failed"], tier["bytes"]), (0, 1 << 20))
    self.assertEmpty(os.listdir(self.folder))

  def test_wrong_arguments(self):
    cache = liquid_tf.Cache
    with self.assertRaisesRegex(ValueError, r"disk_size \(0\) must be at least 1MiB"):
      cache(0, disk=self.folder)
    with self.assertRaisesRegex(ValueError, r'disk_size \("5"\) must be at least'):
      cache(0, disk=self.folder, disk_size="5")
    with self.assertRaisesRegex(ValueError, r'disk_size \("50%"\) must be bytes'):
      cache(0, disk=self.folder, disk_size="50%")
    with self.assertRaisesRegex(ValueError, "needs disk, the folder"):
      cache(0, disk_size="1GiB")
    with self.assertRaisesRegex(ValueError, "must be a local folder"):
      _dataset(self.even, f"{self.folder}/none")
    with self.assertRaisesRegex(ValueError, "must be None where the epoch is given"):
      tier = cache(0, disk=self.folder, disk_size="1GiB")
      liquid_tf.graph.epochs(self.even, 2, batch_size=8, cache=tier)
    with self.assertRaisesRegex(ValueError, "must be None with weights"):
      view = liquid_tf.open(self.even).split("train")
      _dataset(view.weighted({0: 2, 1: 1, 2: 1, 3: 1}), self.folder)


if __name__ == "__main__":
  tf.test.main()
