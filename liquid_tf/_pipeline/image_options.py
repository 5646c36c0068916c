"""What becomes of an image on its way into a batch: `dataset`'s image options."""

import dataclasses
import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

_FLOATS = (tf.float32, tf.float16, tf.bfloat16)
_LAYOUTS = ("NHWC", "NCHW")
_MOST_RATIO = 1000


@dataclasses.dataclass(frozen=True)
class RandomResizedCrop:
  """Windows of random place, size and shape: `crop=` of training recipes for ImageNet.

  Of each image a window is chosen and only this is decoded; `image_size=` then resizes
  it. Its area is uniform between two shares of the image's, the logarithm of its ratio
  uniform, its place uniform inside the image (Szegedy et al., "Going deeper with
  convolutions", CVPR 2015). A window that does not fit is chosen again, up to ten
  times; then it is the largest one in the centre whose ratio is allowed.

  Attributes:
    scale: least and most share of the image's area, above 0 and at most 1.
    ratio: least and most quotient of width and height, from 1/1000 to 1000.

  Raises:
    ValueError: they are no such pairs.
  """

  scale: tuple[float, float] = (0.08, 1.0)
  ratio: tuple[float, float] = (3 / 4, 4 / 3)

  def __post_init__(self):
    for name, least, most in (("scale", 0, 1), ("ratio", 1 / _MOST_RATIO, _MOST_RATIO)):
      value = getattr(self, name)
      try:
        low, high = (float(x) for x in value)
      except (TypeError, ValueError):
        low = high = math.nan
      if not (least <= low <= high <= most and low > 0):
        raise ValueError(
          f"{name} ({value!r}) must be two rising numbers, "
          f"{'above 0' if least == 0 else f'from {least}'} and at most {most}"
        )
      object.__setattr__(self, name, (low, high))


def _check_pair(value: Any, name: str, more: str = "") -> tuple[int, int] | None:
  if value is None:
    return None
  try:
    height, width = map(operator.index, value)
  except (TypeError, ValueError):
    height = width = 0
  if height < 1 or width < 1:
    raise ValueError(f"{name} ({value!r}) must be (height, width) in pixels{more}")
  return height, width


def check_values(value: Any, name: str, positive: bool) -> tuple[float, ...] | None:
  """One number, or some, as a tuple; None for None.

  Raises:
    ValueError: a value is none, infinite, or with `positive` not above 0.
  """
  if value is None:
    return None
  try:
    values = tuple(float(x) for x in np.ravel(value))
  except (TypeError, ValueError):
    values = ()
  if not values or not all(
    math.isfinite(x) and (x > 0 or not positive) for x in values
  ):
    raise ValueError(
      f"{name} ({value!r}) must be a number{' above 0' if positive else ''}, or one "
      "for each channel"
    )
  return values


@dataclasses.dataclass(frozen=True)
class ImageOptions:
  """Checked arguments of `decode_and_batch` that say how an image comes out.

  Raises:
    ValueError: an argument is wrong, or does not go with another one.
  """

  crop: tuple[int, int] | RandomResizedCrop | None
  image_size: tuple[int, int] | None
  mirror: bool
  mean: float | Sequence[float] | None
  std: float | Sequence[float] | None
  dtype: Any
  layout: str
  ragged: bool

  def __post_init__(self):
    if not isinstance(self.crop, RandomResizedCrop):
      pair = _check_pair(self.crop, "crop", ", or a RandomResizedCrop")
      object.__setattr__(self, "crop", pair)
    object.__setattr__(self, "image_size", _check_pair(self.image_size, "image_size"))
    object.__setattr__(self, "mean", check_values(self.mean, "mean", False))
    object.__setattr__(self, "std", check_values(self.std, "std", True))
    if self.dtype is not None:
      try:
        object.__setattr__(self, "dtype", tf.as_dtype(self.dtype))
      except TypeError:
        raise ValueError(f"dtype ({self.dtype!r}) must be a type of numbers") from None
    if self.layout not in _LAYOUTS:
      raise ValueError(f"layout ({self.layout!r}) must be one of {', '.join(_LAYOUTS)}")
    if self.layout != "NHWC" and self.ragged:
      raise ValueError(f'layout ("{self.layout}") must be "NHWC" with ragged=True')
    if self.random_size and self.image_size is None and not self.ragged:
      raise ValueError(
        f"crop ({self.crop}) must come with image_size=, or ragged=True for batches of "
        "unequal images"
      )

  @property
  def random_size(self) -> RandomResizedCrop | None:
    """The windows of random size, where the crop is one."""
    return self.crop if isinstance(self.crop, RandomResizedCrop) else None

  @property
  def fixed_size(self) -> tuple[int, int] | None:
    """Height and width of all windows, where these are known."""
    return None if self.random_size else self.crop

  @property
  def finishes(self) -> bool:
    """Whether `finish` changes anything."""
    unset = self.mean is None and self.std is None and self.dtype is None
    return not unset or self.layout != "NHWC"

  def check_images(self, channels: int, stored: tf.DType) -> None:
    """Raises ValueError where options do not fit the images of a dataset."""
    for name in ("mean", "std"):
      values = getattr(self, name)
      if values is not None and len(values) not in (1, channels):
        raise ValueError(
          f"{name} ({values}) must be one number, or one for each of the {channels} "
          "channels"
        )
    allowed = list(_FLOATS)
    if self.mean is None and self.std is None:
      allowed.append(stored)
    if self.dtype is not None and self.dtype not in allowed:
      raise ValueError(
        f"dtype ({self.dtype.name}) must be one of "
        f"{', '.join(dtype.name for dtype in allowed)}"
      )

  def check_draws(self, shuffle: bool, decode: str) -> None:
    """Raises ValueError where there is no chance to leave to, or nothing to change."""
    for name, given in (
      ("crop", self.random_size is not None),
      ("mirror", self.mirror),
    ):
      if given and not shuffle:
        raise ValueError(
          f"{name} ({getattr(self, name)}) must not be left to chance in stored order: "
          "for validation give crop=(height, width), which is then centred, or "
          "image_size=, without mirror; for training give shuffle=True"
        )
    defaults = {"mirror": False, "mean": None, "std": None, "layout": "NHWC"}
    for name, default in {**defaults, "dtype": None}.items():
      if decode == "none" and getattr(self, name) != default:
        raise ValueError(
          f'{name} ({getattr(self, name)!r}) needs pixels: give decode="cpu"'
        )

  def finish(self, images: Any) -> Any:
    """Normalises decoded images.

    Args:
      images: [n, h, w, c] of the stored dtype; a tensor, or ragged.

    Returns:
      (images - mean) / std, computed in float32, as `dtype` and in `layout`.
    """
    if isinstance(images, tf.RaggedTensor):
      return tf.ragged.map_flat_values(self._normalise, images)
    images = self._normalise(images)
    return tf.transpose(images, [0, 3, 1, 2]) if self.layout == "NCHW" else images

  def _normalise(self, images: tf.Tensor) -> tf.Tensor:
    dtype = self.dtype
    if self.mean is not None or self.std is not None:
      images = tf.cast(images, tf.float32)
      dtype = dtype or tf.float32
    if self.mean is not None:
      images -= tf.constant(self.mean, tf.float32)
    if self.std is not None:
      images /= tf.constant(self.std, tf.float32)
    return images if dtype is None else tf.cast(images, dtype)
