"""The cache policies that Liquid's is compared with: order, hits and disk bytes."""

import os
import shutil
import tempfile

import runs
import tensorflow as tf
from absl.testing import parameterized

import liquid_tf
from liquid_tf._graph.build import build
from liquid_tf._measure import process
from liquid_tf._pipeline.arguments import Arguments
from liquid_tf._store import manifest

_BATCH = 8
_EPOCHS = 3
_CACHE = {"liquid": "30%", "minio": "30%", "page": 0}
_OTHERS = ("minio", "page")


class CachePolicyTest(parameterized.TestCase, tf.test.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    # Beside the test, since /tmp may be memory.
    folder = os.environ.get("TEST_TMPDIR", os.getcwd())
    cls.root = tempfile.mkdtemp(dir=folder)
    cls.addClassCleanup(shutil.rmtree, cls.root)
    cls.path = runs.make(cls.root, "png:3,raw:2", sides=(48, 48))
    cls.index = manifest.load_index(manifest.load(cls.path))
    cls.samples = len(cls.index)

  def _dataset(self, policy: str, **options) -> tf.data.Dataset:
    options = {"cache": _CACHE[policy], "seed": 5, "features": ["id"], **options}
    return build(Arguments(self.path, _BATCH, cache_policy=policy, **options))

  @parameterized.parameters(*_OTHERS)
  def test_order(self, policy):
    dataset = self._dataset(policy)
    epochs = [runs.flat(runs.ids(dataset)) for _ in range(_EPOCHS)]
    for epoch in epochs:
      self.assertCountEqual(epoch, range(self.samples))
    self.assertLen({tuple(epoch) for epoch in epochs}, _EPOCHS)
    again = self._dataset(
      policy, tuning=liquid_tf.graph.Tuning(threads=1, parallelism=1)
    )
    self.assertEqual([runs.flat(runs.ids(again)) for _ in range(_EPOCHS)], epochs)
    alone = self._dataset(policy, epoch=2)
    self.assertEqual(runs.flat(runs.ids(alone)), epochs[2])
    liquid = [runs.flat(runs.ids(self._dataset("liquid", epoch=e))) for e in range(3)]
    self.assertNotEqual(epochs, liquid)

  @parameterized.parameters(*_OTHERS)
  def test_goes_on_from_a_checkpoint(self, policy):
    wanted = runs.ids(self._dataset(policy, epoch=1))
    first = self._dataset(policy)
    runs.ids(first)
    iterator = iter(first)
    for _ in range(3):
      next(iterator)
    prefix = os.path.join(self.create_tempdir().full_path, "checkpoint")
    saved = tf.train.Checkpoint(iterator=iterator).save(prefix)
    second = iter(self._dataset(policy))
    tf.train.Checkpoint(iterator=second).restore(saved)
    rest = [batch["id"].numpy().tolist() for batch in second]
    self.assertEqual(rest, wanted[3:])
    other = iter(self._dataset("liquid", cache=_CACHE[policy]))
    with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "saved by a dataset"):
      tf.train.Checkpoint(iterator=other).restore(saved)

  def test_minio_keeps_what_came_first(self):
    dataset = self._dataset("minio")
    first = runs.flat(runs.ids(dataset))
    for _ in range(_EPOCHS - 1):
      runs.ids(dataset)
    stats = liquid_tf.stats(dataset)
    by_id = dict(zip(self.index["sample"].tolist(), self.index["format"].tolist()))
    kept = set()
    for number in sorted(set(by_id.values())):
      ids = [sample for sample in first if by_id[sample] == number]
      kept.update(ids[: int(0.3 * len(ids) + 1e-9)])
    again = self._dataset("minio", epoch=1)
    batches = runs.ids(again)
    wanted = [sum(sample in kept for sample in batch) for batch in batches]
    self.assertGreater(max(wanted) - min(wanted), 1, "hits were not left to chance")
    found = [b for b in stats.batches if b["epoch"] == 1]
    self.assertEqual([sum(b["hits"].values()) for b in found], wanted)
    for batch in stats.batches:
      for name, samples in batch["samples"].items():
        self.assertEqual(batch["hits"][name] + batch["loads"][name], samples)
        if batch["epoch"] == 0:
          self.assertEqual(batch["loads"][name], samples)
        else:
          self.assertEqual(batch["hits"][name], batch["memory_hits"][name])

  @parameterized.parameters("liquid", "minio")
  def test_batches_are_charged_for_all_that_an_epoch_reads(self, policy):
    dataset = self._dataset(policy)
    for _ in range(_EPOCHS):
      runs.ids(dataset)
    stats = liquid_tf.stats(dataset)
    for epoch in stats.epochs[1:]:
      batches = [b for b in stats.batches if b["epoch"] == epoch["epoch"]]
      self.assertEqual(sum(b["disk_bytes"] for b in batches), epoch["disk_bytes"])
      self.assertGreater(epoch["disk_bytes"], 0)

  def test_the_page_cache_decides(self):
    dataset = self._dataset("page")
    process.drop_from_page_cache(self.path)
    before = process.disk_bytes()
    runs.ids(dataset)
    runs.ids(dataset)
    kernel = process.disk_bytes() - before
    if kernel == 0:
      self.skipTest(f"{self.root} is no disk: the kernel counts no reads")
    first, second = liquid_tf.stats(dataset).epochs
    self.assertGreater(sum(first["loads"].values()), 0)
    # The kernel reads ahead, and then finds it.
    self.assertBetween(first["disk_bytes"], 1, kernel)
    self.assertEqual(second["disk_bytes"], 0)
    self.assertEqual(sum(second["loads"].values()), 0)
    self.assertEqual(sum(second["hits"].values()), self.samples)

  @parameterized.parameters(
    ({"cache_policy": "lru"}, 'cache_policy ."lru". must be one of'),
    ({"cache_policy": "page", "cache": "30%"}, 'cache ."30%". must be 0 or'),
    (
      {"cache_policy": "page", "tuning": liquid_tf.graph.Tuning(reader="threads")},
      'reader ."threads". must be',
    ),
  )
  def test_wrong_arguments(self, arguments, message):
    with self.assertRaisesRegex(ValueError, message):
      build(Arguments(self.path, **arguments))


if __name__ == "__main__":
  tf.test.main()
