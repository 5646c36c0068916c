"""What torchvision and timm make of the magnitudes of their policies.

Prints tests/ops/image/policy_goldens.h; needs torchvision, timm and Pillow:

  python tests/ops/image/policy_goldens.py > tests/ops/image/policy_goldens.h
"""

import functools
import random
from collections.abc import Callable, Iterator
from unittest import mock

import PIL.Image
import PIL.ImageEnhance
import PIL.ImageOps
from timm.data import auto_augment
from torchvision.transforms import v2

# Sides that torchvision's and timm's translations are shares of.
HEIGHT, WIDTH = 331, 500
# Those above 10 are of mmax=30.
_LEVELS = (0, 0.37, 1, 2.5, 10 / 3, 5, 6.6, 7.25, 8.97, 9, 9.4, 9.99, 10, 14.5, 30)
_WITHOUT_AMOUNT = ("Identity", "AutoContrast", "Equalize", "Invert")
_ENHANCERS = ("Brightness", "Color", "Contrast", "Sharpness")


def _amounts(do: Callable[[PIL.Image.Image], object]) -> list[float]:
  """The numbers that a function gives Pillow: one for each call."""
  found = []

  def transform(self, size, method, data, *args, **kwargs):
    # The one that is neither 0 nor on the diagonal; the others are in place.
    a, b, c, d, e, f = data
    assert (a, e) == (1, 1) and sum(map(bool, (b, c, d, f))) <= 1, data
    found.append(b + c + d + f)
    return self

  def keep(take):
    def called(image, *args, **kwargs):
      found.append(take(*args, **kwargs))
      return image

    return called

  changes = [
    mock.patch.object(PIL.Image.Image, "transform", transform),
    mock.patch.object(PIL.Image.Image, "rotate", keep(lambda angle, *a, **k: angle)),
    mock.patch.object(PIL.ImageOps, "posterize", keep(lambda bits: bits)),
    mock.patch.object(PIL.ImageOps, "solarize", keep(lambda threshold: threshold)),
    # timm's SolarizeAdd: what 0 becomes.
    mock.patch.object(PIL.Image.Image, "point", keep(lambda table: table[0])),
  ]
  for name in _ENHANCERS:
    enhancer = getattr(PIL.ImageEnhance, name)
    changes.append(
      mock.patch.object(
        enhancer, "enhance", lambda self, factor: found.append(factor) or self.image
      )
    )
  image = PIL.Image.new("RGB", (WIDTH, HEIGHT))
  for change in changes:
    change.start()
  try:
    do(image)
  finally:
    for change in changes:
      change.stop()
  return found


def _torchvision() -> Iterator[tuple[str, list[list[float]]]]:
  """Policies by name, and rows of the amounts of every magnitude."""
  names = list(v2.AutoAugment._AUGMENTATION_SPACE)
  for policy, count in (
    (v2.AutoAugment(), 10),
    (v2.RandAugment(), 31),
    (v2.TrivialAugmentWide(), 31),
  ):
    rows = []
    for name in filter(policy._AUGMENTATION_SPACE.get, names):
      make, signed = policy._AUGMENTATION_SPACE[name]
      magnitudes = make(count, HEIGHT, WIDTH)
      if magnitudes is None:
        continue
      for sign in (1, -1) if signed else (1,):
        row = []
        for magnitude in magnitudes.tolist():
          apply = functools.partial(
            policy._apply_image_or_video_transform,
            transform_id=name,
            magnitude=sign * float(magnitude),
            interpolation="nearest",
            fill={},
          )
          with mock.patch("torchvision.transforms.v2._auto_augment._get_fill"):
            [amount] = _amounts(apply)
          row.append(float(amount))
        rows.append(row)
    yield type(policy).__name__, rows


def _timm() -> Iterator[list[float]]:
  """The amounts of every level by operation: decreasing ones, then increasing."""
  for names in (
    auto_augment._RAND_TRANSFORMS,
    auto_augment._RAND_INCREASING_TRANSFORMS,
  ):
    for name in names:
      if name in _WITHOUT_AMOUNT:
        continue
      for drawn in (0.0, 1.0):
        row = []
        for level in _LEVELS:
          op = auto_augment.AugmentOp(
            name, prob=1.0, magnitude=level, hparams={"magnitude_max": 30}
          )
          with mock.patch.object(random, "random", lambda drawn=drawn: drawn):
            found = _amounts(op)
          # Nothing is called where 8 bits or more are kept.
          row.append(float(found[0]) if found else 8.0)
        yield row


def _array(name: str, rows: list[list[float]]) -> Iterator[str]:
  yield f"inline constexpr double {name}[{len(rows)}][{len(rows[0])}] = {{"
  for row in rows:
    line = "    {"
    for i, value in enumerate(row):
      word = f"{value:g}" if float(f"{value:g}") == value else repr(value)
      word += "}," if i + 1 == len(row) else ","
      if len(line) + len(word) > 78:
        yield line.rstrip()
        line = "     "
      line += word + " "
    yield line.rstrip()
  yield "};"


def header() -> str:
  """The text of policy_goldens.h."""
  lines = [
    "// Made by policy_goldens.py: what torchvision 0.29 and timm 1.0.31 give Pillow",
    "// for each magnitude of each operation that has one, on an image of that size.",
    "// clang-format off",
    "#ifndef LIQUID_TESTS_OPS_IMAGE_POLICY_GOLDENS_H_",
    "#define LIQUID_TESTS_OPS_IMAGE_POLICY_GOLDENS_H_",
    "",
    "namespace liquid {",
    "",
    f"inline constexpr int kGoldenHeight = {HEIGHT};",
    f"inline constexpr int kGoldenWidth = {WIDTH};",
    "",
    "// In the order of operations; of those with a sign, a row of either.",
  ]
  for name, rows in _torchvision():
    lines += [*_array(f"kGolden{name}", rows), ""]
  lines += [
    "// The levels, and rows of either sign; first those that decrease.",
    *_array("kTimmLevels", [list(map(float, _LEVELS))]),
    *_array("kGoldenTimm", list(_timm())),
    "",
    "}  // namespace liquid",
    "",
    "#endif  // LIQUID_TESTS_OPS_IMAGE_POLICY_GOLDENS_H_",
  ]
  return "\n".join(lines) + "\n"


if __name__ == "__main__":
  print(header(), end="")
