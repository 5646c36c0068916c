"""Images of odd sizes, and damaged ones, under steps that do or do not fit them."""

import os

import numpy as np
import photos
import tensorflow as tf
from absl.testing import parameterized
from PIL import Image

import liquid_tf
from liquid_tf.transforms import (
  CenterCrop,
  ColorJitter,
  Mirror,
  Normalize,
  Pad,
  RandomCrop,
  RandomResizedCrop,
  Resize,
  Rotate,
)


class SizesTest(tf.test.TestCase, parameterized.TestCase):
  def _convert(self, *images, mix="l3", **options) -> str:
    source = self.create_tempdir().full_path
    for i, image in enumerate(images):
      photos.save(os.path.join(source, f"{i}.png"), image)
    path = os.path.join(self.create_tempdir().full_path, "dataset")
    liquid_tf.convert(source, path, mix, progress=False, **options)
    return path

  def _images(self, path, *steps, **options) -> list[np.ndarray]:
    data = liquid_tf.dataset(
      path, None, transforms=steps, features=["image"], **options
    )
    return [sample["image"] for sample in data.as_numpy_iterator()]

  def test_one_pixel_under_every_step(self):
    pixel = np.array([[[200, 100, 50]]], np.uint8)
    path = self._convert(pixel)
    for steps in (
      [Resize((5, 7))],
      [Resize(shorter=5, interpolation="bicubic")],
      [Resize(longer=5, interpolation="nearest")],
      [Resize((5, 7), antialias=False)],
      [RandomResizedCrop(5), Mirror()],
      [CenterCrop(1), Resize((3, 3)), RandomCrop(2)],
    ):
      [image] = self._images(path, *steps)
      np.testing.assert_array_equal(image, np.broadcast_to(pixel, image.shape))
    [padded] = self._images(path, Pad(3, 9))
    self.assertEqual(padded[..., 0].tolist(), [[9, 9, 9], [9, 200, 9], [9, 9, 9]])
    [turned] = self._images(path, Rotate(180), ColorJitter(0.4, 0.4, 0.4, 0.1))
    self.assertEqual(turned.shape, (1, 1, 3))

  @parameterized.parameters("l3", "l3-compact", "png", "raw")
  def test_a_line_of_ten_thousand_pixels(self, mix):
    line = np.random.default_rng(0).integers(0, 256, (1, 10_000, 3)).astype(np.uint8)
    path = self._convert(line, mix=mix)
    [small] = self._images(path, Resize(longer=100))
    self.assertEqual(small.shape, (1, 100, 3))
    wanted = Image.fromarray(line).resize((100, 1), Image.Resampling.BILINEAR)
    np.testing.assert_array_equal(small, np.asarray(wanted))
    # Only 224 of 2,560,000 columns are computed.
    [middle] = self._images(path, Resize(shorter=256), CenterCrop(224))
    part = Image.fromarray(line[:, 4900:5100]).resize(
      (200 * 256, 256), Image.Resampling.BILINEAR
    )
    left = 2_560_000 // 2 - 112 - 4900 * 256
    wanted = np.asarray(part)[16:240, left : left + 224]
    np.testing.assert_array_equal(middle, wanted)

  def test_results_without_end_are_an_error(self):
    line = np.zeros((1, 10_000, 3), np.uint8)
    path = self._convert(line)
    with self.assertRaisesRegex(
      ValueError,
      "sample 0.*1x10000 pixels, becomes 256x2560000, over the limit of 268435456",
    ):
      self._images(path, Resize(shorter=256))
    with self.assertRaisesRegex(
      tf.errors.InvalidArgumentError, r"becomes 3000x30000000, .* below 2\^24"
    ):
      self._images(path, Resize(shorter=3000), CenterCrop(224))

  def test_sizes_that_do_not_fit(self):
    path = self._convert(
      np.zeros((30, 40, 3), np.uint8), np.zeros((50, 20, 3), np.uint8)
    )
    for steps, message in (
      ([CenterCrop((31, 20))], r"CenterCrop.* fit .* not 1 of l3: sample 0 .*30x40"),
      ([Pad((49, 60))], r"Pad.* must fit .* not 1 of l3: sample 1 .*50x20 pixels"),
      (
        [Resize(shorter=16), CenterCrop((16, 22))],
        r"CenterCrop.* must fit .* sample 0 .*16x21 pixels",
      ),
      ([Resize(shorter=16)], "differ in size"),
    ):
      with self.assertRaisesRegex(ValueError, message):
        liquid_tf.dataset(path, 2, transforms=steps, shuffle=False)
    # One at a time, images may have sizes of their own.
    shapes = {image.shape for image in self._images(path, Resize(shorter=16))}
    self.assertEqual(shapes, {(16, 21, 3), (40, 16, 3)})
    # Left out, where that was asked for.
    [image] = self._images(path, CenterCrop((31, 20)), on_error="skip")
    self.assertEqual(image.shape, (31, 20, 3))

  @parameterized.parameters("l3", "l3-compact", "png", "raw", "jpeg")
  def test_damage_under_a_resize(self, mix):
    images = np.random.default_rng(1).integers(0, 256, (4, 64, 48, 3)).astype(np.uint8)
    path = self._convert(*images, mix=mix)
    [shard] = [name for name in os.listdir(path) if name.endswith(".rec")]
    name = os.path.join(path, shard)
    contents = bytearray(open(name, "rb").read())
    contents[len(contents) // 2 : len(contents) // 2 + 64] = b"\0" * 64
    with open(name, "wb") as file:
      file.write(contents)
    steps = [RandomResizedCrop(24), Mirror(), Normalize(127, 60)]
    with self.assertRaisesRegex(
      tf.errors.DataLossError, rf"{shard}, record \d+ \(sample \d+, offset \d+\)"
    ):
      self._images(path, *steps)
    self.assertLen(self._images(path, *steps, on_error="skip"), 3)

  @parameterized.parameters("drop", "repeat")
  def test_whole_batches_have_a_known_shape(self, last_batch):
    path = self._convert(*np.zeros((10, 8, 9, 3), np.uint8))
    for on_error in ("raise", "skip"):
      data = liquid_tf.dataset(
        path,
        4,
        transforms=[Resize((5, 6))],
        features=["image", "id", "affine"],
        last_batch=last_batch,
        on_error=on_error,
      )
      spec = data.element_spec
      self.assertEqual(spec["image"].shape.as_list(), [4, 5, 6, 3])
      self.assertEqual(spec["affine"].shape.as_list(), [4, 2, 3])
      self.assertLen(list(data), 2 if last_batch == "drop" else 3)


if __name__ == "__main__":
  tf.test.main()
