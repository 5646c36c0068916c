"""Whole recipes are what torchvision makes of PIL images for the same draws."""

import importlib.util
import os
from typing import Any
from unittest import mock

import draws
import numpy as np
import runs
import tensorflow as tf
from absl.testing import parameterized
from PIL import Image, ImageFilter

import liquid_tf
from liquid_tf.transforms import (
  AutoAugment,
  ColorJitter,
  GaussianBlur,
  Grayscale,
  Mirror,
  RandAugment,
  RandomResizedCrop,
  TrivialAugmentWide,
)

# Draws of each recipe. More of them by LIQUID_TEST_CASES=2000.
_CASES = int(os.environ.get("LIQUID_TEST_CASES", "100"))
_SEED = 7
# Of ops/core/rng.h.
_COLOUR, _GRAYSCALE, _POLICY, _BLUR = 10, 11, 17, 19
_OPERATIONS, _MAGNITUDES = 14, 31
_JITTER = {"brightness": 0.4, "contrast": 0.4, "saturation": 0.4, "hue": 0.1}


class _Draws:
  """Gives torchvision what this library draws for an image."""

  def __init__(self, epoch: int, draw: int):
    self._draw = epoch, draw

  def words(self, purpose: int, part: int = 0) -> list[int]:
    return draws.words(purpose, _SEED, *self._draw, part)

  def policy(self, policy: Any, image: Image.Image) -> Image.Image:
    """Applies a policy of torchvision's."""
    import torch

    kind, space = type(policy).__name__, policy._AUGMENTATION_SPACE
    names, whole, real = list(space), [], []

    def sign(name: str, word: int) -> None:
      if space[name][1]:
        real.append(0.0 if word >> 31 else 1.0)

    if kind == "AutoAugment":
      count = len(policy._policies)
      whole.append(self.words(_POLICY)[0] * count >> 32)
      for part, (name, p, _) in enumerate(policy._policies[whole[0]], 1):
        words = self.words(_POLICY, part)
        happens = draws.happens(words[0], p)
        real.append(0.0 if happens else 2.0)
        if happens:
          sign(name, words[1])
    else:
      for part in range(getattr(policy, "num_ops", 1)):
        words = self.words(_POLICY, part)
        whole.append(words[0] * _OPERATIONS >> 32)
        if kind == "TrivialAugmentWide":
          whole.append(words[2] * _MAGNITUDES >> 32)
        sign(names[words[0] * _OPERATIONS >> 32], words[1])
    with (
      mock.patch.object(torch, "randint", side_effect=whole),
      mock.patch.object(torch, "rand", side_effect=real),
    ):
      return policy(image)

  def jitter(self, image: Image.Image, p: float) -> Image.Image:
    """Applies torchvision's ColorJitter."""
    from torchvision.transforms import v2

    words, more = self.words(_COLOUR), self.words(_COLOUR, 1)
    if not draws.happens(more[1], p):
      return image
    order, digits = [0, 1, 2, 3], words[0] * 24 >> 32
    for left in (4, 3, 2):
      digits, place = divmod(digits, left)
      order[left - 1], order[place] = order[place], order[left - 1]
    params: dict[str, Any] = {"fn_idx": order}
    for name, word in zip(("brightness", "contrast", "saturation"), words[1:]):
      least, most = 1 - _JITTER[name], 1 + _JITTER[name]
      factor = np.float32(least + (most - least) * (word / draws.MOST))
      params[f"{name}_factor"] = float(factor)
    params["hue_factor"] = (2 * more[0] / draws.MOST - 1) * _JITTER["hue"]
    return v2.ColorJitter(**_JITTER).transform(image, params)


@parameterized.named_parameters(
  ("trivial", TrivialAugmentWide(), "TrivialAugmentWide", {}),
  ("rand", RandAugment(), "RandAugment", {}),
  ("rand_strong", RandAugment(3, 27), "RandAugment", {"num_ops": 3, "magnitude": 27}),
  ("auto", AutoAugment("imagenet"), "AutoAugment", {}),
  ("none", None, "", {}),
)
class TorchvisionTest(parameterized.TestCase, tf.test.TestCase):
  def test_whole_recipes(self, step, name, options):
    if importlib.util.find_spec("torchvision") is None:
      self.skipTest("torchvision is not here")
    from torchvision.transforms import v2
    from torchvision.transforms.v2 import functional

    path = runs.make(
      self.create_tempdir().full_path, "png:1,l3:1", per_class=25, sides=(40, 90)
    )
    with liquid_tf.loader(
      path, None, transforms=[], features=["id", "image"], shuffle=False
    ) as whole:
      images = {int(one["id"]): Image.fromarray(one["image"]) for one in whole}
    colours = [ColorJitter(**_JITTER, p=0.8), Grayscale(0.2), GaussianBlur((0.1, 2))]
    steps = [
      RandomResizedCrop(48, interpolation="bicubic"),
      Mirror(),
      *([] if step is None else [step]),
      *colours,
    ]
    policy = getattr(v2, name)(**options) if name else None
    found = differing = 0
    with liquid_tf.loader(
      path,
      25,
      transforms=steps,
      features=["id", "image", "window", "mirrored"],
      seed=_SEED,
    ) as batches:
      while found < _CASES:
        for batch in batches:
          for sample, image, window, mirrored in zip(*batch.values()):
            epoch, draw = divmod(found, len(images))
            drawn = _Draws(epoch, draw)
            wanted = functional.resized_crop(
              images[int(sample)],
              *window.tolist(),
              [48, 48],
              v2.InterpolationMode.BICUBIC,
            )
            wanted = functional.horizontal_flip(wanted) if mirrored else wanted
            if policy is not None:
              wanted = drawn.policy(policy, wanted)
            wanted = drawn.jitter(wanted, 0.8)
            if draws.happens(drawn.words(_GRAYSCALE)[0], 0.2):
              wanted = functional.rgb_to_grayscale(wanted, 3)
            blur = drawn.words(_BLUR)
            if draws.happens(blur[0], 0.5):
              sigma = 0.1 + (2 - 0.1) * (blur[1] / draws.MOST)
              wanted = wanted.filter(ImageFilter.GaussianBlur(sigma))
            differing += np.count_nonzero(image != np.asarray(wanted))
            found += 1
    self.assertEqual(differing, 0, f"bytes of {found} images")
    print(f"{self.id()}: {found} draws, {differing} differing bytes")


if __name__ == "__main__":
  tf.test.main()
