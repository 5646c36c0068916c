"""What a batch holds: images of one size or not, windows, masks, stored bytes."""

import io
import os
import shutil
import tempfile

import numpy as np
import photos
import runs
import stored
import tensorflow as tf
from PIL import Image

import liquid_tf
from liquid_tf import transforms


class UnequalSizesTest(tf.test.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    root = tempfile.mkdtemp()
    cls.addClassCleanup(shutil.rmtree, root)
    cls.path = runs.make(root, "png:1,raw:1,webp:1", per_class=8, sides=(24, 60))
    cls.images = {record["id"]: record["image"] for record in stored.records(cls.path)}

  def _dataset(self, batch_size=8, **options):
    return liquid_tf.dataset(self.path, batch_size, seed=1, **options)

  def test_one_size_is_asked_for(self):
    with self.assertRaisesRegex(
      ValueError,
      r"differ in size: transforms must have a crop, .* or Ragged\(\)",
    ):
      self._dataset()

  def test_one_sample_at_a_time_has_its_own_size(self):
    dataset = self._dataset(None, features=["id", "image"])
    self.assertEqual(dataset.element_spec["image"].shape.as_list(), [None, None, 3])
    samples = list(dataset)
    self.assertLen(samples, len(self.images))
    for sample in samples:
      self.assertIsInstance(sample["image"], tf.Tensor)
      np.testing.assert_array_equal(
        sample["image"], self.images[int(sample["id"].numpy())]
      )
    crop = transforms.RandomCrop((20, 24))
    fixed = self._dataset(None, transforms=[crop]).element_spec[0]
    self.assertEqual(fixed.shape.as_list(), [20, 24, 3])
    window = [transforms.RandomResizedCrop(None), transforms.Normalize(3)]
    for image, _ in self._dataset(None, transforms=window).take(3):
      self.assertIsInstance(image, tf.Tensor)
      self.assertEqual(image.dtype, tf.float32)

  def test_one_sample_at_a_time_with_channels_first(self):
    whole = self._dataset(None)
    first = self._dataset(None, transforms=[transforms.ChannelsFirst()])
    self.assertEqual(first.element_spec[0].shape.as_list(), [3, None, None])
    for (image, _), (planar, _) in zip(whole, first, strict=True):
      np.testing.assert_array_equal(planar, np.transpose(image, (2, 0, 1)))
    named = self._dataset(
      None, features=["image"], transforms=[transforms.ChannelsFirst()]
    )
    self.assertEqual(named.element_spec["image"].shape.as_list(), [3, None, None])

  def test_random_windows_lie_in_the_image_and_move(self):
    dataset = self._dataset(
      transforms=[transforms.RandomCrop((20, 24))], features=["id", "image", "window"]
    )
    seen = {}
    for _ in range(2):
      for batch in dataset:
        for sample, image, (y, x, height, width) in zip(
          batch["id"].numpy(), batch["image"].numpy(), batch["window"].numpy()
        ):
          self.assertEqual((height, width), (20, 24))
          whole = self.images[sample]
          np.testing.assert_array_equal(image, whole[y : y + 20, x : x + 24])
          seen.setdefault(sample, set()).add((y, x))
    self.assertLen(seen, 32)
    moved = sum(len(places) == 2 for places in seen.values())
    self.assertGreater(moved, 20)

  def test_windows_are_centred_in_stored_order(self):
    dataset = self._dataset(
      transforms=[transforms.CenterCrop((20, 24))],
      features=["id", "window"],
      shuffle=False,
    )
    for batch in dataset:
      for sample, window in zip(batch["id"].numpy(), batch["window"].numpy()):
        height, width = self.images[sample].shape[:2]
        top, left = round((height - 20) / 2), round((width - 24) / 2)
        self.assertEqual(window.tolist(), [top, left, 20, 24])

  def test_windows_larger_than_an_image(self):
    with self.assertRaisesRegex(ValueError, "RandomCrop.* must fit every image"):
      self._dataset(transforms=[transforms.RandomCrop(50)])
    fitting = {i for i, image in self.images.items() if min(image.shape[:2]) >= 50}
    dataset = self._dataset(
      transforms=[transforms.RandomCrop(50)],
      features=["id", "image"],
      on_error="skip",
    )
    self.assertEqual(set(runs.flat(runs.ids(dataset))), fitting)
    self.assertEqual(
      liquid_tf.stats(dataset).summary()["skipped"]["count"], 32 - len(fitting)
    )

  def test_ragged(self):
    dataset = self._dataset(transforms=[transforms.Ragged()], features=["id", "image"])
    count = 0
    for batch in dataset:
      self.assertIsInstance(batch["image"], tf.RaggedTensor)
      self.assertEqual(batch["image"].shape.as_list(), [8, None, None, 3])
      for sample, image in zip(batch["id"].numpy(), batch["image"]):
        np.testing.assert_array_equal(image.to_tensor().numpy(), self.images[sample])
        count += 1
    self.assertEqual(count, 32)

  def test_resized(self):
    dataset = self._dataset(
      transforms=[transforms.Resize((16, 20), antialias=False)],
      features=["id", "image"],
    )
    self.assertEqual(dataset.element_spec["image"].shape.as_list()[1:], [16, 20, 3])
    for batch in dataset.take(2):
      self.assertEqual(batch["image"].dtype, tf.uint8)
      for sample, image in zip(batch["id"].numpy(), batch["image"].numpy()):
        wanted = tf.round(tf.image.resize(self.images[sample], (16, 20)))
        np.testing.assert_array_equal(image, tf.cast(wanted, tf.uint8))

  def test_one_at_a_time(self):
    dataset = self._dataset(None, transforms=[transforms.RandomCrop((20, 24))])
    self.assertEqual(
      [spec.shape.as_list() for spec in dataset.element_spec], [[20, 24, 3], []]
    )
    self.assertLen(list(dataset), 32)

  def test_stored_bytes(self):
    contents = {r["id"]: r["contents"] for r in stored.records(self.path)}
    dataset = self._dataset(features=["id", "bytes", "format"])
    for batch in dataset:
      for sample, data, name in zip(
        *(batch[k].numpy() for k in ("id", "bytes", "format"))
      ):
        self.assertEqual(data, contents[sample])
        if name == b"png":
          with Image.open(io.BytesIO(data)) as image:
            np.testing.assert_array_equal(np.asarray(image), self.images[sample])


class MaskTest(tf.test.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    root = tempfile.mkdtemp()
    cls.addClassCleanup(shutil.rmtree, root)
    random = np.random.default_rng(4)
    source = photos.photo("astronaut")
    for i in range(12):
      image = photos.crop(source, (40, 48), random)
      # The mask says where the image is bright, so that a window can be checked.
      mask = (image.mean(-1) > 100).astype(np.uint8) * 7
      photos.save(os.path.join(root, "images", f"{i:02}.png"), image)
      photos.save(os.path.join(root, "masks", f"{i:02}.png"), mask)
    cls.path = os.path.join(root, "dataset")
    liquid_tf.convert(
      liquid_tf.Source(os.path.join(root, "images"), masks=os.path.join(root, "masks")),
      cls.path,
      "png:1,raw:1",
      progress=False,
    )

  def test_supervised_pairs_share_the_window(self):
    dataset = liquid_tf.dataset(
      self.path, 4, transforms=[transforms.RandomCrop((16, 24))], seed=3
    )
    image_spec, mask_spec = dataset.element_spec
    self.assertEqual(image_spec.shape.as_list()[1:], [16, 24, 3])
    self.assertEqual(mask_spec.shape.as_list()[1:], [16, 24, 1])
    ones = 0
    for images, masks in dataset:
      bright = images.numpy().mean(-1, keepdims=True) > 100
      np.testing.assert_array_equal(masks.numpy(), bright.astype(np.uint8) * 7)
      ones += bright.sum()
    self.assertGreater(ones, 0)

  def test_whole_and_resized(self):
    images, masks = next(iter(liquid_tf.dataset(self.path, 12)))
    self.assertEqual(images.shape.as_list(), [12, 40, 48, 3])
    self.assertEqual(masks.shape.as_list(), [12, 40, 48, 1])
    images, masks = next(
      iter(
        liquid_tf.dataset(
          self.path, 12, transforms=[transforms.Resize((20, 24), antialias=False)]
        )
      )
    )
    self.assertEqual(images.shape.as_list(), [12, 20, 24, 3])
    # Nearest neighbours invent no class.
    self.assertEqual(set(np.unique(masks.numpy())), {0, 7})

  def test_masks_whose_pixels_are_kept(self):
    def batches(cache_form):
      dataset = liquid_tf.dataset(
        self.path,
        4,
        transforms=[transforms.RandomCrop((16, 24))],
        cache=liquid_tf.Cache("60%", cache_form),
        seed=3,
      )
      found = [[b.numpy() for b in batch] for _ in range(3) for batch in dataset]
      return found, liquid_tf.stats(dataset).summary()["decodes"]

    (encoded, decodes), (pixels, fewer) = batches("encoded"), batches("pixels")
    for found, wanted in zip(pixels, encoded, strict=True):
      np.testing.assert_array_equal(found[0], wanted[0])
      np.testing.assert_array_equal(found[1], wanted[1])
    # 6 of 12 are held in each of two epochs: 3 of each format.
    self.assertEqual((decodes, fewer), (36, 24))

  def test_ragged_masks(self):
    batches = list(liquid_tf.dataset(self.path, 5, transforms=[transforms.Ragged()]))
    self.assertNotEmpty(batches)
    for images, masks in batches:
      bright = np.mean(images.to_tensor().numpy(), -1, keepdims=True) > 100
      np.testing.assert_array_equal(
        masks.to_tensor().numpy(), bright.astype(np.uint8) * 7
      )


class ArgumentsTest(tf.test.TestCase):
  def test_wrong_ones_are_named(self):
    root = self.create_tempdir().full_path
    path = runs.make(root, "raw", per_class=3)
    for options, message in (
      ({"batch_size": 0}, r"batch_size \(0\) must be a number of at least 1, or None"),
      ({"batch_size": True}, "batch_size .*must be a number"),
      ({"cache": "0.3"}, "cache .*must be a share"),
      ({"split": "test"}, r'split \("test"\): "test" must be one of "train"'),
      ({"features": ["box"]}, r'features \("box"\) must be of .*image'),
      ({"features": ["name"]}, r"view.names\(ids\) has those of samples"),
      ({"features": []}, "must be one or more"),
      ({"transforms": "crop"}, "transforms: 'c' must be a step of a dataset"),
      ({"decode": "gpu"}, r'decode \("gpu"\) must be "cpu" here'),
      (
        {"decode": "none"},
        r'must be "cpu" or "gpu", or .*; give features=\["bytes", …\]',
      ),
      ({"on_error": "ignore"}, r'on_error \("ignore"\) must be "raise" or "skip"'),
      ({"shard": (2, 2)}, r"shard \(\(2, 2\)\) must be \(index, count\)"),
      ({"shard_policy": "x"}, "shard_policy .*must be one of pad, drop, uneven"),
      ({"cache": "-1"}, r'cache \("-1"\) must be a share'),
      ({"cache": "130%"}, "must be at most 100%"),
      ({"memory": "lots"}, r'memory \("lots"\) must be bytes'),
      ({"start": (0, -1)}, r"step of start \(-1\) must be"),
      ({"start": (-1, 0)}, r"epoch of start \(-1\) must be"),
      ({"start": 3}, r"start \(3\) must be \(epoch, step\)"),
      ({"features": "image"}, r"\(.image.\) must be a list .* features=\['image'\]"),
      ({"cache": "30"}, r'cache \("30"\) must have a unit: "30%" .* "30MiB"'),
      ({"tuning": 8}, r"tuning \(8\) must be a liquid_tf.graph.Tuning"),
      ({"seed": 1.5}, r"seed \(1.5\) must be a whole number"),
    ):
      with self.subTest(message), self.assertRaisesRegex(ValueError, message):
        liquid_tf.dataset(path, **options)


if __name__ == "__main__":
  tf.test.main()
