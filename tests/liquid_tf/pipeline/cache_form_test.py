"""Decoded pixels that last between epochs: the same batches, and no decoding."""

import shutil
import tempfile

import runs
import tensorflow as tf
from absl.testing import parameterized

import liquid_tf
from liquid_tf import transforms
from liquid_tf._graph.build import build
from liquid_tf._pipeline.arguments import Arguments

_BATCH = 8
_EPOCHS = 3


class CacheAsTest(parameterized.TestCase, tf.test.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.root = tempfile.mkdtemp()
    cls.addClassCleanup(shutil.rmtree, cls.root)
    cls.path = runs.make(f"{cls.root}/a", "png:5,raw:3,webp:2", sides=(40, 40))
    cls.ragged = runs.make(f"{cls.root}/b", "png:1,raw:1", sides=(30, 50))

  def _dataset(self, cache_form, path=None, **options):
    size = options.pop("cache", "40%")
    options = {"memory": "1GiB", "seed": 5, **options}
    options.setdefault("features", ["id", "image", "label", "format", "window"])
    return build(
      Arguments(
        path or self.path, _BATCH, cache=liquid_tf.Cache(size, cache_form), **options
      )
    )

  def _digests(self, dataset):
    return [runs.digests(dataset) for _ in range(_EPOCHS)]

  @parameterized.parameters(
    {},
    {"transforms": [transforms.RandomCrop((16, 24))]},
    {"transforms": [transforms.CenterCrop((16, 24))], "shuffle": False},
    {"transforms": [transforms.Resize((20, 20), antialias=False)]},
    {"transforms": [transforms.Ragged()]},
    {"cache": 0},
    {"cache": "100%"},
    {"cache_policy": "minio"},
    {"tuning": liquid_tf.graph.Tuning(parallelism=1, lookahead=1)},
  )
  def test_batches_are_the_same(self, **options):
    encoded = self._digests(self._dataset("encoded", **options))
    self.assertEqual(self._digests(self._dataset("pixels", **options)), encoded)

  def test_of_images_of_different_sizes(self):
    for options in (
      {"transforms": [transforms.Ragged()]},
      {"transforms": [transforms.RandomCrop(20)]},
    ):
      encoded = self._digests(self._dataset("encoded", self.ragged, **options))
      pixels = self._digests(self._dataset("pixels", self.ragged, **options))
      self.assertEqual(pixels, encoded)

  def test_what_is_kept_is_not_decoded_again(self):
    found = {}
    for cache_form in ("encoded", "pixels"):
      dataset = self._dataset(cache_form, transforms=[transforms.RandomCrop(16)])
      for _ in range(_EPOCHS):
        runs.digests(dataset)
      found[cache_form] = liquid_tf.stats(dataset).epochs
    for encoded, pixels in zip(found["encoded"], found["pixels"], strict=True):
      for name in ("samples", "hits", "loads", "memory_hits", "bytes"):
        self.assertEqual(pixels[name], encoded[name])
      self.assertEqual(pixels["disk_bytes"], encoded["disk_bytes"])
      self.assertEqual(encoded["decodes"], encoded["samples"])
      for name, samples in pixels["samples"].items():
        decodes = samples - pixels["memory_hits"][name]
        self.assertEqual(pixels["decodes"][name], decodes)
    self.assertEqual(sum(found["pixels"][1]["memory_hits"].values()), 40)

  def test_all_of_it(self):
    dataset = self._dataset("pixels", cache="100%")
    self._digests(dataset)
    decodes = [sum(e["decodes"].values()) for e in liquid_tf.stats(dataset).epochs]
    self.assertEqual(decodes, [100, 0, 0])

  def test_the_budget_counts_pixels(self):
    counts = {}
    for cache_form in ("encoded", "pixels"):
      dataset = self._dataset(cache_form, cache="auto", memory="1000KiB")
      runs.digests(dataset)
      cached = liquid_tf.stats(dataset).summary()["cached"]
      self.assertLess(cached["bytes"], 1000 << 10)
      counts[cache_form] = cached["records"]
    self.assertGreater(counts["pixels"], 0)
    self.assertLess(counts["pixels"], counts["encoded"])

  def test_a_small_budget_costs_decoding_and_not_the_order(self):
    wanted = self._digests(self._dataset("encoded"))
    for memory in (200_000, 500_000, 1_000_000):
      dataset = self._dataset("pixels", memory=memory)
      self.assertEqual(self._digests(dataset), wanted)
      self.assertLessEqual(
        liquid_tf.stats(dataset).summary()["cached"]["bytes"], memory
      )

  def test_a_checkpoint_in_a_middle(self):
    for symbolic in (False, True):
      options = tf.data.Options()
      options.experimental_symbolic_checkpoint = symbolic

      def dataset(options=options):
        return self._dataset(
          "pixels", transforms=[transforms.RandomCrop(16)]
        ).with_options(options)

      wanted = self._digests(
        self._dataset("encoded", transforms=[transforms.RandomCrop(16)])
      )
      flat = [digest for epoch in wanted for digest in epoch]
      for at in (0, 5, 13, 20, 30):
        iterator = iter(dataset().repeat(_EPOCHS))
        for _ in range(at):
          next(iterator)
        path = tf.train.Checkpoint(it=iterator).save(f"{self.root}/checkpoint")
        restored = iter(dataset().repeat(_EPOCHS))
        tf.train.Checkpoint(it=restored).restore(path).assert_consumed()
        self.assertEqual([runs.digest(b) for b in restored], flat[at:])

  def test_an_epoch_that_was_left(self):
    dataset = self._dataset("pixels")
    wanted = self._digests(self._dataset("encoded"))
    for epoch in range(_EPOCHS):
      iterator = iter(dataset)
      for i in range(5):
        self.assertEqual(runs.digest(next(iterator)), wanted[epoch][i])
      del iterator
      self.assertEqual(runs.digests(dataset), wanted[epoch])

  def test_blocks_that_are_saved_hold_pixels(self):
    # A prefetch of blocks writes them into a checkpoint.
    def batches(cache_form):
      snapshot = liquid_tf.graph.Snapshot(liquid_tf.Cache("100%", cache_form), "1GiB")
      sources = [
        liquid_tf.graph.format_dataset(self.path, name)
        for name in ("png", "raw", "webp")
      ]
      blocks = liquid_tf.graph.interleave(sources, snapshot, batch_size=_BATCH, seed=5)
      return liquid_tf.graph.decode_and_batch(
        blocks.prefetch(2), features=["id", "image"]
      )

    wanted = [runs.digests(dataset) for dataset in [batches("encoded")] * 2]
    dataset = batches("pixels")
    self.assertEqual(runs.digests(dataset), wanted[0])
    iterator = iter(dataset)
    for i in range(3):
      self.assertEqual(runs.digest(next(iterator)), wanted[1][i])
    path = tf.train.Checkpoint(it=iterator).save(f"{self.root}/blocks")
    restored = iter(batches("pixels"))
    tf.train.Checkpoint(it=restored).restore(path)
    self.assertEqual([runs.digest(b) for b in restored], wanted[1][3:])

  def test_wrong_arguments(self):
    with self.assertRaisesRegex(ValueError, r'Cache: form \("raw"\) must be one of'):
      self._dataset("raw")
    for options in (
      {"features": ["id", "label"]},
      {"features": ["image", "bytes"]},
      {"features": ["bytes"]},
    ):
      with self.assertRaisesRegex(ValueError, r'Cache: form \("pixels"\) must be "enc'):
        self._dataset("pixels", **options)
    with self.assertRaisesRegex(ValueError, 'with cache_policy="page"'):
      self._dataset("pixels", cache=0, cache_policy="page")


if __name__ == "__main__":
  tf.test.main()
