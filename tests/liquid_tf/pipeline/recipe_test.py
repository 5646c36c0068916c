"""Random windows, mirroring, resizing, normalising: against NumPy and tf.image."""

import hashlib
import math
import os
import pathlib
import re
import shutil
import tempfile

import numpy as np
import photos
import runs
import stored
import tensorflow as tf
from absl.testing import parameterized
from PIL import Image

import liquid_tf
from liquid_tf._graph.build import build
from liquid_tf._pipeline.arguments import Arguments
from liquid_tf.transforms import (
  Cast,
  CenterCrop,
  ChannelsFirst,
  ColorJitter,
  Grayscale,
  Mirror,
  Normalize,
  Pad,
  Ragged,
  RandomCrop,
  RandomErasing,
  RandomResizedCrop,
  Resize,
  Rotate,
)

_SIZED = [RandomResizedCrop((18, 14), scale=(0.1, 0.9), antialias=False), Mirror()]


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

  def _dataset(self, *transforms, batch_size=32, **options):
    options["transforms"] = transforms
    options = {"features": ["id", "image", "window", "mirrored"], "seed": 1, **options}
    return liquid_tf.dataset(self.path, batch_size, **options)

  def _samples(self, dataset):
    for batch in dataset:
      yield from zip(*(batch[k].numpy() for k in ("id", "image", "window", "mirrored")))

  @parameterized.named_parameters(
    ("random_size", _SIZED, (18, 14)),
    ("random_place", [RandomCrop((20, 24)), Mirror()], None),
    (
      "random_place_and_resized",
      [RandomCrop((20, 24)), Resize((40, 11), antialias=False)],
      (40, 11),
    ),
    ("centre", [Mirror(), CenterCrop((20, 24))], None),
    ("whole", [Resize((30, 30), antialias=False), Mirror()], (30, 30)),
  )
  def test_images_are_those_of_tf_image(self, steps, size):
    found, mirrored_ones = 0, 0
    for sample, image, (y, x, height, width), mirrored in self._samples(
      self._dataset(*steps)
    ):
      if CenterCrop((20, 24)) in steps:
        whole = self.images[sample].shape
        self.assertEqual(
          (y, x), (round((whole[0] - 20) / 2), round((whole[1] - 24) / 2))
        )
      wanted = self.images[sample][y : y + height, x : x + width]
      if size:
        wanted = tf.round(tf.image.resize(wanted, size)).numpy()
      if mirrored:
        wanted = wanted[:, ::-1]
      np.testing.assert_array_equal(image, wanted)
      found += 1
      mirrored_ones += mirrored
    self.assertEqual(found, 100)
    if Mirror() in steps:
      self.assertBetween(mirrored_ones, 30, 70)
    else:
      self.assertEqual(mirrored_ones, 0)

  def test_windows_have_the_sizes_that_were_asked_for(self):
    crop = RandomResizedCrop(8, (0.2, 0.4), (0.8, 1.25), antialias=False)
    dataset = self._dataset(crop).repeat(20)
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
    dataset = self._dataset(*_SIZED)
    first, second = runs.digests(dataset), runs.digests(dataset)
    self.assertNotEqual(first, second)
    for options in (
      {"tuning": liquid_tf.graph.Tuning(threads=1, parallelism=1)},
      {"tuning": liquid_tf.graph.Tuning(threads=8, parallelism=4)},
    ):
      again = self._dataset(*_SIZED, **options)
      self.assertEqual([runs.digests(again), runs.digests(again)], [first, second])
    self.assertNotEqual(runs.digests(self._dataset(*_SIZED, seed=2)), first)

  def test_every_random_step_repeats_to_the_pixel(self):
    steps = [
      RandomCrop((20, 24)),
      Resize(longer=40),
      Pad(44, 9),
      RandomCrop(32),
      Mirror(0.3),
      Rotate(40),
      ColorJitter(0.4, 0.4, 0.4, 0.1),
      Grayscale(0.2),
      Normalize(9),
      RandomErasing(0.5, value="noise"),
    ]
    for i, step in enumerate(steps):
      if not step.random:
        continue
      some = [one for one in steps if one is step or not one.random]
      if i == 0:
        some.remove(steps[2])
      found = {
        runs.digests(self._dataset(*some, **options))[0]
        for options in (
          {"tuning": liquid_tf.graph.Tuning(threads=1, parallelism=1)},
          {"tuning": liquid_tf.graph.Tuning(threads=8, parallelism=4)},
        )
      }
      self.assertLen(found, 1, step)
      other = runs.digests(self._dataset(*some, seed=2))[0]
      self.assertNotIn(other, found, step)

  def test_golden_pixels(self):
    """The same with every TensorFlow, on every machine."""
    steps = [
      RandomResizedCrop(24),
      Mirror(),
      Rotate(15),
      ColorJitter(0.4, 0.4, 0.4, 0.1),
      Grayscale(0.1),
      Normalize((120, 110, 100), (60, 61, 62)),
      RandomErasing(0.5, value="noise"),
      Cast("bfloat16"),
      ChannelsFirst(),
    ]
    source = self.create_tempdir().full_path
    for i in range(12):
      ramp = np.arange(40 * (30 + i) * 3) * (i + 7) // 5 % 256
      pixels = ramp.astype(np.uint8).reshape(40, 30 + i, 3)
      photos.save(os.path.join(source, f"{i:02}.png"), pixels)
    path = os.path.join(self.create_tempdir().full_path, "dataset")
    liquid_tf.convert(source, path, "l3", progress=False)
    dataset = liquid_tf.dataset(path, 12, seed=3, transforms=steps, features=["image"])
    pixels = next(iter(dataset))["image"]
    digest = hashlib.sha256(tf.bitcast(pixels, tf.uint16).numpy().tobytes())
    self.assertEqual(digest.hexdigest()[:16], "d7a0f31557f76172")

  def test_erased_rectangles(self):
    normalize = Normalize(100, 50)
    plain = _all(self._dataset(*_SIZED, normalize), "image")
    erase = RandomErasing(0.5, (0.1, 0.3), (0.5, 2), value=(7, 8, 9))
    erased = _all(self._dataset(*_SIZED, normalize, erase), "image")
    noise = RandomErasing(0.5, (0.1, 0.3), (0.5, 2), value="noise")
    noisy = _all(self._dataset(*_SIZED, normalize, noise), "image")
    found, values = 0, []
    for before, after, loud in zip(plain, erased, noisy):
      changed = (after == [7, 8, 9]).all(-1)
      np.testing.assert_array_equal(after[~changed], before[~changed])
      # The rectangle does not depend on what fills it.
      np.testing.assert_array_equal(loud[~changed], before[~changed])
      if not changed.any():
        continue
      found += 1
      y, x = (np.flatnonzero(changed.any(axis)) for axis in (1, 0))
      height, width = np.ptp(y) + 1, np.ptp(x) + 1
      self.assertEqual(changed.sum(), height * width)
      # Sides are rounded.
      self.assertBetween(height * width / (18 * 14), 0.06, 0.36)
      self.assertBetween(height / width, 0.35, 2.8)
      values.append(loud[changed].ravel())
    self.assertBetween(found, 32, 68)
    values = np.concatenate(values)
    self.assertAlmostEqual(values.mean(), 0, delta=0.06)
    self.assertAlmostEqual(values.std(), 1, delta=0.04)
    self.assertGreater(len(np.unique(values)), 0.99 * len(values))
    planar = _all(self._dataset(*_SIZED, normalize, noise, ChannelsFirst()), "image")
    np.testing.assert_array_equal(planar.transpose(0, 2, 3, 1), noisy)
    steps = [*_SIZED, normalize, noise, Cast("bfloat16")]
    rounded = tf.cast(tf.constant(noisy), tf.bfloat16)
    self.assertAllEqual(_all(self._dataset(*steps), "image"), rounded)

  def test_colours(self):
    plain = _all(self._dataset(*_SIZED), "image")
    gray = _all(self._dataset(*_SIZED, Grayscale(1)), "image")
    for before, after in zip(plain, gray):
      wanted = np.asarray(Image.fromarray(before).convert("L"))
      np.testing.assert_array_equal(after, np.repeat(wanted[..., None], 3, 2))
    some = _all(self._dataset(*_SIZED, Grayscale(0.3)), "image")
    turned = [np.array_equal(a, b) for a, b in zip(some, gray)]
    self.assertBetween(sum(turned), 15, 45)
    for changed, now, before in zip(turned, some, plain):
      if not changed:
        np.testing.assert_array_equal(now, before)
    compared = 0
    bright = _all(self._dataset(*_SIZED, ColorJitter(brightness=0.5)), "image")
    for before, after in zip(plain, bright):
      # What no factor makes too bright.
      dark = before < 160
      if before[dark].sum() < 2000:
        continue
      compared += 1
      factor = after[dark].sum() / before[dark].sum()
      self.assertBetween(factor, 0.47, 1.5)
      # Pillow rounds down.
      np.testing.assert_allclose(after[dark], before[dark] * factor, atol=4)
    self.assertGreater(compared, 50)

  def test_turning(self):
    turned = self._dataset(
      CenterCrop(20), Rotate(90), features=["id", "image", "affine"]
    )
    angles = []
    for batch in turned:
      for sample, image, affine in zip(*(batch[k].numpy() for k in batch)):
        height, width = self.images[sample].shape[:2]
        top, left = round((height - 20) / 2), round((width - 20) / 2)
        crop = Image.fromarray(self.images[sample][top : top + 20, left : left + 20])
        # (y, x) to (y', x'): x' has the sine of the angle beside y.
        angle = math.degrees(math.atan2(affine[1, 0], affine[1, 1]))
        wanted = crop.rotate(angle, Image.Resampling.BILINEAR)
        self.assertLess((image != np.asarray(wanted)).mean(), 0.01)
        angles.append(angle)
    self.assertBetween(np.std(angles), 45, 59)

  def test_a_mean_image(self):
    mean = np.random.default_rng(3).uniform(0, 255, (18, 14, 3)).astype(np.float32)
    path = os.path.join(self.create_tempdir().full_path, "mean.npy")
    np.save(path, mean)
    plain = _all(self._dataset(*_SIZED), "image").astype(np.float32)
    for step in ([], [ChannelsFirst()]):
      found = _all(
        self._dataset(*_SIZED, Normalize(std=7, mean_image=path), *step), "image"
      )
      wanted = (plain - mean) / np.float32(7)
      wanted = wanted.transpose(0, 3, 1, 2) if step else wanted
      np.testing.assert_array_equal(found, wanted)
    with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "mean_image has 18x14"):
      list(self._dataset(CenterCrop(20), Normalize(mean_image=path)))
    with self.assertRaisesRegex(ValueError, "must be a file of numpy.save"):
      self._dataset(*_SIZED, Normalize(mean_image=path + "x"))
    odd = np.zeros((18, 14, 3), np.float32)
    odd[3, 2, 1] = np.nan
    for wrong, message in (
      (odd, "finite numbers; that of row 3, column 2 and channel 1 is nan"),
      (odd[:0], r"not float32 \[0, 14, 3\]"),
      (odd[0], r"not float32 \[14, 3\]"),
      (odd.astype(np.float64), r"not float64 \[18, 14, 3\]"),
    ):
      np.save(path, wrong)
      with self.assertRaisesRegex(ValueError, f"mean_image .* must hold .*{message}"):
        self._dataset(*_SIZED, Normalize(mean_image=path))
    with open(path, "wb"):
      pass
    with self.assertRaisesRegex(ValueError, "mean_image .* must be a file of numpy.s"):
      self._dataset(*_SIZED, Normalize(mean_image=path))

  def test_a_mean_image_is_made_as_the_page_says(self):
    page = (pathlib.Path(__file__).resolve().parents[3] / "docs/images.md").read_text()
    section = page.split("### A mean image")[1].split("### ")[0]
    lines = re.findall(r"```python\n(.*?)```", section, re.DOTALL)[0]
    path = os.path.join(self.create_tempdir().full_path, "mean.npy")
    for name, value in (("photos.liquid", self.path), ("mean.npy", path)):
      self.assertIn(f'"{name}"', lines)
      lines = lines.replace(f'"{name}"', repr(value))
    names = {"liquid_tf": liquid_tf, "np": np}
    exec(lines, {**names, "Resize": Resize, "CenterCrop": CenterCrop})  # noqa: S102
    steps = [Resize(shorter=256), CenterCrop(224)]
    images = _all(self._dataset(*steps), "image")
    self.assertLen(images, len(self.images))
    np.testing.assert_allclose(np.load(path), images.mean(0, "float64"), rtol=1e-6)
    found = _all(self._dataset(*steps, Normalize(mean_image=path)), "image")
    self.assertAllClose(found.mean(0, "float64"), np.zeros((224, 224, 3)), atol=1e-4)

  @parameterized.parameters(False, True)
  def test_a_restored_iterator_goes_on_with_the_same_pixels(self, symbolic):
    options = tf.data.Options()
    options.experimental_symbolic_checkpoint = symbolic

    def dataset():
      return (
        self._dataset(*_SIZED, Normalize(100), batch_size=8, last_batch="repeat")
        .repeat(2)
        .with_options(options)
      )

    saved = iter(dataset())
    for _ in range(15):
      next(saved)
    prefix = os.path.join(self.create_tempdir().full_path, "it")
    tf.train.Checkpoint(iterator=saved).write(prefix)
    rest = runs.restored_digests(dataset(), prefix)
    self.assertNotEmpty(rest)
    self.assertEqual(rest, runs.digests(dataset())[15:])

  @parameterized.product(
    dtype=(None, "float16", tf.bfloat16, np.float32), channels_first=(False, True)
  )
  def test_normalising(self, dtype, channels_first):
    mean, std = np.float32([123.68, 116.78, 103.94]), np.float32([58.4, 57.1, 57.4])
    plain = _all(self._dataset(*_SIZED), "image")
    steps = [*_SIZED, Normalize(mean, std)] + ([Cast(dtype)] if dtype else [])
    dataset = self._dataset(*steps, *[ChannelsFirst()] * channels_first)
    wanted = (plain.astype(np.float32) - mean) / std
    if channels_first:
      wanted = wanted.transpose(0, 3, 1, 2)
    spec = dataset.element_spec["image"]
    self.assertEqual(spec.dtype, tf.as_dtype(dtype or "float32"))
    self.assertEqual(spec.shape.as_list()[1:], list(wanted.shape[1:]))
    np.testing.assert_array_equal(
      _all(dataset, "image"), tf.cast(wanted, spec.dtype).numpy()
    )

  def test_one_mean_or_none(self):
    plain = _all(self._dataset(*_SIZED), "image").astype(np.float32)
    for step, wanted in (
      (Normalize(10), plain - 10),
      (Normalize(std=255), plain / np.float32(255)),
      (Normalize(), plain),
      (Cast("float32"), plain),
    ):
      found = _all(self._dataset(*_SIZED, step), "image")
      self.assertEqual(found.dtype, np.float32)
      np.testing.assert_array_equal(found, wanted)

  def test_ragged_images(self):
    plain = next(iter(self._dataset(Ragged(), batch_size=16)))
    dataset = self._dataset(
      Mirror(), Normalize(10), Ragged(), batch_size=16, last_batch="repeat"
    )
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
    plain = [batch["id"].numpy() for batch in self._dataset(*_SIZED)]
    dataset = self._dataset(*_SIZED, last_batch="repeat")
    self.assertEqual(dataset.element_spec["image"].shape.as_list(), [32, 18, 14, 3])
    batches = list(dataset)
    self.assertEqual([len(ids) for ids in plain], [32, 32, 32, 4])
    for ids, batch in zip(plain, batches):
      np.testing.assert_array_equal(batch["id"].numpy(), np.resize(ids, 32))
    images = batches[-1]["image"].numpy()
    np.testing.assert_array_equal(images, np.tile(images[:4], (8, 1, 1, 1)))
    self.assertEqual(liquid_tf.stats(dataset).summary()["samples"], 100)

  def test_options_are_part_of_the_graph(self):
    dataset = build(
      Arguments(
        self.path,
        features=["id", "image"],
        transforms=[*_SIZED, Normalize(1.5)],
        last_batch="repeat",
        epoch=0,
      )
    )
    graph = tf.raw_ops.DatasetToGraphV2(input_dataset=dataset._variant_tensor)
    again = tf.data.experimental.from_variant(
      tf.raw_ops.DatasetFromGraph(graph_def=graph), dataset.element_spec
    )
    np.testing.assert_array_equal(_all(again, "image"), _all(dataset, "image"))

  @parameterized.parameters(
    ([RandomResizedCrop(None)], {}, r"must have a size, or go with Ragged\(\)"),
    (
      [RandomCrop(4)],
      {"shuffle": False},
      "by chance, .*for validation give CenterCrop",
    ),
    (
      [Resize((4, 4), antialias=False), Mirror()],
      {"shuffle": False},
      r"Mirror\(\) draws",
    ),
    ([Normalize([128, 2])], {}, r"mean \(\[128.0, 2.0\]\) must be .* 3 channels"),
    ([RandomErasing()], {}, r"RandomErasing\(\) needs images of floating-point"),
    (
      [Normalize(9), RandomErasing(value=(1, 2))],
      {},
      r"value \(\[1.0, 2.0\]\) must be .* 3 channels",
    ),
    ([ChannelsFirst(), Ragged()], {}, r"ChannelsFirst\(\) must not go with Ragged\(\)"),
    (
      [RandomResizedCrop(8, antialias=False), Resize((4, 4), antialias=False)],
      {},
      "must not both resize",
    ),
    ([], {"last_batch": "round"}, r'last_batch \("round"\) must be one of short, drop'),
    ([], {"last_batch": "repeat", "batch_size": None}, r'\("repeat"\) must be "short"'),
    ([], {"last_batch": "drop", "batch_size": None}, r'\("drop"\) must be "short"'),
  )
  def test_steps_that_do_not_go_together(self, steps, options, message):
    with self.assertRaisesRegex(ValueError, message):
      self._dataset(*steps, **options)


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
      liquid_tf.Source(os.path.join(root, "images"), masks=os.path.join(root, "masks")),
      path,
      "png:1,raw:1",
      progress=False,
    )
    names = ["id", "mask", "window", "mirrored", "image"]
    order = {record["id"]: record["image"] for record in stored.records(path)}
    steps = [*_SIZED, Normalize(100), RandomErasing(1)]
    dataset = liquid_tf.dataset(path, 4, features=names, transforms=steps)
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
