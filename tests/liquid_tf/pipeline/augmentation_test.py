"""Policies and other changes of pixels: what was drawn, done by Pillow."""

import os
import shutil
import tempfile

import draws
import numpy as np
import photos
import runs
import tensorflow as tf
from absl.testing import parameterized
from PIL import Image, ImageEnhance, ImageFilter, ImageOps

import liquid_tf
from liquid_tf.transforms import (
  AutoAugment,
  Boxes,
  CenterCrop,
  ColorJitter,
  Flip,
  GaussianBlur,
  Grayscale,
  Mirror,
  Normalize,
  RandAugment,
  RandomResizedCrop,
  Resize,
  Rotate,
  Solarize,
  ThreeAugment,
  TrivialAugmentWide,
)

_SEED = 3
_SIZED = [RandomResizedCrop(36, scale=(0.3, 1)), Mirror()]
# Of ops/core/rng.h.
_POLICY, _FLIP, _BLUR, _SOLARIZE = 17, 18, 19, 20
_NAMES = (
  *("Identity", "ShearX", "ShearY", "TranslateX", "TranslateY", "Rotate", "Brightness"),
  *("Color", "Contrast", "Sharpness", "Posterize", "Solarize", "AutoContrast"),
  *("Equalize", "Invert"),
)
_TIMM_NAMES = (
  *("AutoContrast", "Equalize", "Invert", "Rotate", "Posterize", "Solarize"),
  *("SolarizeAdd", "Color", "Contrast", "Brightness", "Sharpness", "ShearX", "ShearY"),
  *("TranslateX", "TranslateY"),
)


def _words(purpose: int, draw: int, part: int = 0) -> list[int]:
  return draws.words(purpose, _SEED, 0, draw, part)


def _step(least: float, most: float, count: int, i: int) -> float:
  """A step of torch.linspace, with products and sums that are rounded once."""
  low, high = np.float32(least), np.float32(most)
  step = float((high - low) / np.float32(count - 1))
  exact = low + step * i if i < count // 2 else high - step * (count - 1 - i)
  return float(np.float32(exact))


def _affine(image, matrix, **how):
  return image.transform(image.size, Image.Transform.AFFINE, matrix, **how)


def _done(image, name, amount, side=1, **how):
  """One operation, by Pillow; `amount` is what Pillow takes."""
  if name in ("Brightness", "Color", "Contrast", "Sharpness"):
    return getattr(ImageEnhance, name)(image).enhance(amount)
  others = {
    "Identity": lambda: image,
    "ShearX": lambda: _affine(image, (1, amount, 0, 0, 1, 0), **how),
    "ShearY": lambda: _affine(image, (1, 0, 0, amount, 1, 0), **how),
    "TranslateX": lambda: _affine(image, (1, 0, amount * side, 0, 1, 0), **how),
    "TranslateY": lambda: _affine(image, (1, 0, 0, 0, 1, amount * side), **how),
    "Rotate": lambda: image.rotate(amount, **how),
    "Posterize": lambda: ImageOps.posterize(image, amount),
    "Solarize": lambda: ImageOps.solarize(image, amount),
    "SolarizeAdd": lambda: image.point(
      [min(255, i + amount) if i < 128 else i for i in range(256)] * 3
    ),
    "AutoContrast": lambda: ImageOps.autocontrast(image),
    "Equalize": lambda: ImageOps.equalize(image),
    "Invert": lambda: ImageOps.invert(image),
  }
  return others[name]()


def _torchvision(image, name, magnitude, count, sign, wide=False):
  shear, turn, factor, bits = (0.99, 135, 0.99, 6) if wide else (0.3, 30, 0.9, 4)

  def signed(most):
    return sign * _step(0, most, count, magnitude)

  if name.startswith("Shear"):
    amount = signed(shear)
  elif name.startswith("Translate"):
    amount = -int(signed(32 if wide else 150 / 331 * image.width))
  elif name in ("Brightness", "Color", "Contrast", "Sharpness"):
    amount = 1 + signed(factor)
  else:
    amount = {
      "Rotate": lambda: signed(turn),
      "Posterize": lambda: 8 - round(magnitude * bits / (count - 1)),
      "Solarize": lambda: 255 * _step(1, 0, count, magnitude),
    }.get(name, lambda: 0)()
  return _done(image, name, amount)


def _sign(word: int) -> int:
  return -1 if word >> 31 else 1


def _trivial(image, draw):
  words = _words(_POLICY, draw)
  name, magnitude = _NAMES[words[0] * 14 >> 32], words[2] * 31 >> 32
  return _torchvision(image, name, magnitude, 31, _sign(words[1]), wide=True)


def _rand(image, draw):
  for part in range(3):
    words = _words(_POLICY, draw, part)
    image = _torchvision(image, _NAMES[words[0] * 14 >> 32], 11, 31, _sign(words[1]))
  return image


_OWN = [
  [("Posterize", 0.5, 8), ("Rotate", 1, 9), ("Invert", 0.5, None)],
  [("Solarize", 1, 5)],
]


def _auto(image, draw):
  part = _OWN[_words(_POLICY, draw)[0] * len(_OWN) >> 32]
  for i, (name, p, magnitude) in enumerate(part):
    words = _words(_POLICY, draw, i + 1)
    if draws.happens(words[0], p):
      image = _torchvision(image, name, magnitude, 10, _sign(words[1]))
  return image


def _timm(image, draw):
  """Of rand-m7-n4-inc1, with means of 124, 116 and 104."""
  level = 7 / 10
  for part in range(4):
    words = _words(_POLICY, draw, part)
    name, sign = _TIMM_NAMES[words[0] * 15 >> 32], _sign(words[3])
    if not draws.happens(words[1], 0.5):
      continue
    resample = ("BILINEAR", "BICUBIC")[words[3] >> 30 & 1]
    how = {"resample": Image.Resampling[resample], "fillcolor": (124, 116, 104)}
    amount = {
      "Rotate": sign * (level * 30),
      "Posterize": 4 - int(level * 4),
      "Solarize": 256 - int(level * 256),
      "SolarizeAdd": int(level * 110),
      "ShearX": sign * (level * 0.3),
      "ShearY": sign * (level * 0.3),
      "TranslateX": sign * (level * 0.45),
      "TranslateY": sign * (level * 0.45),
    }.get(name, 1 + sign * (level * 0.9))
    image = _done(image, name, amount, side=image.width, **how)
  return image


def _three(image, draw):
  words = _words(_POLICY, draw)
  return (
    lambda: image.convert("L").convert("RGB"),
    lambda: ImageOps.solarize(image, 128),
    lambda: image.filter(ImageFilter.GaussianBlur(0.1 + 1.9 * words[1] / draws.MOST)),
  )[words[0] * 3 >> 32]()


def _blurred_and_solarized(image, draw):
  """Of GaussianBlur((0.5, 3), 0.6), Solarize(90, 0.5)."""
  words = _words(_BLUR, draw)
  if draws.happens(words[0], 0.6):
    image = image.filter(ImageFilter.GaussianBlur(0.5 + 2.5 * words[1] / draws.MOST))
  if draws.happens(_words(_SOLARIZE, draw)[0], 0.5):
    image = ImageOps.solarize(image, 90)
  return image


def _turned_over(image, draw):
  """Of Flip(0.3)."""
  flips = draws.happens(_words(_FLIP, draw)[0], 0.3)
  return image.transpose(Image.Transpose.FLIP_TOP_BOTTOM) if flips else image


_MEAN = (123.675, 116.28, 103.53)


class AugmentationTest(parameterized.TestCase, tf.test.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    root = tempfile.mkdtemp()
    cls.addClassCleanup(shutil.rmtree, root)
    cls.path = runs.make(root, "png:1,raw:1,l3:1", per_class=25, sides=(40, 60))

  def _dataset(self, *transforms, path=None, **options):
    options = {"features": ["image"], "seed": _SEED, **options}
    return liquid_tf.dataset(path or self.path, 32, transforms=transforms, **options)

  def _images(self, *transforms, **options):
    dataset = self._dataset(*transforms, **options)
    return np.concatenate([batch["image"].numpy() for batch in dataset])

  @parameterized.named_parameters(
    ("trivial", TrivialAugmentWide(), _trivial, 14),
    ("rand", RandAugment(3, 11), _rand, 3),
    ("auto", AutoAugment(_OWN), _auto, 40),
    ("timm", RandAugment.timm("rand-m7-n4-inc1"), _timm, 20),
    ("three", ThreeAugment(), _three, 10),
    ("flip", Flip(0.3), _turned_over, 80),
  )
  def test_pixels_are_those_of_pillow(self, step, reference, most_equal):
    before = self._images(*_SIZED)
    steps = [*_SIZED, step]
    after = self._images(*steps)
    if reference is _timm:
      # The mean of Normalize is what it fills with.
      after = self._images(*steps, Normalize(_MEAN)) + np.float32(_MEAN)
      after = np.round(after).astype(np.uint8)
    equal = 0
    for draw, (one, found) in enumerate(zip(before, after, strict=True)):
      wanted = np.asarray(reference(Image.fromarray(one), draw))
      np.testing.assert_array_equal(found, wanted, f"draw {draw}")
      equal += np.array_equal(one, wanted)
    self.assertLen(after, 100)
    self.assertLess(equal, most_equal)

  def test_all_of_a_recipe_in_its_order(self):
    steps = [
      [*_SIZED, Flip(0.3), Rotate(20), TrivialAugmentWide()],
      [ColorJitter(0.4, 0.4, p=0.8), Grayscale(0.3)],
      [GaussianBlur((0.5, 3), 0.6), Solarize(90, 0.5)],
    ]
    turned = self._images(*steps[0][:-1])
    done = self._images(*steps[0])
    coloured = self._images(*steps[0], *steps[1])
    whole = self._images(*steps[0], *steps[1], *steps[2])
    changed = 0
    for draw in range(len(turned)):
      wanted = np.asarray(_trivial(Image.fromarray(turned[draw]), draw))
      np.testing.assert_array_equal(done[draw], wanted)
      wanted = _blurred_and_solarized(Image.fromarray(coloured[draw]), draw)
      np.testing.assert_array_equal(whole[draw], np.asarray(wanted))
      changed += not np.array_equal(coloured[draw], done[draw])
    # .86 of them.
    self.assertBetween(changed, 70, 97)

  def test_colours_change_by_chance_and_as_without(self):
    before = self._images(*_SIZED)
    always = self._images(*_SIZED, ColorJitter(0.4, 0.4, 0.4, 0.1))
    some = self._images(*_SIZED, ColorJitter(0.4, 0.4, 0.4, 0.1, p=0.8))
    kept = [np.array_equal(*pair) for pair in zip(some, before)]
    self.assertBetween(sum(kept), 6, 36)
    for k, one, other in zip(kept, some, always):
      if not k:
        np.testing.assert_array_equal(one, other)

  @parameterized.parameters(
    ([TrivialAugmentWide()],),
    ([RandAugment.timm("rand-m9-mstd0.5-inc1"), GaussianBlur(), Solarize()],),
    ([Flip(), AutoAugment("cifar10"), ColorJitter(0.4, p=0.5)],),
    ([AutoAugment("svhn")],),
  )
  def test_runs_repeat_to_the_pixel(self, steps):
    found = {
      runs.digests(self._dataset(*_SIZED, *steps, **options))[0]
      for options in (
        {"tuning": liquid_tf.graph.Tuning(threads=1, parallelism=1)},
        {"tuning": liquid_tf.graph.Tuning(threads=8, parallelism=4)},
      )
    }
    self.assertLen(found, 1)
    other = runs.digests(self._dataset(*_SIZED, *steps, seed=2))[0]
    self.assertNotIn(other, found)

  def test_a_restored_iterator_goes_on_with_the_same_pixels(self):
    def dataset():
      steps = (*_SIZED, RandAugment.timm("rand-mstd0.5"), Solarize())
      return self._dataset(*steps).repeat(2)

    saved = iter(dataset())
    for _ in range(5):
      next(saved)
    prefix = os.path.join(self.create_tempdir().full_path, "it")
    tf.train.Checkpoint(iterator=saved).write(prefix)
    rest = runs.restored_digests(dataset(), prefix)
    self.assertNotEmpty(rest)
    self.assertEqual(rest, runs.digests(dataset())[5:])

  def test_gray_images(self):
    source = self.create_tempdir().full_path
    for i in range(12):
      pixels = photos.crop(
        photos.photo("astronaut"), (40, 40), np.random.default_rng(i)
      )
      photos.save(os.path.join(source, f"{i:02}.png"), pixels[..., 0])
    path = os.path.join(self.create_tempdir().full_path, "dataset")
    liquid_tf.convert(source, path, "png", progress=False)
    before = self._images(path=path)[..., 0]
    after = self._images(TrivialAugmentWide(), path=path)[..., 0]
    for draw, (one, found) in enumerate(zip(before, after, strict=True)):
      wanted = np.asarray(_trivial(Image.fromarray(one), draw))
      np.testing.assert_array_equal(found, wanted)
    for step in (ColorJitter(0.4), Grayscale()):
      with self.assertRaisesRegex(ValueError, "8 bits and 3 channels, not 8 and 1"):
        self._dataset(step, path=path)

  def test_what_is_refused(self):
    with self.assertRaisesRegex(ValueError, r"RandAugment\(\) draws by chance"):
      self._dataset(CenterCrop(36), RandAugment(), shuffle=False)
    with self.assertRaisesRegex(ValueError, r"must not go with features \(affine\)"):
      self._dataset(CenterCrop(36), TrivialAugmentWide(), features=["image", "affine"])


class FlippedTest(parameterized.TestCase, tf.test.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    root = tempfile.mkdtemp()
    cls.addClassCleanup(shutil.rmtree, root)
    random = np.random.default_rng(4)
    source = photos.photo("astronaut")
    for i in range(12):
      for folder, pixels in (
        ("images", photos.crop(source, (40, 48), random)),
        ("masks", random.integers(0, 256, (40, 48), np.uint8)),
      ):
        photos.save(os.path.join(root, folder, f"{i:02}.png"), pixels)
    cls.path = os.path.join(root, "dataset")
    liquid_tf.convert(
      liquid_tf.Source(os.path.join(root, "images"), masks=os.path.join(root, "masks")),
      cls.path,
      "png:1,raw:1",
      progress=False,
    )

  def _batch(self, *transforms, features=("image", "mask", "affine", "mirrored")):
    dataset = liquid_tf.dataset(
      self.path, 12, features=features, transforms=transforms, seed=_SEED
    )
    [batch] = [{k: v.numpy() for k, v in one.items()} for one in dataset]
    return batch

  @parameterized.named_parameters(
    ("whole", []),
    ("cropped", [CenterCrop(30)]),
    ("resized", [Resize((20, 24))]),
    ("mirrored", [Mirror()]),
    ("blurred", [GaussianBlur(2, p=1)]),
  )
  def test_images_masks_and_places(self, steps):
    geometry = [step for step in steps if not isinstance(step, GaussianBlur)]
    later = [step for step in steps if isinstance(step, GaussianBlur)]
    before = self._batch(*geometry, *later)
    after = self._batch(*geometry, Flip(0.5), *later)
    height = before["image"].shape[1]
    flips = 0
    for draw in range(12):
      flipped = draws.happens(_words(_FLIP, draw)[0], 0.5)
      flips += flipped
      for name in ("image", "mask"):
        one = before[name][draw]
        np.testing.assert_array_equal(after[name][draw], one[::-1] if flipped else one)
      if flipped:
        # (y, x) to (height - y, x).
        wanted = np.array([[-1, 0, height], [0, 1, 0]]) @ np.vstack(
          [before["affine"][draw], [0, 0, 1]]
        )
        np.testing.assert_array_equal(after["affine"][draw], wanted)
    self.assertBetween(flips, 1, 11)

  def test_a_policy_refuses_masks(self):
    with self.assertRaisesRegex(ValueError, r"must not go with features \(mask\)"):
      self._batch(RandAugment(), features=["image", "mask"])
    self.assertIn("image", self._batch(RandAugment(), features=["image"]))
    with self.assertRaisesRegex(ValueError, "boxes"):
      self._batch(RandAugment(), features=["image", Boxes()])

  def test_colours_leave_masks_alone(self):
    before = self._batch(features=["image", "mask"])
    after = self._batch(
      GaussianBlur(2, p=1), Solarize(9, p=1), features=["image", "mask"]
    )
    np.testing.assert_array_equal(before["mask"], after["mask"])
    self.assertNotAllEqual(before["image"], after["image"])


if __name__ == "__main__":
  tf.test.main()
