"""Steps by themselves: what they accept, and in what order."""

import dataclasses

import ml_dtypes
import numpy as np
from absl.testing import absltest, parameterized

from liquid_tf import transforms
from liquid_tf._pipeline import sizes
from liquid_tf._pipeline.recipe import Recipe
from liquid_tf.transforms import (
  AutoAugment,
  Bits,
  Cast,
  CenterCrop,
  Channels,
  ColorJitter,
  Flip,
  GaussianBlur,
  Grayscale,
  Mirror,
  Normalize,
  Orient,
  Pad,
  RandAugment,
  RandomCrop,
  RandomErasing,
  RandomResizedCrop,
  Resize,
  Rotate,
  Solarize,
  ThreeAugment,
  TrivialAugmentWide,
)

_STEPS = [
  Orient,
  RandomCrop,
  CenterCrop,
  RandomResizedCrop,
  Resize,
  Pad,
  Mirror,
  Flip,
  Rotate,
  RandAugment,
  TrivialAugmentWide,
  AutoAugment,
  ThreeAugment,
  ColorJitter,
  Grayscale,
  GaussianBlur,
  Solarize,
  Normalize,
  RandomErasing,
  Cast,
]


class StepsTest(parameterized.TestCase):
  @parameterized.parameters(
    (lambda: RandomCrop((3.5, 3)), r"RandomCrop: size \(\(3.5, 3\)\) must be a number"),
    (lambda: CenterCrop((0, 4)), r"CenterCrop: size \(\(0, 4\)\)"),
    (lambda: CenterCrop("7"), "CenterCrop: size"),
    (lambda: Resize(0), r"Resize: size \(0\) must be a number of pixels, or"),
    (lambda: Resize(True), r"Resize: size \(True\) must be"),
    (lambda: Resize(7.5), r"Resize: size \(7.5\) must be"),
    (lambda: Resize(7, longer=7), r"exactly one of .*not \(size, longer\)"),
    (lambda: Resize(shorter=(7, 7)), r"Resize: shorter \(\(7, 7\)\) must be a number"),
    (lambda: CenterCrop(False), r"CenterCrop: size \(False\) must be"),
    (lambda: Resize((7, 7), shorter=7), r"exactly one of .*not \(size, shorter\)"),
    (lambda: Resize(), r"exactly one of .*not \(none\)"),
    (lambda: Resize(longer=0), r"Resize: longer \(0\) must be"),
    (lambda: Resize(shorter=-3), r"Resize: shorter \(-3\) must be"),
    (lambda: Resize((7, 7), interpolation="cubic"), r"interpolation \(.cubic.\) must"),
    (
      lambda: RandomResizedCrop(7, interpolation="bicubic", antialias=False),
      r'"bicubic"\) needs antialias=True',
    ),
    (lambda: Pad(0), r"Pad: size \(0\) must be"),
    (lambda: Pad(9, value=70000), r"Pad: value \(70000\) must be"),
    (lambda: Mirror(1.5), r"Mirror: p \(1.5\) must be from 0 to 1"),
    (lambda: Mirror(flip=[0, 2]), "must be a permutation"),
    (lambda: Rotate(0), r"Rotate: degrees \(0\) must be above 0"),
    (lambda: Rotate(200), r"Rotate: degrees \(200\) must be"),
    (lambda: ColorJitter(hue=0.6), r"ColorJitter: hue \(0.6\) must be from 0 to 0.5"),
    (lambda: ColorJitter(-1), r"ColorJitter: brightness \(-1\) must be"),
    (lambda: Grayscale(2), r"Grayscale: p \(2\) must be"),
    (lambda: ColorJitter(p=-1), r"ColorJitter: p \(-1\) must be"),
    (lambda: Flip(True), r"Flip: p \(True\) must be"),
    (lambda: Flip("1"), r'Flip: p \("1"\) must be from 0 to 1'),
    (lambda: GaussianBlur((2, 1)), r"sigma \(\(2, 1\)\) must be a number from 0"),
    (lambda: GaussianBlur(-1), r"GaussianBlur: sigma \(-1\) must be"),
    (lambda: GaussianBlur(float("nan")), "GaussianBlur: sigma"),
    (lambda: GaussianBlur((1, 2, 3)), "GaussianBlur: sigma"),
    (lambda: GaussianBlur(1, p=2), r"GaussianBlur: p \(2\) must be"),
    (lambda: Solarize(257), r"threshold \(257\) must be a whole number from 0 to 256"),
    (lambda: Solarize(p=None), "Solarize: p"),
    (lambda: RandAugment(33), r"RandAugment: n \(33\) must be a whole number"),
    (lambda: RandAugment(2, 31), r"magnitude \(31\) must be a whole .* from 0 to 30"),
    (lambda: RandAugment(2, 9.0), r"RandAugment: magnitude \(9.0\) must be"),
    (lambda: RandAugment.timm("m9"), r'config \("m9"\) must be as "rand-m9-mstd0.5'),
    (lambda: RandAugment.timm(9), r"config \(9\) must be as"),
    (lambda: RandAugment.timm("rand-m9-m8"), 'each once with a number, not "m8"'),
    (lambda: RandAugment.timm("rand-q1"), 'must be of m, n, p, .*, not "q1"'),
    (lambda: RandAugment.timm("rand-t3a"), r"not .t3a.; .* take ThreeAugment\(\)"),
    (lambda: RandAugment.timm("rand-m9.5"), "must have for m a whole number to 100"),
    (lambda: RandAugment.timm("rand-p2"), "must have for p a number to 1"),
    (
      lambda: AutoAugment("coco"),
      r'policy \("coco"\) must be one of imagenet, cifar10',
    ),
    (lambda: AutoAugment([]), r"policy \(\[\]\) must be a list of sub-policies"),
    (lambda: AutoAugment([[]]), "must be a list of sub-policies"),
    (lambda: AutoAugment(7), "must be a list of sub-policies"),
    (lambda: AutoAugment([[("Cut", 1, 3)]]), r"\('Cut', 1, 3\)\) must be \(name, p, "),
    (
      lambda: AutoAugment([[("Rotate", 1, None)]]),
      "must be .*, or None for one without",
    ),
    (lambda: AutoAugment([[("Rotate", 1, 10)]]), "must be .*; 0 to 9, or None"),
    (lambda: AutoAugment([[("Rotate", 2, 1)]]), r"must be \(name, p, magnitude\)"),
    (lambda: RandomErasing(2), r"RandomErasing: p \(2\) must be"),
    (lambda: RandomErasing(1, (0, 0.3)), "RandomErasing: scale .* above 0"),
    (lambda: RandomErasing(1, ratio=(3, 1)), "RandomErasing: ratio .* rising"),
    (
      lambda: RandomErasing(value="random"),
      r'value \("random"\) must be a number, or one for each channel, or "noise"',
    ),
    (lambda: Normalize(3, mean_image="x.npy"), "must not both be given"),
    (lambda: RandomResizedCrop(None, (0, 1)), "scale .* two rising numbers, above 0"),
    (lambda: RandomResizedCrop(None, (0.5, 1.5)), "scale .* at most 1"),
    (lambda: RandomResizedCrop(None, 0.5), "scale"),
    (
      lambda: RandomResizedCrop(None, ratio=(2, 1)),
      "ratio .* rising numbers, from 0.001",
    ),
    (lambda: RandomResizedCrop(None, ratio=(1, float("nan"))), "ratio"),
    (lambda: Normalize("dark"), r'mean \("dark"\) must be a number'),
    (lambda: Normalize(std=0), r"std \(0\) must be a number above 0"),
    (lambda: Normalize(std=[1, float("nan"), 1]), "std .*must be a number above 0"),
    (lambda: Normalize(float("inf")), "mean"),
    (lambda: Cast("string"), r'Cast \("string"\) must be one of float32, float16'),
    (lambda: Cast("uint8"), "Cast"),
    (lambda: Channels(5), r"Channels \(5\) must be 1, 2, 3 or 4"),
    (lambda: Bits(12), r'Bits \(12\) must be 8, 16 or "skip"'),
  )
  def test_wrong_values(self, make, message):
    with self.assertRaisesRegex(ValueError, message):
      make()

  def test_means_of_pixels_from_0_to_1_are_refused_with_both_spellings(self):
    with self.assertRaises(ValueError) as caught:
      Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
    message = str(caught.exception)
    self.assertIn(
      "mean ([0.485, 0.456, 0.406]) and std ([0.229, 0.224, 0.225])", message
    )
    self.assertIn("Normalize(mean=[123.675, 116.28, 103.53], std=[58.395, ", message)

  @parameterized.parameters("bfloat16", ml_dtypes.bfloat16, np.dtype("float16"))
  def test_types_by_any_name(self, dtype):
    self.assertIn(Cast(dtype).dtype, ("bfloat16", "float16"))

  def test_sides_of_a_square(self):
    self.assertEqual(RandomCrop(24), RandomCrop((24, 24)))


class OrderTest(parameterized.TestCase):
  def _check(self, *steps):
    return transforms.by_slot(steps, _STEPS, "a dataset")

  @parameterized.parameters(97, np.int64(97), np.int32(97))
  def test_a_number_of_resize_is_the_shorter_side(self, side):
    step = Resize(side, interpolation="nearest")
    self.assertEqual(step, Resize(shorter=97, interpolation="nearest"))
    self.assertEqual(str(Resize(side)), "Resize(shorter=97)")
    self.assertEqual(sizes.resized(step, 200, 300), (97, 145))
    self.assertEqual(dataclasses.replace(step, shorter=50).shorter, 50)

  def test_sizes_may_be_numpys(self):
    self.assertEqual(CenterCrop(np.int64(7)).size, (7, 7))
    self.assertEqual(Resize(np.array([7, 9])).size, (7, 9))

  def test_mirror_may_stand_anywhere_among_geometry(self):
    crop, size = RandomCrop(8), Resize((4, 4), antialias=False)
    for steps in (
      [crop, size, Mirror()],
      [Mirror(), crop, size],
      [crop, Mirror(), size],
    ):
      self.assertLen(self._check(*steps, Normalize(9)), 4)

  @parameterized.parameters(
    (Resize((4, 4)), Orient()),
    (Pad(8), Resize((4, 4))),
    (Grayscale(), ColorJitter(1)),
    (ColorJitter(1), Rotate(9)),
    (ColorJitter(1), Mirror()),
    (RandAugment(), Flip()),
    (RandAugment(), Rotate(9)),
    (ColorJitter(1), ThreeAugment()),
    (GaussianBlur(), Grayscale()),
    (Solarize(), GaussianBlur()),
    (Normalize(128), Solarize()),
    (Normalize(128), Resize((4, 4), antialias=False)),
    (Cast("float16"), Normalize(128)),
    (Normalize(128), Mirror()),
  )
  def test_order_is_held(self, first, second):
    with self.assertRaisesRegex(ValueError, "must come before") as caught:
      self._check(first, second)
    self.assertIn(f"{second} must come before {first}", str(caught.exception))

  def test_flip_may_stand_anywhere_among_geometry_too(self):
    found = self._check(Flip(), RandomCrop(8), Mirror(), Resize((4, 4)), Rotate(3))
    self.assertEqual(list(found), ["crop", "resize", "mirror", "flip", "rotate"])

  def test_one_policy(self):
    timm = RandAugment.timm("rand-m9-mstd0.5-inc1")
    self.assertEqual(repr(timm), "RandAugment.timm('rand-m9-mstd0.5-inc1')")
    self.assertIs(self._check(timm)["policy"], timm)
    with self.assertRaisesRegex(ValueError, r"timm\(.* and Triv.*\) must not both"):
      self._check(timm, TrivialAugmentWide())

  def test_a_crop_may_follow_a_size(self):
    for steps in (
      [Resize(shorter=9), CenterCrop(8)],
      [RandomResizedCrop(9), CenterCrop(8)],
      [CenterCrop(9), Pad(12), RandomCrop(8)],
    ):
      self.assertIs(self._check(*steps)["second_crop"], steps[-1])

  def test_a_place_is_given_once(self):
    with self.assertRaisesRegex(ValueError, "RandomCrop.* and RandomCrop.* not both"):
      self._check(RandomCrop(9), RandomCrop(8))
    with self.assertRaisesRegex(ValueError, "Mirror.* and Mirror.* not both"):
      self._check(Mirror(), Mirror())
    with self.assertRaisesRegex(ValueError, "RandomCrop.* and CenterCrop.* not both"):
      self._check(RandomCrop(8), CenterCrop(8))

  @parameterized.parameters(
    (RandAugment(), "1 or 3", ("uint8", 2), ("uint8", 4), ("uint16", 3)),
    (RandAugment.timm("rand"), "1 or 3", ("uint8", 2), ("uint16", 1)),
    (GaussianBlur(), "1 or 3", ("uint8", 4), ("uint16", 3)),
    (Solarize(), "1 or 3", ("uint8", 2), ("uint16", 3)),
    (ColorJitter(1), "3", ("uint8", 1), ("uint16", 3)),
  )
  def test_images_that_are_refused(self, step, wanted, *images):
    recipe = Recipe.parse([step])
    recipe.check_colours("uint8", 3)
    for dtype, channels in images:
      with self.assertRaisesRegex(
        ValueError,
        f"needs images of 8 bits and {wanted} channels, not {dtype[4:]} and {channels}",
      ):
        recipe.check_colours(dtype, channels)

  def test_lines_of_policies(self):
    def line(*steps):
      return Recipe.parse(steps).lines()[0]

    self.assertEqual(line(RandAugment(3, 8)), "RandAugment n=3 magnitude=8")
    self.assertEqual(
      line(AutoAugment([[("Posterize", 0.4, 8), ("Invert", 1, None)]])),
      "AutoAugment policy=Posterize:0.4:8,Invert:1.0:0",
    )
    for text, means, wanted, fill in (
      ("rand-m9-mstd0.5-inc1", (123.6, 116.4, 104), "2 9 .5 .5 0 10 1", "124,116,104"),
      ("rand-m15-n1-p.25-mmax30", (40,), "1 15 .25 0 0 30 0", "40,40,40"),
      ("rand-mstd101", (), "2 10 .5 0 1 10 0", "128,128,128"),
    ):
      steps = [RandAugment.timm(text), *([Normalize(means)] if means else [])]
      name, *words = line(*steps).split(" ")
      found = dict(word.split("=") for word in words)
      self.assertEqual((name, found.pop("fill")), ("TimmRandAugment", fill))
      keys = ("n", "magnitude", "p", "deviation", "uniform", "most", "increasing")
      self.assertEqual(
        {key: float(value) for key, value in found.items()},
        dict(zip(keys, map(float, wanted.split()))),
      )

  def test_other_things_are_named(self):
    with self.assertRaisesRegex(
      ValueError, "Channels.* must be a step of a dataset: Orient"
    ):
      self._check(Channels(3))
    with self.assertRaisesRegex(ValueError, "must be a list of steps"):
      transforms.by_slot(RandomCrop(8), _STEPS, "a dataset")


if __name__ == "__main__":
  absltest.main()
