"""Of few samples, or one at a time: what comes out, and what cannot."""

import os
import shutil
import tempfile

import numpy as np
import runs
import tensorflow as tf
from absl.testing import parameterized

import liquid_tf


class NoBatchTest(parameterized.TestCase, tf.test.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.root = tempfile.mkdtemp()
    cls.addClassCleanup(shutil.rmtree, cls.root)
    cls.path = runs.make(cls.root, per_class=5, splits="train:.7,val:.3")
    cls.view = liquid_tf.open(cls.path)

  def _refused(self, make, samples, batch_size):
    with self.assertRaisesRegex(
      ValueError,
      rf'last_batch \("drop"\) leaves no batch of .*: batch_size \({batch_size}\) must '
      rf"be at most {samples}, ",
    ):
      make(batch_size=batch_size, last_batch="drop")

  def test_fewer_samples_than_a_batch(self):
    path, view = self.path, self.view
    count = len(view.split("train"))

    def dataset(path, **more):
      return lambda **options: liquid_tf.dataset(path, **more, **options)

    self._refused(dataset(path), count, 32)
    self._refused(dataset(path, shuffle=False), count, count + 1)
    self._refused(dataset(path, split="val"), len(view.split("val")), 9)
    self._refused(dataset(view.take([1, 4, 7])), 3, 4)
    # A worker's part: the whole has batches enough.
    self._refused(dataset(path, shard=(2, 3)), -(-count // 3), 8)
    with self.assertRaisesRegex(ValueError, r"of shard \(\(2, 3\)\) of <View"):
      liquid_tf.dataset(path, 8, shard=(2, 3), last_batch="drop")
    self._refused(dataset(view.weighted({0: 2}, samples_per_epoch=7)), 7, 8)
    pair = liquid_tf.mixture([(view, 1), (view, 1)], samples_per_epoch=10)
    self._refused(dataset(pair), 10, 11)
    self._refused(lambda **o: liquid_tf.graph.epochs(path, 2, **o), count, 32)
    blocks = [liquid_tf.graph.format_dataset(path, "png", split="val")]
    few = len(blocks[0].rows)
    self._refused(lambda **o: liquid_tf.graph.interleave(blocks, **o), few, few + 1)

  def test_as_many_samples_as_a_batch(self):
    view = self.view.take([1, 4, 7])
    self.assertLen(list(liquid_tf.dataset(view, 3, last_batch="drop")), 1)
    for last_batch in ("short", "repeat"):
      self.assertLen(list(liquid_tf.dataset(view, 4, last_batch=last_batch)), 1)

  def test_workers_without_samples(self):
    view = self.view.take([1, 4])
    for worker, policy in ((2, "uneven"), (0, "drop")):
      with self.assertRaisesRegex(ValueError, "shard .* must have a sample, and has"):
        liquid_tf.dataset(view, 1, shard=(worker, 3), shard_policy=policy)

  def test_a_split_that_was_emptied(self):
    path = os.path.join(self.create_tempdir().full_path, "dataset")
    shutil.copytree(self.path, path)
    liquid_tf.remove(liquid_tf.open(path).split("train"))
    for take in (
      lambda: liquid_tf.dataset(path, 4),
      lambda: liquid_tf.dataset(path, 4, split="train"),
      lambda: liquid_tf.open(path).split("train"),
      lambda: liquid_tf.graph.epochs(path, 1),
    ):
      with self.assertRaisesRegex(ValueError, 'split \\("train"\\) must choose a sam'):
        take()
    self.assertNotEmpty(list(liquid_tf.dataset(path, 4, split="val")))


class StoredTest(tf.test.TestCase):
  """One sample at a time, as it is stored."""

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.root = tempfile.mkdtemp()
    cls.addClassCleanup(shutil.rmtree, cls.root)
    cls.path = runs.make(cls.root, "png:1,webp:1", per_class=5, sides=(20, 40))

  def _bytes(self, **options):
    batches = liquid_tf.dataset(
      self.path, 7, features=["id", "bytes"], cache=0, **options
    )
    return [
      (number, image)
      for batch in batches.as_numpy_iterator()
      for number, image in zip(batch["id"].tolist(), batch["bytes"])
    ]

  def test_bytes_of_images_of_any_size(self):
    wanted = dict(self._bytes())
    labels = {sample["id"]: sample["label"] for sample in liquid_tf.open(self.path)}
    singles = liquid_tf.dataset(self.path, None, features=["bytes", "label"])
    image, label = (singles.element_spec[name] for name in ("bytes", "label"))
    self.assertEqual((image.dtype, image.shape.rank), (tf.string, 0))
    self.assertEqual((label.dtype, label.shape.rank), (tf.int64, 0))
    self.assertLen(singles, 20)
    self.assertCountEqual(
      [(x["bytes"], x["label"]) for x in singles.as_numpy_iterator()],
      [(wanted[number], labels[number]) for number in wanted],
    )

  def test_with_features_and_of_views(self):
    wanted = dict(self._bytes())
    view = liquid_tf.open(self.path).take([2, 3, 11])
    for features in (["id", "bytes"], ["bytes", "id", "size"]):
      singles = liquid_tf.dataset(view, None, features=features)
      found = {int(one["id"]): one["bytes"].numpy() for one in singles}
      self.assertEqual(found, {number: wanted[number] for number in (2, 3, 11)})
    decoded = liquid_tf.dataset(view, None, features=["id", "image", "bytes"])
    for one in decoded:
      self.assertEqual(one["image"].shape.rank, 3)
      self.assertEqual(one["bytes"].numpy(), wanted[int(one["id"])])

  def test_windows_go_with_bytes(self):
    steps = [liquid_tf.transforms.RandomCrop(16), liquid_tf.transforms.Seed(1)]
    for one in liquid_tf.dataset(
      self.path, None, transforms=steps, features=["bytes", "window"]
    ):
      self.assertAllEqual(one["window"][2:], [16, 16])

  def test_masks_of_any_size_beside_bytes(self):
    root = self.create_tempdir().full_path
    path = os.path.join(root, "masked.liquid")
    random = np.random.default_rng(0)
    for name, channels in (("images", 3), ("masks", 1)):
      os.makedirs(f"{root}/{name}")
      for i in range(4):
        pixels = random.integers(0, 9, (8 + i, 12, channels), dtype=np.uint8)
        tf.io.write_file(f"{root}/{name}/{i}.png", tf.io.encode_png(pixels))
    source = liquid_tf.Source(f"{root}/images", masks=f"{root}/masks")
    liquid_tf.convert(source, path, "png:1", progress=False)
    heights = {sample["id"]: len(sample["mask"]) for sample in liquid_tf.open(path)}
    features = ["id", "bytes", "mask"]
    for one in liquid_tf.dataset(path, None, features=features):
      self.assertEqual(one["bytes"].dtype, tf.string)
      self.assertEqual(one["mask"].shape, [heights[int(one["id"])], 12, 1])
    ragged = [liquid_tf.transforms.Ragged()]
    [batch] = liquid_tf.dataset(path, 4, features=features, transforms=ragged)
    self.assertIsInstance(batch["mask"], tf.RaggedTensor)
    planar = [liquid_tf.transforms.ChannelsFirst()]
    for one in liquid_tf.dataset(
      path, None, features=["id", "mask"], transforms=planar
    ):
      self.assertEqual(one["mask"].shape, [heights[int(one["id"])], 12, 1])


if __name__ == "__main__":
  tf.test.main()
