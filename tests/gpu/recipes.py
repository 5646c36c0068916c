"""Recipes whose images a GPU makes: the same for datasets and for loaders."""

from typing import Any

from liquid_tf.transforms import (
  AutoAugment,
  Cast,
  CenterCrop,
  ChannelsFirst,
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
  Step,
)

MEAN = (123.675, 116.28, 103.53)
STD = (58.395, 57.12, 57.375)
NORMALIZE = Normalize(MEAN, STD)
TRAIN = [RandomResizedCrop(48), Mirror(), NORMALIZE, ChannelsFirst()]
# Steps, and what else `dataset` and `loader` are to be given.
RECIPES: list[tuple[list[Step], dict[str, Any]]] = [
  (TRAIN, {}),
  ([Resize(shorter=54), CenterCrop(48), NORMALIZE], {"shuffle": False}),
  ([RandomResizedCrop(40, interpolation="bicubic"), Mirror(), Cast("bfloat16")], {}),
  ([Resize((33, 70), antialias=False), Flip(), Cast("float16"), ChannelsFirst()], {}),
  ([Resize(longer=60, interpolation="nearest"), Pad(64, value=9), Mirror()], {}),
  ([Orient(), Resize((150, 20)), RandomCrop((140, 20)), Mirror()], {}),
  ([RandomCrop(30), Cast("float16")], {"seed": 5}),
  (
    [
      RandomResizedCrop(48),
      ColorJitter(0.4, 0.4, 0.4, 0.1, p=0.8),
      Grayscale(0.2),
      Solarize(128, p=0.2),
      NORMALIZE,
    ],
    {},
  ),
  (
    [
      RandomResizedCrop(48),
      Rotate(30, value=7),
      GaussianBlur((0.1, 3.0)),
      Solarize(100),
      NORMALIZE,
      RandomErasing(0.5, value="noise"),
      Cast("bfloat16"),
    ],
    {},
  ),
  # A policy moves the image alone.
  (
    [RandomCrop(30), Rotate(180), RandAugment(3), Cast("float32")],
    {"features": ["image", "id"]},
  ),
  (
    [
      RandomResizedCrop(40),
      AutoAugment(),
      ColorJitter(0.4, 0.4),
      NORMALIZE,
      RandomErasing(0.5, value=(1, 2, 3)),
      ChannelsFirst(),
    ],
    {"features": ["image", "id"]},
  ),
]
