"""What happens to an image on its way into a batch, or into a dataset: a list of steps.

`dataset(path, 64, transforms=[RandomResizedCrop(224, antialias=False), Mirror(),
Normalize(mean, std)])` runs the steps while images are decoded. The steps come in this
order, each at most once; `Mirror` may stand anywhere among the steps of geometry:

| step | where | does |
| --- | --- | --- |
| `Channels`, `Bits` | `convert`, `profile` | change what is stored |
| `RandomResizedCrop` | `dataset` | a window of random size |
| `RandomCrop`, `CenterCrop` | `dataset`, `profile` | a window |
| `Resize` | `dataset`, `profile` | the size |
| `Mirror` | `dataset` | left to right, by chance |
| `Normalize`, `Cast`, `ChannelsFirst` | `dataset` | numbers, type and layout |
| `Ragged` | `dataset` | images of unequal size in a batch |
"""

import dataclasses
import math
import operator
from collections.abc import Iterable, Sequence
from typing import Any

__all__ = [
  "Bits",
  "CenterCrop",
  "Channels",
  "ChannelsFirst",
  "Cast",
  "Mirror",
  "Normalize",
  "Ragged",
  "RandomCrop",
  "RandomResizedCrop",
  "Resize",
  "Step",
]

_MOST_RATIO = 1000
_FLOATS = ("float32", "float16", "bfloat16")


class Step:
  """One step of a list of transforms; its place in the list is `rank`."""

  rank = 0


def _size(value: Any, name: str) -> tuple[int, int]:
  """A side of a square, or (height, width), as (height, width)."""
  pair = (value, value) if isinstance(value, int) else value
  try:
    height, width = map(operator.index, pair)
  except (TypeError, ValueError):
    height = width = 0
  if height < 1 or width < 1:
    raise ValueError(
      f"{name} ({value!r}) must be a number of pixels, or (height, width)"
    )
  return height, width


def _check_antialias(step: Any) -> None:
  if step.antialias is not False:
    raise ValueError(
      f"{type(step).__name__}: antialias ({step.antialias!r}) must be False, which "
      "resizes as tf.image.resize does"
    )


def _numbers(value: Any, name: str, positive: bool) -> tuple[float, ...]:
  """One number, or one for each channel, as a tuple."""
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
    raise ValueError(
      f"Normalize: {name} ({value!r}) must be a number{above}, or one for each channel"
    )
  return values


@dataclasses.dataclass(frozen=True)
class Channels(Step):
  """Stores every image with as many channels; only changes without loss are made.

  Attributes:
    count: 1 to 4.
  """

  count: int
  rank = 0

  def __post_init__(self):
    if isinstance(self.count, bool) or self.count not in (1, 2, 3, 4):
      raise ValueError(f"Channels ({self.count!r}) must be 1, 2, 3 or 4")


@dataclasses.dataclass(frozen=True)
class Bits(Step):
  """Stores every image with one depth.

  Attributes:
    depth: 8 keeps the upper 8 of 16 bits; 16 multiplies 8 bits by 257; "skip" leaves
      out and reports the images whose depth, or whose mask's, is not the commonest one.
  """

  depth: int | str
  rank = 1

  def __post_init__(self):
    if isinstance(self.depth, bool) or self.depth not in (8, 16, "skip"):
      raise ValueError(f'Bits ({self.depth!r}) must be 8, 16 or "skip"')


@dataclasses.dataclass(frozen=True)
class RandomCrop(Step):
  """A window of fixed size at a random place; only the window is decoded.

  Attributes:
    size: (height, width) in pixels, or a number for a square.
  """

  size: int | tuple[int, int]
  rank = 2

  def __post_init__(self):
    object.__setattr__(self, "size", _size(self.size, "RandomCrop: size"))


@dataclasses.dataclass(frozen=True)
class CenterCrop(Step):
  """A window of fixed size in the centre; only the window is decoded.

  Attributes:
    size: (height, width) in pixels, or a number for a square.
  """

  size: int | tuple[int, int]
  rank = 2

  def __post_init__(self):
    object.__setattr__(self, "size", _size(self.size, "CenterCrop: size"))


@dataclasses.dataclass(frozen=True)
class RandomResizedCrop(Step):
  """A window of random place, size and shape, resized: the crop of ImageNet recipes.

  The window's area is uniform between two shares of the image's, the logarithm of its
  ratio is uniform, and so is its place (Szegedy et al., "Going deeper with
  convolutions", CVPR 2015). A window that does not fit is drawn again, up to ten times;
  then it is the largest one in the centre whose ratio is allowed. Only the window is
  decoded.

  Attributes:
    size: (height, width) in pixels, or a number for a square; None leaves windows as
      they are, which needs `Ragged()` or `batch_size=None`.
    scale: least and most share of the image's area, above 0 and at most 1.
    ratio: least and most quotient of width and height, from 1/1000 to 1000.
    antialias: must be False: the window is resized as by `tf.image.resize`.
  """

  size: int | tuple[int, int] | None
  scale: tuple[float, float] = (0.08, 1.0)
  ratio: tuple[float, float] = (3 / 4, 4 / 3)
  antialias: bool = True
  rank = 2

  def __post_init__(self):
    if self.size is not None:
      object.__setattr__(self, "size", _size(self.size, "RandomResizedCrop: size"))
      _check_antialias(self)
    for name, least, most in (("scale", 0, 1), ("ratio", 1 / _MOST_RATIO, _MOST_RATIO)):
      value = getattr(self, name)
      try:
        low, high = (float(x) for x in value)
      except (TypeError, ValueError):
        low = high = math.nan
      if not (least <= low <= high <= most and low > 0):
        raise ValueError(
          f"RandomResizedCrop: {name} ({value!r}) must be two rising numbers, "
          f"{'above 0' if least == 0 else f'from {least}'} and at most {most}"
        )
      object.__setattr__(self, name, (low, high))


@dataclasses.dataclass(frozen=True)
class Resize(Step):
  """Resizes the image, or the window before it; masks take the nearest pixel.

  Attributes:
    size: (height, width) in pixels.
    antialias: must be False: bilinear, as by `tf.image.resize`, and rounded.
  """

  size: tuple[int, int]
  antialias: bool = True
  rank = 3

  def __post_init__(self):
    if isinstance(self.size, int):
      raise ValueError(f"Resize: size ({self.size}) must be (height, width) in pixels")
    object.__setattr__(self, "size", _size(self.size, "Resize: size"))
    _check_antialias(self)


@dataclasses.dataclass(frozen=True)
class Mirror(Step):
  """Mirrors half of the images, drawn by chance, left to right, with their masks."""

  rank = 4


@dataclasses.dataclass(frozen=True)
class Normalize(Step):
  """Subtracts `mean`, then divides by `std`, in float32.

  Attributes:
    mean: in units of a pixel, 0 to 255 or 65535; a number, or one for each channel.
    std: likewise, above 0.
  """

  mean: float | Sequence[float] = 0.0
  std: float | Sequence[float] = 1.0
  rank = 5

  def __post_init__(self):
    for name in ("mean", "std"):
      values = _numbers(getattr(self, name), name, positive=name == "std")
      object.__setattr__(self, name, values)
    means = [abs(value) for value in self.mean]
    if 0 < max(means) <= 1 or max(self.std) < 1:
      # Means of pixels from 0 to 1, as torchvision has them.
      wanted = ", ".join(
        f"{name}={[round(255 * value, 3) for value in getattr(self, name)]}"
        for name in ("mean", "std")
      )
      raise ValueError(
        f"Normalize: mean ({list(self.mean)}) and std ({list(self.std)}) must be in "
        f"units of a pixel, 0 to 255; for pixels of 0 to 1 that is Normalize({wanted})"
      )


@dataclasses.dataclass(frozen=True)
class Cast(Step):
  """Gives images another type; results in float32 are rounded to it.

  Attributes:
    dtype: "float32", "float16" or "bfloat16", or TensorFlow's or NumPy's name for one.
  """

  dtype: Any
  rank = 6

  def __post_init__(self):
    name = getattr(self.dtype, "name", None) or getattr(self.dtype, "__name__", None)
    name = name or self.dtype
    if name not in _FLOATS:
      raise ValueError(f"Cast ({self.dtype!r}) must be one of {', '.join(_FLOATS)}")
    object.__setattr__(self, "dtype", name)


@dataclasses.dataclass(frozen=True)
class ChannelsFirst(Step):
  """Gives images as [n, c, h, w], instead of [n, h, w, c]."""

  rank = 7


@dataclasses.dataclass(frozen=True)
class Ragged(Step):
  """Lets images of unequal size make a batch, a ragged tensor [n, None, None, c]."""

  rank = 8


def by_slot(
  transforms: Iterable[Step], allowed: Sequence[type[Step]], where: str
) -> dict[int, Step]:
  """Checks a list of steps.

  Args:
    transforms: the steps.
    allowed: classes that may be among them.
    where: who takes them, as an error says it.

  Returns:
    The steps by their rank.

  Raises:
    ValueError: it is no list of steps, a step is not allowed here, two are of one
      place, or they are out of order; the message names both.
  """
  try:
    steps = list(transforms)
  except TypeError:
    raise ValueError(
      f"transforms ({transforms!r}) must be a list of steps of liquid_tf.transforms"
    ) from None
  found: dict[int, Step] = {}
  last = None
  for step in steps:
    if not isinstance(step, tuple(allowed)):
      names = ", ".join(one.__name__ for one in allowed)
      raise ValueError(f"transforms: {step!r} must be a step of {where}: {names}")
    if step.rank in found:
      raise ValueError(
        f"transforms: {found[step.rank]} and {step} must not both be given"
      )
    found[step.rank] = step
    if isinstance(step, Mirror) and (last is None or last.rank < Mirror.rank):
      continue
    if last is not None and step.rank < last.rank:
      raise ValueError(f"transforms: {step} must come before {last}")
    last = step
  return found


def one_of(steps: dict[int, Step], kind: type[Step]) -> Any:
  """The step of a class, or None."""
  step = steps.get(kind.rank)
  return step if isinstance(step, kind) else None
