"""Random windows, mirroring, resizing, normalising: against NumPy and tf.image."""

import os
import shutil
import tempfile

import numpy as np
import photos
import runs
import stored
import tensorflow as tf
from absl.testing import parameterized

import liquid_tf

_SIZED = {
  "crop": liquid_tf.RandomResizedCrop(scale=(0.1, 0.9)),
  "image_size": (18, 14),
  "mirror": True,
}


def _all(dataset, name):
  return np.concatenate([batch[name].numpy() for batch in dataset])


class ImageOptionsTest(parameterized.TestCase, tf.test.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    root = tempfile.mkdtemp()
    cls.addClassCleanup(shutil.rmtree, root)
    cls.path = runs.make(root, "png:1,raw:1,l3:1", per_class=25, sides=(24, 60))
    cls.images = {record["id"]: record["image"] for record in stored.records(cls.path)}

  def _dataset(self, batch_size=32, **options):
    options = {"features": ["id", "image", "window", "mirrored"], "seed": 1, **options}
    return liquid_tf.dataset(self.path, batch_size, **options)

  def _samples(self, dataset):
    for batch in dataset:
      yield from zip(*(batch[k].numpy() for k in ("id", "image", "window", "mirrored")))

  @parameterized.named_parameters(
    ("random_size", _SIZED),
    ("random_place", {"crop": (20, 24), "mirror": True}),
    ("random_place_and_resized", {"crop": (20, 24), "image_size": (40, 11)}),
    ("whole", {"image_size": (30, 30), "mirror": True}),
  )
  def test_images_are_those_of_tf_image(self, options):
    found, mirrored_ones = 0, 0
    for sample, image, (y, x, height, width), mirrored in self._samples(
      self._dataset(**options)
    ):
      wanted = self.images[sample][y : y + height, x : x + width]
      if "image_size" in options:
        wanted = tf.round(tf.image.resize(wanted, options["image_size"])).numpy()
      if mirrored:
        wanted = wanted[:, ::-1]
      np.testing.assert_array_equal(image, wanted)
      found += 1
      mirrored_ones += mirrored
    self.assertEqual(found, 100)
    if "mirror" in options:
      self.assertBetween(mirrored_ones, 30, 70)
    else:
      self.assertEqual(mirrored_ones, 0)

  def test_windows_have_the_sizes_that_were_asked_for(self):
    crop = liquid_tf.RandomResizedCrop(scale=(0.2, 0.4), ratio=(0.8, 1.25))
    dataset = self._dataset(crop=crop, image_size=(8, 8)).repeat(20)
    areas = []
    for sample, _, (_, _, height, width), _ in self._samples(dataset):
      whole = self.images[sample].shape
      areas.append(height * width / whole[0] / whole[1])
      # Whole pixels: the smallest window is 10 x 10 or so.
      self.assertBetween(width / height, 0.8 / 1.15, 1.25 * 1.15)
      self.assertBetween(areas[-1], 0.2 / 1.15, 0.4 * 1.15)
    # Uniform: the mean of 2,000 deviates by .0013.
    self.assertAlmostEqual(np.mean(areas), 0.3, delta=0.006)

  def test_runs_repeat_to_the_pixel(self):
    dataset = self._dataset(**_SIZED)
    first, second = runs.digests(dataset), runs.digests(dataset)
    self.assertNotEqual(first, second)
    for options in ({"threads": 1, "parallelism": 1}, {"threads": 8, "parallelism": 4}):
      again = self._dataset(**_SIZED, **options)
      self.assertEqual([runs.digests(again), runs.digests(again)], [first, second])
    self.assertNotEqual(runs.digests(self._dataset(**_SIZED, seed=2)), first)

  @parameterized.parameters(False, True)
  def test_a_restored_iterator_goes_on_with_the_same_pixels(self, symbolic):
    options = tf.data.Options()
    options.experimental_symbolic_checkpoint = symbolic

    def iterator():
      dataset = self._dataset(8, **_SIZED, mean=100, last_batch="repeat").repeat(2)
      return iter(dataset.with_options(options))

    whole = [batch["image"].numpy() for batch in iterator()]
    saved = iterator()
    for _ in range(15):
      next(saved)
    prefix = os.path.join(self.create_tempdir().full_path, "it")
    written = tf.train.Checkpoint(it=saved).write(prefix)
    restored = iterator()
    tf.train.Checkpoint(it=restored).read(written).assert_consumed()
    rest = [batch["image"].numpy() for batch in restored]
    self.assertLen(rest, len(whole) - 15)
    for found, wanted in zip(rest, whole[15:]):
      np.testing.assert_array_equal(found, wanted)

  @parameterized.product(
    dtype=(None, "float16", tf.bfloat16, np.float32), layout=("NHWC", "NCHW")
  )
  def test_normalising(self, dtype, layout):
    mean, std = np.float32([123.68, 116.78, 103.94]), np.float32([58.4, 57.1, 57.4])
    plain = _all(self._dataset(**_SIZED), "image")
    dataset = self._dataset(**_SIZED, mean=mean, std=std, dtype=dtype, layout=layout)
    wanted = (plain.astype(np.float32) - mean) / std
    if layout == "NCHW":
      wanted = wanted.transpose(0, 3, 1, 2)
    spec = dataset.element_spec["image"]
    self.assertEqual(spec.dtype, tf.as_dtype(dtype or "float32"))
    self.assertEqual(spec.shape.as_list()[1:], list(wanted.shape[1:]))
    np.testing.assert_array_equal(
      _all(dataset, "image"), tf.cast(wanted, spec.dtype).numpy()
    )

  def test_one_mean_or_none(self):
    plain = _all(self._dataset(**_SIZED), "image").astype(np.float32)
    for options, wanted in (
      ({"mean": 10}, plain - 10),
      ({"std": 255}, plain / np.float32(255)),
      ({"dtype": "float32"}, plain),
      ({"dtype": "uint8"}, plain),
    ):
      found = _all(self._dataset(**_SIZED, **options), "image")
      np.testing.assert_array_equal(found, wanted)

  def test_ragged_images(self):
    plain = next(iter(self._dataset(16, ragged=True)))
    dataset = self._dataset(16, ragged=True, mirror=True, mean=10, last_batch="repeat")
    batch = next(iter(dataset))
    self.assertIsInstance(batch["image"], tf.RaggedTensor)
    for before, after, mirrored in zip(
      plain["image"], batch["image"], batch["mirrored"].numpy()
    ):
      wanted = before.to_tensor().numpy().astype(np.float32) - 10
      np.testing.assert_array_equal(
        after.to_tensor().numpy(), wanted[:, ::-1] if mirrored else wanted
      )
    sizes = [len(batch["id"]) for batch in dataset]
    self.assertEqual(sizes, [16] * 7)

  def test_the_last_batch_is_filled_with_its_samples(self):
    plain = [batch["id"].numpy() for batch in self._dataset(**_SIZED)]
    dataset = self._dataset(**_SIZED, last_batch="repeat")
    self.assertEqual(dataset.element_spec["image"].shape.as_list(), [32, 18, 14, 3])
    batches = list(dataset)
    self.assertEqual([len(ids) for ids in plain], [32, 32, 32, 4])
    for ids, batch in zip(plain, batches):
      np.testing.assert_array_equal(batch["id"].numpy(), np.resize(ids, 32))
    images = batches[-1]["image"].numpy()
    np.testing.assert_array_equal(images, np.tile(images[:4], (8, 1, 1, 1)))
    self.assertEqual(liquid_tf.stats(dataset).summary()["samples"], 100)

  def test_options_are_part_of_the_graph(self):
    dataset = self._dataset(**_SIZED, mean=1.5, last_batch="repeat", epoch=0)
    graph = tf.raw_ops.DatasetToGraphV2(input_dataset=dataset._variant_tensor)
    again = tf.data.experimental.from_variant(
      tf.raw_ops.DatasetFromGraph(graph_def=graph), dataset.element_spec
    )
    np.testing.assert_array_equal(_all(again, "image"), _all(dataset, "image"))

  @parameterized.parameters(
    ({"crop": liquid_tf.RandomResizedCrop()}, "must come with image_size="),
    (
      {"crop": liquid_tf.RandomResizedCrop(), "image_size": (4, 4), "shuffle": False},
      "crop .*stored order: for validation give crop=",
    ),
    ({"mirror": True, "shuffle": False, "image_size": (4, 4)}, r"mirror \(True\) must"),
    ({"mirror": True, "decode": "none"}, r"mirror \(True\) needs pixels"),
    ({"mean": 1, "decode": "none"}, r"mean \(\(1.0,\)\) needs pixels"),
    ({"mean": "dark"}, r"mean \('dark'\) must be a number"),
    ({"mean": [1, 2]}, r"mean \(\(1.0, 2.0\)\) must be .* 3 channels"),
    ({"std": 0}, r"std \(0\) must be a number above 0"),
    ({"std": [1, float("nan"), 1]}, "std .*must be a number above 0"),
    ({"dtype": "string"}, r"dtype \(string\) must be one of float32, float16"),
    ({"dtype": "pixels"}, r"dtype \('pixels'\) must be a type"),
    ({"dtype": "uint8", "mean": 3}, r"dtype \(uint8\) must be one of float32"),
    ({"layout": "CHW"}, r"layout \('CHW'\) must be one of NHWC, NCHW"),
    ({"layout": "NCHW", "ragged": True}, r'layout \("NCHW"\) must be "NHWC"'),
    ({"last_batch": "round"}, r"last_batch \('round'\) must be one of short, drop"),
    ({"last_batch": "repeat", "batch_size": None}, r'\("repeat"\) must be "short"'),
    ({"last_batch": "drop", "batch_size": None}, r'\("drop"\) must be "short"'),
  )
  def test_wrong_options(self, options, message):
    with self.assertRaisesRegex(ValueError, message):
      self._dataset(**options)

  @parameterized.parameters(
    ({"scale": (0, 1)}, r"scale \(\(0, 1\)\) must be two rising numbers, above 0"),
    ({"scale": (0.5, 1.5)}, "scale .* at most 1"),
    ({"scale": 0.5}, "scale"),
    ({"ratio": (2, 1)}, r"ratio \(\(2, 1\)\) must be two rising numbers, from 0.001"),
    ({"ratio": (1, float("nan"))}, "ratio"),
  )
  def test_wrong_windows(self, options, message):
    with self.assertRaisesRegex(ValueError, message):
      liquid_tf.RandomResizedCrop(**options)


class MaskTest(tf.test.TestCase):
  def test_masks_follow_their_images(self):
    root = self.create_tempdir().full_path
    random = np.random.default_rng(4)
    source = photos.photo("astronaut")
    masks = {}
    for i in range(12):
      photos.save(
        os.path.join(root, "images", f"{i:02}.png"),
        photos.crop(source, (40, 48), random),
      )
      masks[i] = random.integers(0, 256, (40, 48), np.uint8)
      photos.save(os.path.join(root, "masks", f"{i:02}.png"), masks[i])
    path = os.path.join(root, "dataset")
    liquid_tf.convert(
      os.path.join(root, "images"),
      path,
      "png:1,raw:1",
      masks=os.path.join(root, "masks"),
      progress=False,
    )
    names = ["id", "mask", "window", "mirrored", "image"]
    order = {record["id"]: record["image"] for record in stored.records(path)}
    dataset = liquid_tf.dataset(path, 4, features=names, mean=1, **_SIZED)
    whole = {
      sample: mask
      for batch in liquid_tf.dataset(path, 4, features=["id", "mask"])
      for sample, mask in zip(batch["id"].numpy(), batch["mask"].numpy())
    }
    self.assertLen(order, 12)
    for batch in dataset:
      self.assertEqual(batch["mask"].dtype, tf.uint8)
      for sample, mask, (y, x, height, width), mirrored in zip(
        *(batch[name].numpy() for name in names[:-1])
      ):
        wanted = tf.image.resize(
          whole[sample][y : y + height, x : x + width], (18, 14), method="nearest"
        ).numpy()
        np.testing.assert_array_equal(mask, wanted[:, ::-1] if mirrored else wanted)


if __name__ == "__main__":
  tf.test.main()
