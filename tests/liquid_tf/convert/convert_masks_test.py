"""Segmentation pairs: a mask keeps its class numbers and stays with its image."""

import io
import os
import pathlib

import numpy as np
import photos
import stored
import tensorflow as tf
from absl.testing import parameterized
from PIL import Image

from liquid_tf import codecs
from liquid_tf._convert.convert import convert
from liquid_tf._convert.source import Source
from liquid_tf._convert.sources import masks
from liquid_tf._store import manifest
from liquid_tf._view import inspection
from liquid_tf.errors import ConvertError
from liquid_tf.transforms import Bits


def _palette(indices: np.ndarray) -> Image.Image:
  image = Image.fromarray(indices, mode="P")
  image.putpalette([255 - i % 256 for i in range(768)])
  return image


class MasksTest(parameterized.TestCase, tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self.root = self.create_tempdir().full_path
    self.images, self.masks = f"{self.root}/images", f"{self.root}/masks"
    self.output = f"{self.root}/dataset"
    self.random = np.random.default_rng(3)

  def _pair(self, name: str, mask=None, size=(24, 32)) -> np.ndarray:
    """Saves an image and its mask; returns the mask's class numbers."""
    pixels = photos.crop(photos.photo("coffee"), size, self.random)
    photos.save(f"{self.images}/{name}.jpg", pixels)
    numbers = self.random.integers(0, 12, size).astype(np.uint8)
    os.makedirs(self.masks, exist_ok=True)
    image = Image.fromarray(numbers) if mask is None else mask(numbers)
    image.save(f"{self.masks}/{name}.png")
    return numbers

  def _convert(self, mix="png:1,raw:1", about=(), **options):
    source = Source(self.images, **{"masks": self.masks, **dict(about)})
    return convert(source, self.output, mix, progress=False, **options)

  @parameterized.named_parameters(
    ("gray", None),
    ("palette", _palette),
  )
  def test_class_numbers_come_back(self, mask):
    wanted = [self._pair(f"{i:02}", mask) for i in range(10)]
    report = self._convert()
    self.assertEqual(report.samples, 10)
    self.assertEqual(report.skipped, [])
    found = stored.masks(self.output)
    for sample, numbers in enumerate(wanted):
      self.assertAllEqual(found[sample], numbers)
    loaded = manifest.load(self.output)
    self.assertEqual(
      loaded["features"],
      {
        "image": {"dtype": "uint8", "shape": [24, 32, 3]},
        "mask": {"dtype": "uint8", "shape": [24, 32, 1], "example": "mask"},
      },
    )
    self.assertEqual(loaded["supervised"], ["image", "mask"])
    self.assertEqual(inspection.verify(self.output)["problems"], [])

  def test_names_of_masks_may_end_otherwise(self):
    wanted = self._pair("a_left")
    os.rename(f"{self.masks}/a_left.png", f"{self.masks}/a_ids.png")
    with self.assertRaisesRegex(ConvertError, "fit none of the 1 images.*mask_suffix"):
      self._convert()
    self._convert(about={"mask_suffix": "_left:_ids"})
    self.assertAllEqual(stored.masks(self.output)[0], wanted)
    with self.assertRaisesRegex(ValueError, r'mask_suffix \("_ids"\) needs masks'):
      self._convert(about={"masks": None, "mask_suffix": "_ids"})

  def test_16_bit_masks(self):
    wide = {}

    def deepen(numbers):
      wide[len(wide)] = numbers.astype(np.uint16) * 5000
      return Image.fromarray(wide[len(wide) - 1])

    for i in range(3):
      self._pair(str(i), deepen)
    self._convert()
    for sample, numbers in stored.masks(self.output).items():
      self.assertAllEqual(numbers, wide[sample])
    self.assertEqual(manifest.load(self.output)["features"]["mask"]["dtype"], "uint16")
    self.assertEqual(inspection.verify(self.output)["problems"], [])

  def test_masks_that_do_not_fit_are_skipped_with_the_reason(self):
    for i in range(3):
      self._pair(str(i))
    self._pair("colour", lambda numbers: Image.fromarray(np.stack([numbers] * 3, -1)))
    self._pair("small", lambda numbers: Image.fromarray(numbers[1:]))
    self._pair("damaged")
    pathlib.Path(self.masks, "damaged.png").write_bytes(b"no image")
    self._pair("lonely")
    os.unlink(f"{self.masks}/lonely.png")
    report = self._convert(on_error="skip:100%")
    self.assertEqual(report.samples, 3)
    reasons = {skipped["path"]: skipped["reason"] for skipped in report.skipped}
    self.assertEqual(
      set(reasons), {"colour.jpg", "small.jpg", "damaged.jpg", "lonely.jpg"}
    )
    self.assertIn("must be gray or have a palette, but is RGB", reasons["colour.jpg"])
    self.assertIn("23 x 32 pixels, the image 24 x 32", reasons["small.jpg"])
    self.assertIn("cannot be decoded", reasons["damaged.jpg"])
    self.assertEqual(reasons["lonely.jpg"], "has no mask")

  def test_mixed_mask_depths_are_an_error(self):
    self._pair("a")
    self._pair("b", lambda numbers: Image.fromarray(numbers.astype(np.uint16)))
    with self.assertRaisesRegex(
      ConvertError,
      r"2 kinds \(1 of .* a mask of 8, as a.jpg; 1 of .* a mask of 16, as b.jpg\): "
      r'choose one with transforms=\[Bits\("skip"\)\]',
    ):
      self._convert()
    report = self._convert(existing="resume", transforms=[Bits("skip")])
    self.assertEqual(
      report.skipped,
      [
        {
          "path": "b.jpg",
          "reason": "has 8 bits and a mask of 16, but most samples have 8 bits and a "
          "mask of 8",
        }
      ],
    )

  def test_a_mask_takes_the_smaller_form(self):
    steps = np.repeat(np.arange(4), 8).astype(np.uint8)
    flat = np.add.outer(np.repeat(np.arange(4), 6), steps).astype(np.uint8)
    noise = np.random.default_rng(0).integers(0, 256, (24, 32), np.uint8)
    # What comes again further away costs PNG a few bytes.
    repeated = np.tile(noise[:6, :8], (4, 4))
    for name, numbers in (("0", flat), ("1", noise), ("2", repeated)):
      self._pair(name, lambda _, numbers=numbers: Image.fromarray(numbers))
    self._convert()
    found = {}
    for record in stored.records(self.output):
      example = tf.train.Example.FromString(record["example"])
      (mask,) = example.features.feature["mask"].bytes_list.value
      pixels = codecs.decode_image(mask).numpy()
      forms = [codecs.encode_l3(pixels, profile="compact"), codecs.encode_png(pixels)]
      self.assertEqual(len(mask), min(len(form.numpy()) for form in forms))
      found[record["id"]] = mask[:4]
    self.assertEqual(found[0], b"LLL2")
    self.assertEqual(found[2], b"\x89PNG")

  def test_one_bit_masks_are_zero_and_one(self):
    image = Image.fromarray(np.eye(5, dtype=np.uint8) * 255).convert("1")
    data = io.BytesIO()
    image.save(data, "png")
    raw, error = masks.decode_mask(data.getvalue())
    self.assertEqual(error, "")
    self.assertEqual(raw[16:], np.eye(5, dtype=np.uint8).tobytes())

  def test_bytes_do_not_depend_on_workers(self):
    for i in range(8):
      self._pair(str(i))
    made = []
    for workers in (1, 4):
      self.output = f"{self.root}/by{workers}"
      self._convert(workers=workers)
      made.append(photos.files(self.output))
    self.assertEqual(made[0], made[1])


if __name__ == "__main__":
  tf.test.main()
