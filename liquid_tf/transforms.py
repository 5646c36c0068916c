"""Steps that change images on their way into a batch, or into a dataset.

`dataset(path, 64, transforms=[RandomResizedCrop(224), Mirror(), Normalize(mean, std)])`
runs the steps while images are decoded. The steps come in this order, each at most
once; `Mirror` and `Flip` may stand anywhere among the steps of geometry, and `Seed`
anywhere. Of the policies, `RandAugment` to `ThreeAugment`, a list has one at most. A
size is (height, width) in pixels, or a number for a square; only for `Resize` a number
is the shorter side, as in torchvision.

| step | where | does |
| --- | --- | --- |
| `Channels(3)`, `Bits(8)` | `convert`, `profile` | change what is stored |
| `Orient()` | all | turns the image as its EXIF says |
| `RandomResizedCrop(224)` | `dataset`, `profile` | a window of random size, resized |
| `RandomCrop(224)`, `CenterCrop(224)` | `dataset`, `profile` | a window |
| `Resize(256)`, `Resize((h, w))`, `Resize(longer=256)` | all | the size |
| `Pad(256, value)` | `dataset`, `profile` | a border up to a size |
| `RandomCrop(224)`, `CenterCrop(224)` | `dataset`, `profile` | a window of that |
| `FiveCrop(224)`, `TenCrop(224)` | `dataset` | corners and centre, as views |
| `Mirror(p)`, `Flip(p)` | `dataset`, `profile` | left to right, top to bottom |
| `Rotate(degrees)` | `dataset`, `profile` | by a random angle |
| `RandAugment(n, magnitude)` | `dataset`, `profile` | n operations of 14 |
| `TrivialAugmentWide()` | `dataset`, `profile` | one operation of 14 |
| `AutoAugment("imagenet")` | `dataset`, `profile` | pairs of operations |
| `ThreeAugment()` | `dataset`, `profile` | gray, solarized or blurred |
| `ColorJitter(.4, .4)`, `Grayscale(p)` | `dataset`, `profile` | colours, by chance |
| `GaussianBlur(sigma, p)` | `dataset`, `profile` | blurs, by chance |
| `Solarize(threshold, p)` | `dataset`, `profile` | inverts what is bright |
| `Normalize(mean, std)` | `dataset`, `profile` | (pixels - mean) / std |
| `RandomErasing(p)` | `dataset`, `profile` | erases a rectangle, by chance |
| `Mix(mixup, cutmix)` | `dataset` | mixes samples of a batch in pairs, by chance |
| `Cast("bfloat16")`, `ChannelsFirst()` | `dataset`, `profile` | type, layout |
| `Ragged()` | `dataset` | images of unequal size in a batch |
| `Seed(n)` | `dataset` | the chance of the steps, apart from the order |

`Views([steps, steps])`, in place of the list, gives several views of each image.
`Boxes(pad=100)` is no step: among the `features` of `dataset` it gives the boxes, which
follow all steps.
"""

import dataclasses
import math
import numbers
import operator
import os
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from liquid_tf.errors import WrongArgument

if TYPE_CHECKING:
  import numpy as np
  import tensorflow as tf

__all__ = [
  "AutoAugment",
  "Bits",
  "Boxes",
  "CenterCrop",
  "Channels",
  "ChannelsFirst",
  "Cast",
  "ColorJitter",
  "FiveCrop",
  "Flip",
  "GaussianBlur",
  "Grayscale",
  "Mirror",
  "Mix",
  "Normalize",
  "Orient",
  "Pad",
  "Ragged",
  "RandAugment",
  "RandomCrop",
  "RandomErasing",
  "RandomResizedCrop",
  "Resize",
  "Rotate",
  "Seed",
  "Solarize",
  "Step",
  "TenCrop",
  "ThreeAugment",
  "TrivialAugmentWide",
  "Views",
]

_INTERPOLATIONS = ("bilinear", "bicubic", "nearest")
_MOST_PAD = 1 << 20
_MOST_VALUE = 65535
_MOST_RATIO = 1000
_MOST_VIEWS = 256
_FLOATS = ("float32", "float16", "bfloat16")
_MOST_SIGMA = 1000
# Of a policy: operations one after the other, and magnitudes.
_MOST_OPERATIONS = 32
_MAGNITUDES = 31
_AUTO_MAGNITUDES = 10
_MOST_TIMM_MAGNITUDE = 100
_AUTO_POLICIES = ("imagenet", "cifar10", "svhn")
_AUTO_OPERATIONS = (
  *("Identity", "ShearX", "ShearY", "TranslateX", "TranslateY", "Rotate", "Brightness"),
  *("Color", "Contrast", "Sharpness", "Posterize", "Solarize", "AutoContrast"),
  *("Equalize", "Invert"),
)
_WITHOUT_MAGNITUDE = ("Identity", "AutoContrast", "Equalize", "Invert")
_MODES = ("batch", "pair", "elem")
_LEAST_ALPHA, _MOST_ALPHA = 0.01, 100


class _Documented(type):
  """A class whose `help` is its docstring, without what every dataclass has."""

  def __dir__(cls) -> list[str]:
    return []


@dataclasses.dataclass(frozen=True, repr=False)
class Step(metaclass=_Documented):
  """One step of a list of transforms."""

  def __repr__(self) -> str:
    """As it may be written: without what is left at its default."""
    given = [
      f"{field.name}={getattr(self, field.name)!r}"
      for field in dataclasses.fields(self)
      if getattr(self, field.name) != field.default
    ]
    return f"{type(self).__name__}({', '.join(given)})"

  _random: ClassVar[bool] = False

  @property
  def random(self) -> bool:
    """Whether it leaves something to chance."""
    return self._random


def _is_side(value: Any) -> bool:
  """Whether a size is one whole number, also of NumPy's."""
  try:
    operator.index(value)
  except TypeError:
    return False
  return not isinstance(value, bool)


def _size(value: Any, name: str) -> tuple[int, int]:
  """A side of a square, or (height, width), as (height, width)."""
  pair = (value, value) if _is_side(value) else value
  try:
    height, width = map(operator.index, pair)
  except (TypeError, ValueError):
    height = width = 0
  if height < 1 or width < 1:
    raise WrongArgument(name, value, "must be a number of pixels, or (height, width)")
  return height, width


def _check_resizing(step: Any) -> None:
  name = type(step).__name__
  if step.interpolation not in _INTERPOLATIONS:
    raise WrongArgument(
      f"{name}: interpolation",
      step.interpolation,
      f"must be one of {', '.join(_INTERPOLATIONS)}",
    )
  if step.interpolation == "bicubic" and not step.antialias:
    raise WrongArgument(f"{name}: interpolation", "bicubic", "needs antialias=True")


def _check_shape(step: Any) -> None:
  """Checks what the area and the ratio of a random window are drawn from."""
  for name, least, most in (("scale", 0, 1), ("ratio", 1 / _MOST_RATIO, _MOST_RATIO)):
    value = getattr(step, name)
    try:
      low, high = (float(x) for x in value)
    except (TypeError, ValueError):
      low = high = math.nan
    if not (least <= low <= high <= most and low > 0):
      raise WrongArgument(
        f"{type(step).__name__}: {name}",
        value,
        "must be two rising numbers, "
        f"{'above 0' if least == 0 else f'from {least}'} and at most {most}",
      )
    object.__setattr__(step, name, (low, high))


def seed_bits(seed: Any, name: str) -> int:
  """The int64 with the bits of a seed, which may be any 64-bit number.

  Args:
    seed: the number.
    name: of the argument.

  Raises:
    ValueError: it is none.
  """
  whole = hasattr(seed, "__index__") and not isinstance(seed, bool)
  if not whole or not -(2**63) <= operator.index(seed) < 2**64:
    raise WrongArgument(name, seed, "must be a whole number of 64 bits")
  return (operator.index(seed) + 2**63) % 2**64 - 2**63


def _is_real(value: Any) -> bool:
  """Whether it is one number, also one of NumPy's."""
  return isinstance(value, numbers.Real) and not isinstance(value, bool)


def _is_number(value: Any, least: float, most: float) -> bool:
  return _is_real(value) and least <= value <= most


def _check_chance(step: Any) -> None:
  if not _is_number(step.p, 0, 1):
    raise WrongArgument(f"{type(step).__name__}: p", step.p, "must be from 0 to 1")


def _check_whole(step: Any, name: str, least: int, most: int) -> None:
  """Makes an attribute an int of that range."""
  value = getattr(step, name)
  if not _is_side(value) or not least <= value <= most:
    raise WrongArgument(
      f"{type(step).__name__}: {name}",
      value,
      f"must be a whole number from {least} to {most}",
    )
  object.__setattr__(step, name, operator.index(value))


@dataclasses.dataclass(frozen=True, repr=False)
class _ByChance(Step):
  """A step that some images take, by chance."""

  p: float

  def __post_init__(self) -> None:
    _check_chance(self)

  @property
  def random(self) -> bool:
    return 0 < self.p < 1


@dataclasses.dataclass(frozen=True, repr=False)
class _Window(Step):
  """A window of fixed size."""

  size: int | tuple[int, int]

  def __post_init__(self) -> None:
    size = _size(self.size, f"{type(self).__name__}: size")
    object.__setattr__(self, "size", size)


def _values(step: Any) -> None:
  """Checks what pixels without an image are filled with."""
  for name in ("value", "mask_value"):
    value = getattr(step, name)
    if (
      isinstance(value, bool)
      or not isinstance(value, int)
      or not (0 <= value <= _MOST_VALUE)
    ):
      raise WrongArgument(
        f"{type(step).__name__}: {name}",
        value,
        "must be a pixel's value, 0 to 255, or 65535 for 16 bits",
      )


def _numbers(
  value: Any, name: str, positive: bool = False, or_else: str = ""
) -> tuple[float, ...]:
  """One number, or one for each channel, as a tuple."""
  values: tuple[float, ...]
  try:
    values = (float(value),)
  except (TypeError, ValueError):
    try:
      values = tuple(float(x) for x in value)
    except (TypeError, ValueError):
      values = ()
  if not values or not all(
    math.isfinite(x) and (x > 0 or not positive) for x in values
  ):
    above = " above 0" if positive else ""
    raise WrongArgument(
      name, value, f"must be a number{above}, or one for each channel{or_else}"
    )
  return values


@dataclasses.dataclass(frozen=True, repr=False)
class Channels(Step):
  """Stores every image with as many channels; only changes without loss are made.

  Attributes:
    count: 1 to 4.
  """

  count: int

  def __post_init__(self) -> None:
    if isinstance(self.count, bool) or self.count not in (1, 2, 3, 4):
      raise WrongArgument("Channels", self.count, "must be 1, 2, 3 or 4")


@dataclasses.dataclass(frozen=True, repr=False)
class Bits(Step):
  """Stores every image with one depth.

  Attributes:
    depth: 8 keeps the upper 8 of 16 bits; 16 multiplies 8 bits by 257; "skip" leaves
      out and reports the images whose depth, or whose mask's, is not the commonest one;
      docs/convert.md tells how to keep a less common one.
  """

  depth: int | str

  def __post_init__(self) -> None:
    if isinstance(self.depth, bool) or self.depth not in (8, 16, "skip"):
      raise WrongArgument("Bits", self.depth, 'must be 8, 16 or "skip"')


@dataclasses.dataclass(frozen=True, repr=False)
class Orient(Step):
  """Turns and mirrors an image as the EXIF of its source file says.

  Masks are turned with their images. All later steps see the turned image.
  """


@dataclasses.dataclass(frozen=True, repr=False)
class RandomCrop(_Window):
  """A window of fixed size at a random place; only what it needs is decoded.

  Attributes:
    size: (height, width) in pixels, or a number for a square.
  """

  _random = True


@dataclasses.dataclass(frozen=True, repr=False)
class CenterCrop(_Window):
  """A window of fixed size in the centre; only what it needs is decoded.

  Of an odd number of pixels to leave out, half is rounded to even, as torchvision's
  CenterCrop does.

  Attributes:
    size: (height, width) in pixels, or a number for a square.
  """


@dataclasses.dataclass(frozen=True, repr=False)
class _FixedCrop(CenterCrop):
  """One of the windows of `TenCrop`.

  Attributes:
    name: as errors call it.
    y: halves of the rows left out that lie above the window, 0 to 2.
    x: halves of the columns left out that lie left of it.
    mirrored: whether x is of the mirrored image.
  """

  name: str
  y: int
  x: int
  mirrored: bool

  def __repr__(self) -> str:
    return self.name


@dataclasses.dataclass(frozen=True, repr=False)
class FiveCrop(_Window):
  """The four corners and the centre of an image, as five views of one decode.

  A batch's "image" is then a tuple of five arrays [n, height, width, c]: upper left,
  upper right, lower left, lower right, centre. These are the windows of torchvision's
  FiveCrop. All other steps take effect in each view, as in `Views`.

  Attributes:
    size: (height, width) in pixels, or a number for a square.
    as_samples: whether the crops are samples of the batch, those of an image one after
      another, as `Views` has them: [5 * n, height, width, c].
  """

  as_samples: bool = dataclasses.field(default=False, kw_only=True)

  @property
  def crops(self) -> list[list[Step]]:
    """Steps in its place, of each view."""
    return [[crop] for crop in self._windows(0)]

  def _windows(self, first: int) -> list[Step]:
    """The windows from number `first` on: 0, or 5, those of the mirrored image."""
    places = ((0, 0), (0, 2), (2, 0), (2, 2), (1, 1))
    return [
      _FixedCrop(self.size, f"{self}[{number}]", y, x, first > 0)
      for number, (y, x) in enumerate(places, first)
    ]


@dataclasses.dataclass(frozen=True, repr=False)
class TenCrop(FiveCrop):
  """`FiveCrop`, then the same five windows of the mirrored image: ten views.

  These are the windows of torchvision's TenCrop. It does not go with `Mirror`.

  Attributes:
    size: (height, width) in pixels, or a number for a square.
    as_samples: whether the crops are samples of the batch, those of an image one after
      another, as `Views` has them: [10 * n, height, width, c].
  """

  @property
  def crops(self) -> list[list[Step]]:
    return [*super().crops, *([crop, Mirror(1.0)] for crop in self._windows(5))]


@dataclasses.dataclass(frozen=True, repr=False)
class RandomResizedCrop(Step):
  """A window of random place, size and shape, resized: the crop of ImageNet recipes.

  The window's area is uniform between two shares of the image's, the logarithm of its
  ratio is uniform, and so is its place (Szegedy et al., "Going deeper with
  convolutions", CVPR 2015). A window that does not fit is drawn again, up to ten times;
  then it is the largest one in the centre whose ratio is allowed. Only the window is
  decoded. Its pixels are those of Pillow's `crop(window).resize(size)`.

  Attributes:
    size: (height, width) in pixels, or a number for a square; None leaves windows as
      they are, which needs `Ragged()` or `batch_size=None`.
    scale: least and most share of the image's area, above 0 and at most 1.
    ratio: least and most quotient of width and height, from 1/1000 to 1000.
    interpolation: as of `Resize`.
    antialias: as of `Resize`.
    draft: as of `Resize`.
  """

  _random = True
  size: int | tuple[int, int] | None
  scale: tuple[float, float] = (0.08, 1.0)
  ratio: tuple[float, float] = (3 / 4, 4 / 3)
  interpolation: str = "bilinear"
  antialias: bool = True
  draft: bool = False

  def __post_init__(self) -> None:
    if self.size is not None:
      object.__setattr__(self, "size", _size(self.size, "RandomResizedCrop: size"))
    _check_resizing(self)
    _check_shape(self)


@dataclasses.dataclass(frozen=True, repr=False)
class Resize(Step):
  """Resizes the image, or the window before it; masks take the nearest pixel.

  With `antialias`, the pixels are those of Pillow's `Image.resize`, to the bit for 8
  bits a channel; images with alpha are resized with their colours multiplied by it, as
  there. Images of 16 bits are within .51 of exact arithmetic.

  Attributes:
    size: (height, width) in pixels; or a number, which is `shorter`, as in
      torchvision's `Resize`. For a square write Resize((96, 96)).
    shorter: the shorter side, in pixels; the other one keeps the shape, rounded down as
      by torchvision's `Resize`. Exactly one of `size`, `shorter` and `longer` is given.
    longer: the longer side, likewise.
    interpolation: "bilinear", "bicubic" or "nearest".
    antialias: False resizes as `tf.image.resize(antialias=False)` does, and rounds: of
      an image that becomes smaller, most pixels have no effect.
    draft: whether jpeg and pcr may be decoded at a half, a quarter or an eighth of
      their size first, as Pillow's `Image.draft` does. Faster; pixels differ a little.
  """

  size: int | tuple[int, int] | None = None
  shorter: int | None = dataclasses.field(default=None, kw_only=True)
  longer: int | None = dataclasses.field(default=None, kw_only=True)
  interpolation: str = dataclasses.field(default="bilinear", kw_only=True)
  antialias: bool = dataclasses.field(default=True, kw_only=True)
  draft: bool = dataclasses.field(default=False, kw_only=True)

  def __post_init__(self) -> None:
    given = [
      name for name in ("size", "shorter", "longer") if getattr(self, name) is not None
    ]
    if len(given) != 1:
      raise ValueError(
        f"Resize: give exactly one of size, shorter and longer, not "
        f"({', '.join(given) or 'none'})"
      )
    if self.size is not None:
      size = _size(self.size, "Resize: size")
      is_side = _is_side(self.size)
      object.__setattr__(self, "size", None if is_side else size)
      if is_side:
        object.__setattr__(self, "shorter", size[0])
    else:
      side = getattr(self, given[0])
      if not _is_side(side) or side < 1:
        raise WrongArgument(f"Resize: {given[0]}", side, "must be a number of pixels")
      object.__setattr__(self, given[0], operator.index(side))
    _check_resizing(self)


@dataclasses.dataclass(frozen=True, repr=False)
class Pad(_Window):
  """Puts the image in the centre of a larger one; half a pixel goes to the left or top.

  Attributes:
    size: (height, width) in pixels, or a number for a square; at least the image's.
    value: of the border's pixels, in every channel.
    mask_value: of the border of masks.
  """

  value: int = 0
  mask_value: int = 0

  def __post_init__(self) -> None:
    super().__post_init__()
    _values(self)


@dataclasses.dataclass(frozen=True, repr=False)
class Mirror(_ByChance):
  """Mirrors images by chance, left to right, with their masks, boxes and keypoints.

  It takes effect after all crops and before `Rotate`, wherever it stands.

  Attributes:
    p: share of the images.
    flip: for keypoints, which one takes each one's place in a mirrored image, as the
      left eye the right one's: a permutation of their numbers. () keeps them.
  """

  p: float = 0.5
  flip: Sequence[int] = ()

  def __post_init__(self) -> None:
    super().__post_init__()
    flip = tuple(self.flip)
    if sorted(flip) != list(range(len(flip))):
      raise WrongArgument(
        "Mirror: flip",
        list(flip),
        "must be a permutation of the keypoints' numbers, from 0",
      )
    object.__setattr__(self, "flip", flip)


@dataclasses.dataclass(frozen=True, repr=False)
class Flip(_ByChance):
  """Turns images over by chance, top to bottom, with masks, boxes and keypoints.

  It takes effect after all crops and before `Rotate`, wherever it stands. Keypoints
  keep their numbers.

  Attributes:
    p: share of the images.
  """

  p: float = 0.5


@dataclasses.dataclass(frozen=True, repr=False)
class Rotate(Step):
  """Rotates about the centre by a random angle; the size stays.

  Pixels are those of Pillow's `Image.rotate`: bilinear, and of masks the nearest.

  Attributes:
    degrees: the angle is uniform from -degrees to degrees; at most 180.
    value: of the corners' pixels, in every channel.
    mask_value: of the corners of masks.
  """

  _random = True
  degrees: float
  value: int = 0
  mask_value: int = 0

  def __post_init__(self) -> None:
    if isinstance(self.degrees, bool) or not 0 < self.degrees <= 180:
      raise WrongArgument(
        "Rotate: degrees", self.degrees, "must be above 0 and at most 180"
      )
    _values(self)


@dataclasses.dataclass(frozen=True, repr=False)
class RandAugment(Step):
  """Does n of 14 operations, drawn for each image, as torchvision's RandAugment.

  The policy of Cubuk et al., "RandAugment: Practical automated data augmentation with a
  reduced search space" (CVPR Workshops 2020). Operations are drawn with replacement:
  none, ShearX, ShearY, TranslateX, TranslateY, Rotate, Brightness, Color, Contrast,
  Sharpness, Posterize, Solarize, AutoContrast and Equalize, those with a direction to
  either side. For the operations that were drawn, pixels are those of torchvision's v2
  on PIL images: the nearest ones, with black where there is no image. For images of 8
  bits and 1 or 3 channels, and without masks, `Boxes` and "affine", which would not
  follow.

  Attributes:
    n: operations, 0 to 32.
    magnitude: of each, 0 to 30.
  """

  _random = True
  n: int = 2
  magnitude: int = 9

  def __post_init__(self) -> None:
    _check_whole(self, "n", 0, _MOST_OPERATIONS)
    _check_whole(self, "magnitude", 0, _MAGNITUDES - 1)

  @staticmethod
  def timm(config: str) -> Step:
    """The RandAugment of timm, by which DeiT, ConvNeXt and ResNet strikes back train.

    It has operations and magnitudes of its own, does each drawn operation by chance,
    and moves pixels in bilinear or bicubic interpolation, by chance. Where there is no
    image, pixels have the mean of `Normalize`, rounded, or 128 without one. Posterize
    to 0 bits, which Pillow 13 refuses, gives black.

    Args:
      config: as timm's, "rand-m9-mstd0.5-inc1": m, the magnitude (10); n, the
        operations (2); p, the chance of each (.5); mstd, the deviation of a normal
        magnitude (0), where above 100 stands for a magnitude that is uniform from 0;
        mmax, the greatest magnitude (10); inc, 1 where changes grow with the
        magnitude (0).

    Raises:
      ValueError: the text is none; the message names the part.
    """
    values = _timm_values(config)
    uniform = values["mstd"] > _TIMM_UNIFORM
    return _TimmRandAugment(
      n=int(values["n"]),
      magnitude=int(values["m"]),
      p=values["p"],
      deviation=0.0 if uniform else float(values["mstd"]),
      uniform=uniform,
      most=int(values["mmax"]) or 10,
      increasing=bool(values["inc"]),
      config=config,
    )


@dataclasses.dataclass(frozen=True, repr=False)
class _TimmRandAugment(RandAugment):
  """A `RandAugment.timm`; `config` is as it was written."""

  p: float = 0.5
  deviation: float = 0.0
  uniform: bool = False
  most: int = 10
  increasing: bool = False
  config: str = "rand"

  def __post_init__(self) -> None:
    """Checks nothing: the text was checked."""

  def __repr__(self) -> str:
    return f"RandAugment.timm({self.config!r})"


# The parts of a text of timm's: default and most.
_TIMM_PARTS: dict[str, tuple[float, float]] = {
  "m": (10, _MOST_TIMM_MAGNITUDE),
  "n": (2, _MOST_OPERATIONS),
  "p": (0.5, 1),
  "mstd": (0, math.inf),
  "mmax": (10, _MOST_TIMM_MAGNITUDE),
  "inc": (0, 1),
}
_TIMM_UNIFORM = 100


def _timm_values(config: Any) -> dict[str, float]:
  """The numbers of a text such as "rand-m9-mstd0.5-inc1", and the defaults.

  Raises:
    ValueError: the text is none.
  """
  name = "RandAugment.timm: config"
  first, *parts = config.split("-") if isinstance(config, str) else [""]
  if first != "rand":
    raise WrongArgument(name, config, 'must be as "rand-m9-mstd0.5-inc1"')
  given: dict[str, float] = {}
  for part in parts:
    found = re.fullmatch(r"([a-z]+)(\d+(?:\.\d*)?|\.\d+)", part)
    key = found[1] if found else ""
    if found is None or key not in _TIMM_PARTS or key in given:
      three = "; for 3-Augment take ThreeAugment()" if part.startswith("t3a") else ""
      raise WrongArgument(
        name,
        config,
        f"must be of {', '.join(_TIMM_PARTS)}, each once with a number, not "
        f'"{part}"{three}',
      )
    value, most = float(found[2]), _TIMM_PARTS[key][1]
    whole = key not in ("p", "mstd")
    if value > most or (whole and value % 1):
      number = "a whole number" if whole else "a number"
      raise WrongArgument(name, config, f"must have for {key} {number} to {most:g}")
    given[key] = value
  return {**{key: part[0] for key, part in _TIMM_PARTS.items()}, **given}


@dataclasses.dataclass(frozen=True, repr=False)
class TrivialAugmentWide(Step):
  """Does one of 14 operations, with a random magnitude, as torchvision's.

  The policy of Müller and Hutter, "TrivialAugment: Tuning-free yet state-of-the-art
  data augmentation" (ICCV 2021). The operations are those of `RandAugment`, with a
  wider range: one of 31 magnitudes is drawn. Pixels and images are as there.
  """

  _random = True


@dataclasses.dataclass(frozen=True, repr=False)
class AutoAugment(Step):
  """Does the operations of one sub-policy, drawn for each image, as torchvision's.

  The policies are those of Cubuk et al., "AutoAugment: Learning augmentation policies
  from data" (CVPR 2019), or one of your own. Each operation of the drawn sub-policy
  happens with its own chance. Pixels and images are as of `RandAugment`.

  Attributes:
    policy: "imagenet", "cifar10" or "svhn"; or a list of sub-policies, each of them
      operations (name, p, magnitude) as [("Posterize", .4, 8), ("Rotate", .6, 9)]. The
      names are those that `RandAugment` lists, "Identity" for none, and "Invert"; the
      magnitude is 0 to 9, or None for Identity, AutoContrast, Equalize and Invert.
  """

  _random = True
  policy: str | Sequence[Sequence[tuple[str, float, int | None]]] = "imagenet"

  def __post_init__(self) -> None:
    if isinstance(self.policy, str):
      if self.policy not in _AUTO_POLICIES:
        raise WrongArgument(
          "AutoAugment: policy",
          self.policy,
          f"must be one of {', '.join(_AUTO_POLICIES)}, or a list of sub-policies",
        )
      return
    try:
      own = tuple(tuple(tuple(one) for one in part) for part in self.policy)
    except TypeError:
      own = ()
    for one in (one for part in own for one in part):
      _check_operation(one)
    if not own or not all(0 < len(part) <= _MOST_OPERATIONS for part in own):
      raise WrongArgument(
        "AutoAugment: policy",
        self.policy,
        "must be a list of sub-policies, each a list of 1 to "
        f"{_MOST_OPERATIONS} operations (name, p, magnitude)",
      )
    object.__setattr__(self, "policy", own)


def _check_operation(given: tuple[Any, ...]) -> None:
  """Raises ValueError where it is no (name, p, magnitude)."""
  if len(given) == 3 and given[0] in _AUTO_OPERATIONS and _is_number(given[1], 0, 1):
    if given[2] is None and given[0] in _WITHOUT_MAGNITUDE:
      return
    if _is_side(given[2]) and 0 <= given[2] < _AUTO_MAGNITUDES:
      return
  raise WrongArgument(
    "AutoAugment: policy",
    given,
    f"must be (name, p, magnitude): one of {', '.join(_AUTO_OPERATIONS)}; from 0 to 1; "
    f"0 to {_AUTO_MAGNITUDES - 1}, or None for one without",
  )


@dataclasses.dataclass(frozen=True, repr=False)
class ThreeAugment(Step):
  """Makes each image gray, or solarizes it, or blurs it, each as likely.

  The policy of DeiT III (Touvron et al., "DeiT III: Revenge of the ViT", ECCV 2022),
  whose colour jitter is `ColorJitter(.3, .3, .3)` after it: Pillow's `convert("L")`,
  `ImageOps.solarize` from 128 on, and `GaussianBlur` with a sigma that is uniform from
  .1 to 2. For images as of `RandAugment`.
  """

  _random = True


@dataclasses.dataclass(frozen=True, repr=False)
class ColorJitter(Step):
  """Changes brightness, contrast, saturation and hue by chance, in a random order.

  For images of 8 bits and 3 channels. Pixels are those of Pillow's ImageEnhance, and
  the hue is turned in Pillow's HSV, as torchvision's ColorJitter does with such images.

  Attributes:
    brightness: the factor is uniform from max(0, 1 - brightness) to 1 + brightness.
    contrast: likewise.
    saturation: likewise.
    hue: the turn is uniform from -hue to hue, in circles; at most .5.
    p: share of the images whose colours change.
  """

  _random = True
  brightness: float = 0.0
  contrast: float = 0.0
  saturation: float = 0.0
  hue: float = 0.0
  p: float = 1.0

  def __post_init__(self) -> None:
    for name in ("brightness", "contrast", "saturation", "hue"):
      value = getattr(self, name)
      most = 0.5 if name == "hue" else 1e6
      if isinstance(value, bool) or not 0 <= value <= most:
        raise WrongArgument(
          f"ColorJitter: {name}", value, f"must be from 0 to {most:g}"
        )
    _check_chance(self)


@dataclasses.dataclass(frozen=True, repr=False)
class Grayscale(_ByChance):
  """Makes images gray by chance: Pillow's `convert("L")`, in three equal channels.

  Attributes:
    p: share of the images.
  """

  p: float = 0.1


@dataclasses.dataclass(frozen=True, repr=False)
class GaussianBlur(Step):
  """Blurs images by chance: Pillow's `ImageFilter.GaussianBlur`.

  For images of 8 bits and 1 or 3 channels. DINO's and MoCo's blur; torchvision's
  GaussianBlur weighs pixels by another kernel. Masks stay.

  Attributes:
    sigma: Pillow's radius, the deviation in pixels, 0 to 1,000: a number, or (least,
      most) between which it is uniform.
    p: share of the images.
  """

  sigma: float | tuple[float, float] = (0.1, 2.0)
  p: float = 0.5

  def __post_init__(self) -> None:
    given: Any = self.sigma
    try:
      low, high = (float(x) for x in ((given, given) if _is_real(given) else given))
    except (TypeError, ValueError):
      low = high = math.nan
    if not 0 <= low <= high <= _MOST_SIGMA:
      raise WrongArgument(
        "GaussianBlur: sigma",
        given,
        f"must be a number from 0 to {_MOST_SIGMA:,}, or two that rise",
      )
    object.__setattr__(self, "sigma", (low, high))
    _check_chance(self)

  @property
  def random(self) -> bool:
    sigma: Any = self.sigma
    low, high = sigma
    return self.p > 0 and (self.p < 1 or low < high)


@dataclasses.dataclass(frozen=True, repr=False)
class Solarize(Step):
  """Inverts bright values by chance: Pillow's `ImageOps.solarize`.

  For images of 8 bits and 1 or 3 channels. Masks stay.

  Attributes:
    threshold: from where on values v become 255 - v, 0 to 256.
    p: share of the images.
  """

  threshold: int = 128
  p: float = 0.2

  def __post_init__(self) -> None:
    _check_whole(self, "threshold", 0, 256)
    _check_chance(self)

  @property
  def random(self) -> bool:
    return 0 < self.p < 1


@dataclasses.dataclass(frozen=True, repr=False)
class Normalize(Step):
  """Subtracts `mean`, then divides by `std`, in float32, each rounded once.

  Attributes:
    mean: in units of a pixel, 0 to 255, or to 65535 for images of 16 bits, which are
      not scaled before: there 32767.5 is the middle. A number, or one for each channel.
    std: likewise, above 0.
    mean_image: in place of `mean`, a file of NumPy with the mean of every value of the
      result: float32 [height, width, channels]; docs/images.md tells how to make it.
  """

  mean: float | Sequence[float] = 0.0
  std: float | Sequence[float] = 1.0
  mean_image: str | os.PathLike | None = dataclasses.field(default=None, kw_only=True)

  def __post_init__(self) -> None:
    if self.mean_image is not None:
      object.__setattr__(self, "mean_image", os.fspath(self.mean_image))
      if self.mean != 0.0:
        raise ValueError("Normalize: mean and mean_image must not both be given")
    mean = _numbers(self.mean, "Normalize: mean")
    std = _numbers(self.std, "Normalize: std", positive=True)
    object.__setattr__(self, "mean", mean)
    object.__setattr__(self, "std", std)
    if 0 < max(map(abs, mean)) <= 1 or max(std) < 1:
      # Means of pixels from 0 to 1, as torchvision has them.
      wanted = ", ".join(
        f"{name}={[round(255 * value, 3) for value in values]}"
        for name, values in (("mean", mean), ("std", std))
      )
      raise WrongArgument(
        "Normalize: mean",
        list(mean),
        f"and std ({list(std)}) must be in units of a pixel, 0 to 255; for pixels of "
        f"0 to 1 that is Normalize({wanted})",
      )


@dataclasses.dataclass(frozen=True, repr=False)
class RandomErasing(_ByChance):
  """Erases a rectangle of a normalised image by chance; masks stay.

  The rectangle is drawn as torchvision's RandomErasing draws it: its area is uniform
  between two shares of the image's, the logarithm of its ratio is uniform, and so is
  its place. One that is as high or as wide as the image is drawn again, up to ten
  times; then nothing is erased. Images must be of floating-point numbers: it needs
  `Normalize` or `Cast`.

  Attributes:
    p: share of the images.
    scale: least and most share of the image's area, above 0 and at most 1.
    ratio: least and most quotient of height and width, from 1/1000 to 1000.
    value: of the erased pixels, after `Normalize`: 0 is its mean. A number, or one for
      each channel; or "noise", normal numbers of mean 0 and deviation 1.
  """

  p: float = 0.25
  scale: tuple[float, float] = (0.02, 0.33)
  ratio: tuple[float, float] = (0.3, 3.3)
  value: float | str | Sequence[float] = 0.0

  def __post_init__(self) -> None:
    super().__post_init__()
    _check_shape(self)
    if not isinstance(self.value, str) or self.value != "noise":
      values = _numbers(self.value, "RandomErasing: value", or_else=', or "noise"')
      value = values[0] if len(values) == 1 else values
      object.__setattr__(self, "value", value)

  @property
  def random(self) -> bool:
    return self.p > 0


@dataclasses.dataclass(frozen=True, repr=False)
class Mix(Step):
  """Mixes samples of a batch in pairs, with their labels: mixup and CutMix.

  Sample i of n has sample n - 1 - i as its partner, and the middle one of an odd number
  stays as it is; in a mixture of datasets samples of one dataset are partners, counted
  among themselves. `mixup` adds both images in the shares lam and 1 - lam; `cutmix`
  puts a window of the partner into the image, and lam is the share of the area that
  stays. The label becomes float32 [n, classes]: the own one times lam plus the
  partner's times 1 - lam. These are the rules of timm's Mixup. All of it is done in
  float32 after `Normalize` and `RandomErasing`, and rounded once.

  Among `features` may be "partner", int32 [n], the partner's place in the batch, and
  "lam", float32 [n]. Without "label" they say what a loss needs, whatever labels are.

  Attributes:
    mixup: lam is drawn from Beta(mixup, mixup); .01 to 100, or 0 for no mixup.
    cutmix: likewise of CutMix.
    p: chance that something is mixed.
    switch: chance that it is CutMix, where both are given.
    label_smoothing: share of a label that all classes have alike, 0 to 1. Without
      `mixup` and `cutmix` it is all that is done.
    mode: what is drawn once: "batch", for all samples; "pair", for both of a pair; or
      "elem", for each sample.
  """

  mixup: float = 0.8
  cutmix: float = 1.0
  p: float = 1.0
  switch: float = 0.5
  label_smoothing: float = 0.1
  mode: str = "batch"

  def __post_init__(self) -> None:
    for name in ("mixup", "cutmix"):
      alpha = getattr(self, name)
      if not _is_real(alpha) or not (
        alpha == 0 or _LEAST_ALPHA <= alpha <= _MOST_ALPHA
      ):
        raise WrongArgument(
          f"Mix: {name}", alpha, f"must be 0, or from {_LEAST_ALPHA} to {_MOST_ALPHA}"
        )
    for name in ("p", "switch", "label_smoothing"):
      share = getattr(self, name)
      if not _is_number(share, 0, 1):
        raise WrongArgument(f"Mix: {name}", share, "must be from 0 to 1")
    if self.mode not in _MODES:
      raise WrongArgument("Mix: mode", self.mode, f"must be one of {', '.join(_MODES)}")

  @property
  def random(self) -> bool:
    return self.p > 0 and (self.mixup > 0 or self.cutmix > 0)


@dataclasses.dataclass(frozen=True, repr=False)
class Cast(Step):
  """Gives images another type; results in float32 are rounded to it.

  Attributes:
    dtype: "float32", "float16" or "bfloat16", or TensorFlow's or NumPy's name for one.
  """

  dtype: "str | tf.DType | np.dtype | type[np.generic]"

  def __post_init__(self) -> None:
    name = getattr(self.dtype, "name", None) or getattr(self.dtype, "__name__", None)
    name = name or self.dtype
    if name not in _FLOATS:
      raise WrongArgument("Cast", self.dtype, f"must be one of {', '.join(_FLOATS)}")
    object.__setattr__(self, "dtype", name)


@dataclasses.dataclass(frozen=True, repr=False)
class ChannelsFirst(Step):
  """Gives images as [n, c, h, w], instead of [n, h, w, c]."""


@dataclasses.dataclass(frozen=True, repr=False)
class Ragged(Step):
  """Lets images of unequal size make a batch, a ragged tensor [n, None, None, c]."""


@dataclasses.dataclass(frozen=True, repr=False)
class Seed(Step):
  """Seeds what the random steps draw, in place of the dataset's seed.

  Two datasets of one seed have one order, and their steps draw the same numbers, so a
  sample has the same window and is mirrored in both, whatever their sizes. With a
  `Seed` in one of them their order stays the same, and the windows are others. For
  several views of each image give `Views`.

  Attributes:
    seed: any 64-bit number.
  """

  seed: int

  def __post_init__(self) -> None:
    seed_bits(self.seed, "Seed")


@dataclasses.dataclass(frozen=True)
class Views(metaclass=_Documented):
  """Several views of each image, of one read and one decode: as `transforms`.

  `transforms=Views([crop] * 2 + [small] * 6)`, of lists of steps `crop` and `small`,
  makes a batch's "image" a tuple of eight arrays, each [n, height, width, c] of its
  view's size, type and layout. View 0 is what `transforms=crop` gives. What the steps
  of each other view leave to chance is drawn for itself.

  With `as_samples`, views are samples of the batch instead (repeated augmentation):
  of n images with 3 views [3 * n, height, width, c], those of an image one after
  another, beside its label and all else of it three times. `Mix`, alike in all views,
  then mixes all samples of the batch.

  Attributes:
    recipes: a list of steps for each view, at most 256.
    as_samples: whether all views are one array; of one size, type and layout.

  Raises:
    ValueError: an attribute is wrong; the message names it.
  """

  recipes: Sequence[Sequence[Step]]
  as_samples: bool = dataclasses.field(default=False, kw_only=True)

  def __post_init__(self) -> None:
    try:
      recipes = tuple(tuple(steps) for steps in self.recipes)
    except TypeError:
      recipes = ()
    if not 1 <= len(recipes) <= _MOST_VIEWS:
      raise WrongArgument(
        "Views",
        self.recipes,
        f"must be a list of 1 to {_MOST_VIEWS} views, each a list of steps: "
        "Views([steps] * 2)",
      )
    object.__setattr__(self, "recipes", recipes)


@dataclasses.dataclass(frozen=True)
class Boxes(metaclass=_Documented):
  """Boxes of a detection set, as a batch's images show them: among `features`, no step.

  Boxes follow all steps of geometry and are cut at the sides of the result; a turned
  box becomes the upright one that encloses it. A box drops out where nothing of it is
  visible, or too little, and with it all that the dataset says of it. Of n images, it
  gives:

  - "boxes" [n, pad, 4] float32: y0, x0, y1, x1 in pixels of the result, whose upper
    left corner is (0, 0). Zeros where there is no box.
  - "num_boxes" [n] int32: how many of them are boxes.
  - "box_labels" [n, pad] int64; -1 where there is no box.
  - every other feature of the dataset that has one value for each box, under its own
    name, with zeros or empty strings where there is no box: "keypoints"
    [n, pad, k, 3] float32, y, x and v, which follow as boxes do, those outside the
    result and those with v = 0 as zeros; all others as they are stored, "area" too.

  Attributes:
    pad: boxes of each image, the first that stay; at most 2^20. None gives
      tf.RaggedTensors [n, None, ...] instead.
    min_visible: least part of a box's area that must be inside the result, 0 to 1; one
      that has none of it inside drops out in any case.

  Raises:
    ValueError: an attribute is wrong; the message names it.
  """

  pad: int | None = None
  min_visible: float = 0.0

  def __post_init__(self) -> None:
    if self.pad is not None:
      if not _is_side(self.pad) or not 1 <= self.pad <= _MOST_PAD:
        raise WrongArgument("Boxes: pad", self.pad, "must be from 1 to 2^20, or None")
      object.__setattr__(self, "pad", operator.index(self.pad))
    least = self.min_visible
    if not _is_number(least, 0, 1):
      raise WrongArgument("Boxes: min_visible", least, "must be from 0 to 1")


# In the order in which steps take effect. A class may have two places.
_SLOTS: dict[str, tuple[type[Step], ...]] = {
  "channels": (Channels,),
  "bits": (Bits,),
  "orient": (Orient,),
  "crop": (RandomCrop, CenterCrop, FiveCrop, RandomResizedCrop),
  "resize": (Resize,),
  "pad": (Pad,),
  "second_crop": (RandomCrop, CenterCrop, FiveCrop),
  "mirror": (Mirror,),
  "flip": (Flip,),
  "rotate": (Rotate,),
  "policy": (RandAugment, TrivialAugmentWide, AutoAugment, ThreeAugment),
  "colour": (ColorJitter,),
  "grayscale": (Grayscale,),
  "blur": (GaussianBlur,),
  "solarize": (Solarize,),
  "normalize": (Normalize,),
  "erasing": (RandomErasing,),
  "mix": (Mix,),
  "cast": (Cast,),
  "channels_first": (ChannelsFirst,),
  "ragged": (Ragged,),
  "seed": (Seed,),
}
_NAMES = list(_SLOTS)
# Among these some may stand anywhere.
_GEOMETRY, _AFTER_GEOMETRY = _NAMES.index("orient"), _NAMES.index("policy")
_ANYWHERE = ("mirror", "flip")


def _slot_of(step: Step, last: int, found: dict[str, Step]) -> str:
  """The place of a step, `last` being that of the one before it.

  Raises:
    ValueError: there is none; the message names two steps.
  """
  slots = [name for name in _NAMES if isinstance(step, _SLOTS[name])]
  if slots == ["seed"] and "seed" not in found:
    return "seed"
  if slots[0] in _ANYWHERE and slots[0] not in found and last < _AFTER_GEOMETRY:
    return slots[0]
  for name in _ANYWHERE:
    if name in found and _NAMES.index(slots[0]) < _GEOMETRY:
      raise ValueError(f"transforms: {step} must come before {found[name]}")
  free = [name for name in slots if name not in found and _NAMES.index(name) > last]
  resized = isinstance(found.get("crop"), RandomResizedCrop)
  if free[:1] == ["second_crop"] and "crop" in found:
    # Two windows of one image are one too many.
    if not (resized or "resize" in found or "pad" in found):
      free = []
  if free:
    return free[0]
  taken = [found[name] for name in slots if name in found]
  if taken:
    raise ValueError(f"transforms: {taken[-1]} and {step} must not both be given")
  raise ValueError(f"transforms: {step} must come before {found[_NAMES[last]]}")


def by_slot(
  transforms: Iterable[Step], allowed: Sequence[type[Step]], where: str
) -> dict[str, Step]:
  """Checks a list of steps.

  Args:
    transforms: the steps.
    allowed: classes that may be among them.
    where: who takes them, as an error says it.

  Returns:
    The steps by their place, in the order in which they take effect: channels, bits,
    orient, crop, resize, pad, second_crop, mirror, flip, rotate, policy, colour,
    grayscale, blur, solarize, normalize, erasing, mix, cast, channels_first, ragged,
    seed.

  Raises:
    ValueError: it is no list of steps, a step is not allowed here, two are of one
      place, or they are out of order; the message names both.
  """
  try:
    steps = list(transforms)
  except TypeError:
    raise WrongArgument(
      "transforms", transforms, "must be a list of steps of liquid_tf.transforms"
    ) from None
  found: dict[str, Step] = {}
  last = -1
  for step in steps:
    if not isinstance(step, tuple(allowed)):
      names = ", ".join(one.__name__ for one in allowed)
      raise ValueError(f"transforms: {step!r} must be a step of {where}: {names}")
    slot = _slot_of(step, last, found)
    found[slot] = step
    if slot not in (*_ANYWHERE, "seed"):
      last = _NAMES.index(slot)
  return {name: found[name] for name in _NAMES if name in found}
