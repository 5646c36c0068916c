"""Datasets that hold every sample in every format: which one is read."""

import collections
import tempfile

import runs
import tensorflow as tf
from absl.testing import parameterized

import liquid_tf
from liquid_tf._store import manifest


class ReplicasTest(tf.test.TestCase, parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    folder = tempfile.TemporaryDirectory()
    cls.addClassCleanup(folder.cleanup)
    root = folder.name
    cls.path = runs.make(root, "png:6,raw:4,webp:2", replicate=True)
    cls.samples = manifest.load(cls.path)["samples"]

  def _epochs(self, epochs=1, **options):
    """Per epoch, [(id, format, hash of the pixels)] of every draw."""
    dataset = liquid_tf.dataset(
      self.path, 8, features=["id", "format", "image"], **options
    )
    result = []
    for _ in range(epochs):
      draws = []
      for batch in dataset:
        pixels = [runs.digest(image) for image in batch["image"]]
        names = [name.decode() for name in batch["format"].numpy()]
        draws += zip(batch["id"].numpy().tolist(), names, pixels)
      result.append(draws)
    return result

  @parameterized.parameters(
    (None, {"png": 50, "raw": 33, "webp": 17}),
    ({"png": 0.6, "raw": 0.4}, {"png": 60, "raw": 40}),
    ("raw:1,webp:3", {"raw": 25, "webp": 75}),
    ("webp", {"webp": 100}),
    ({"png": 1e9, "raw": 1}, {"png": 100}),
  )
  def test_each_sample_once_in_the_format_of_the_mix(self, mix, counts):
    (draws,) = self._epochs(mix=mix)
    self.assertEqual(sorted(draw[0] for draw in draws), list(range(self.samples)))
    self.assertEqual(collections.Counter(draw[1] for draw in draws), counts)

  def test_pixels_are_the_same_in_any_mix(self):
    pixels = [
      {sample: found for sample, _, found in self._epochs(mix=mix)[0]}
      for mix in ("png", "raw:5,webp:5")
    ]
    self.assertEqual(*pixels)

  def test_a_sample_keeps_its_format_for_all_epochs_of_a_cache(self):
    epochs = self._epochs(3, mix="png:1,raw:1", cache="50%")
    formats = [{sample: name for sample, name, _ in draws} for draws in epochs]
    self.assertEqual(formats[0], formats[1])
    self.assertEqual(formats[0], formats[2])
    self.assertNotEqual(epochs[0], epochs[1])

  @parameterized.parameters("pad", "drop", "uneven")
  def test_shards_share_out_the_mix(self, policy):
    parts = [
      self._epochs(mix="png:7,raw:3", shard=(i, 3), shard_policy=policy)[0]
      for i in range(3)
    ]
    sizes = {len(part) for part in parts}
    ids = [draw[0] for part in parts for draw in part]
    if policy != "uneven":
      self.assertLen(sizes, 1)
    if policy != "drop":
      self.assertEqual(set(ids), set(range(self.samples)))
    self.assertLessEqual(len(ids) - len(set(ids)), 3 if policy == "pad" else 0)

  def test_unknown_formats_and_other_datasets_are_refused(self):
    with self.assertRaisesRegex(ValueError, r'mix: format \("l3"\) must be one of'):
      liquid_tf.dataset(self.path, mix="l3")
    with self.assertRaisesRegex(ValueError, "must look like"):
      liquid_tf.dataset(self.path, mix="png:1,raw")
    plain = runs.make(self.create_tempdir().full_path, "png:1,raw:1", per_class=4)
    with self.assertRaisesRegex(ValueError, r"has one encoding of each sample"):
      liquid_tf.dataset(plain, mix="png")


if __name__ == "__main__":
  tf.test.main()
