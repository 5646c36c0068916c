"""Every sample once per epoch, and batches that all cost the same."""

import collections
import os

import photos
import runs
import tensorflow as tf
from absl.testing import parameterized

import liquid_tf
from liquid_tf import transforms
from liquid_tf._convert.convert import convert

_BATCH = 8
_EPOCHS = 3


class CompositionTest(parameterized.TestCase, tf.test.TestCase):
  def _check(self, path, *, seed, shards, cache="30%", batch=_BATCH, **options):
    """Runs every shard, and compares what it says with what it delivered."""
    samples = liquid_tf.inspect(path)["samples"]
    seen = collections.defaultdict(list)
    lengths = set()
    repeated = 0
    for shard in range(shards):
      dataset = liquid_tf.dataset(
        path,
        batch,
        seed=seed,
        cache=cache,
        shard=(shard, shards),
        features=["id", "format", "image"],
        **options,
      )
      delivered = []
      for epoch in range(_EPOCHS):
        batches = list(dataset.as_numpy_iterator())
        lengths.add(len(batches))
        delivered += [collections.Counter(b["format"].tolist()) for b in batches]
        seen[epoch] += runs.flat(b["id"].tolist() for b in batches)
      stats = liquid_tf.stats(dataset)
      repeated += stats.summary()["shard"]["repeated"]
      self._check_constant(stats.batches, delivered, batch)
      self._check_totals(stats.epochs, cache)
    self.assertLen(lengths, 1, "shards must have the same number of batches")
    for epoch in range(_EPOCHS):
      counts = collections.Counter(seen[epoch])
      self.assertEqual(set(counts), set(range(samples)))
      self.assertEqual(sum(counts.values()) - samples, repeated)
    self.assertLess(repeated, shards)
    if shards == 1:
      self.assertNotEqual(seen[0], seen[1])
    return seen

  def _check_constant(self, batches, delivered, size):
    self.assertLen(batches, len(delivered))
    for batch, formats in zip(batches, delivered, strict=True):
      counts = {name.encode(): n for name, n in batch["samples"].items() if n}
      self.assertEqual(counts, dict(formats))
      self.assertEqual(batch["full"], sum(formats.values()) == size)
      for name, n in batch["samples"].items():
        self.assertEqual(batch["hits"][name] + batch["loads"][name], n)
    full = [batch for batch in batches if batch["full"] and batch["epoch"] >= 1]
    self.assertNotEmpty(full)
    for key in ("samples", "hits", "loads"):
      for name in full[0][key]:
        values = [batch[key][name] for batch in full]
        self.assertLessEqual(max(values) - min(values), 1, f"{key} of {name}: {values}")

  def _check_totals(self, epochs, cache):
    share = float(cache[:-1]) / 100
    self.assertLen(epochs, _EPOCHS)
    for before, epoch in zip([None, *epochs], epochs):
      for name, samples in epoch["samples"].items():
        kept = int(share * samples + 1e-9)
        self.assertEqual(epoch["hits"][name], kept)
        self.assertEqual(epoch["loads"][name], samples - kept)
        self.assertEqual(epoch["memory_hits"][name], kept if before else 0)

  @parameterized.product(seed=(0, 1, 2**63 - 1), shards=(1, 2))
  def test_photographs(self, seed, shards):
    path = runs.make(self.create_tempdir().full_path)
    self._check(path, seed=seed, shards=shards)

  @parameterized.parameters("0%", "100%", "90%")
  def test_other_caches(self, cache):
    path = runs.make(self.create_tempdir().full_path, "png:1,raw:1", per_class=16)
    self._check(path, seed=4, shards=1, cache=cache)

  def test_many_shards_of_few_samples(self):
    path = runs.make(self.create_tempdir().full_path, per_class=5)
    self._check(path, seed=4, shards=7, batch=2)

  def test_flowers(self):
    source = photos.shared_data("limited", "photo_jpeg", "flowers")
    if source is None:
      self.skipTest("no limited/photo_jpeg/flowers on this machine")
    path = os.path.join(self.create_tempdir().full_path, "flowers")
    convert(source, path, "png:4,jpeg:3,raw:3", progress=False)
    orders = []
    for seed in (0, 1, 2):
      for shards in (1, 2):
        seen = self._check(
          path, seed=seed, shards=shards, transforms=[transforms.RandomCrop(64)]
        )
        if shards == 1:
          orders += list(seen.values())
    self.assertLen({tuple(order) for order in orders}, 9, "an order came twice")
    with self.assertRaisesRegex(
      ValueError, "differ in size: transforms must have a crop"
    ):
      liquid_tf.dataset(path)
    for batch in liquid_tf.dataset(
      path, 16, transforms=[transforms.Resize((48, 32), antialias=False)]
    ).take(1):
      self.assertEqual(batch[0].shape, (16, 48, 32, 3))
    for batch in liquid_tf.dataset(
      path, 16, transforms=[transforms.Ragged()], cache=0
    ).take(1):
      self.assertEqual(batch[0].shape, (16, None, None, 3))

  def test_camvid(self):
    camvid = photos.shared_data("limited", "driving", "camvid")
    if camvid is None:
      self.skipTest("no limited/driving/camvid on this machine")
    path = os.path.join(self.create_tempdir().full_path, "camvid")
    masks = os.path.join(camvid, "trainannot")
    convert(
      liquid_tf.Source(os.path.join(camvid, "train"), masks=masks),
      path,
      "png:1,raw:1",
      progress=False,
    )
    for seed in (0, 1, 2):
      for shards in (1, 2):
        self._check(path, seed=seed, shards=shards, batch=4)
    for image, mask in liquid_tf.dataset(path, 4).take(1):
      self.assertEqual(image.shape, (4, 360, 480, 3))
      self.assertEqual(mask.shape, (4, 360, 480, 1))
      self.assertLess(int(tf.reduce_max(mask)), 32)


if __name__ == "__main__":
  tf.test.main()
