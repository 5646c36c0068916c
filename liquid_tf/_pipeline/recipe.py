"""What the steps of `transforms=` ask of the pipeline."""

import dataclasses
from collections.abc import Iterable
from typing import Any

import tensorflow as tf

from liquid_tf import transforms as steps

_STEPS = (
  steps.RandomCrop,
  steps.CenterCrop,
  steps.RandomResizedCrop,
  steps.Resize,
  steps.Mirror,
  steps.Normalize,
  steps.Cast,
  steps.ChannelsFirst,
  steps.Ragged,
)


@dataclasses.dataclass(frozen=True)
class Recipe:
  """A checked list of transforms.

  Attributes:
    crop: the step that chooses a window, or None.
    size: height and width that images or windows are resized to, or None.
    mirror: whether half of the images are mirrored.
    mean: subtracted; None where nothing is.
    std: divided by; None where nothing is.
    dtype: that was asked for, or float32 where images are normalised; None for the
      stored one.
    channels_first: whether channels come before rows.
    ragged: whether images of unequal size may make a batch.
    given: the steps, in order.
  """

  crop: steps.RandomCrop | steps.CenterCrop | steps.RandomResizedCrop | None
  size: tuple[int, int] | None
  mirror: bool
  mean: tuple[float, ...] | None
  std: tuple[float, ...] | None
  dtype: tf.DType | None
  channels_first: bool
  ragged: bool
  given: tuple[steps.Step, ...]

  @classmethod
  def parse(cls, transforms: Iterable[steps.Step]) -> "Recipe":
    """Checks a list of steps.

    Raises:
      ValueError: a step is wrong, or does not go with another one.
    """
    found = steps.by_slot(transforms, _STEPS, "a dataset")
    crop = found.get(steps.RandomCrop.rank)
    resize = steps.one_of(found, steps.Resize)
    normalize = steps.one_of(found, steps.Normalize)
    cast = steps.one_of(found, steps.Cast)
    channels_first = steps.ChannelsFirst.rank in found
    ragged = steps.Ragged.rank in found
    size = resize.size if resize else None
    if isinstance(crop, steps.RandomResizedCrop):
      if crop.size is not None and resize is not None:
        raise ValueError(f"transforms: {crop} and {resize} must not both resize")
      size = size or crop.size
    if channels_first and ragged:
      raise ValueError("transforms: ChannelsFirst() must not go with Ragged()")
    mean, std, dtype = None, None, None
    if normalize is not None:
      mean = normalize.mean if any(normalize.mean) else None
      std = normalize.std if set(normalize.std) != {1.0} else None
      dtype = tf.float32
    return cls(
      crop=crop,
      size=size,
      mirror=steps.Mirror.rank in found,
      mean=mean,
      std=std,
      dtype=tf.as_dtype(cast.dtype) if cast else dtype,
      channels_first=channels_first,
      ragged=ragged,
      given=tuple(found[rank] for rank in sorted(found)),
    )

  @property
  def random_size(self) -> steps.RandomResizedCrop | None:
    """The windows of random size, where the crop is one."""
    return self.crop if isinstance(self.crop, steps.RandomResizedCrop) else None

  @property
  def window(self) -> tuple[int, int] | None:
    """Height and width of all windows, where these are known."""
    return None if self.crop is None or self.random_size else self.crop.size

  @property
  def random_place(self) -> bool:
    """Whether windows lie at random places."""
    return self.crop is not None and not isinstance(self.crop, steps.CenterCrop)

  @property
  def finishes(self) -> bool:
    """Whether `finish` changes anything."""
    return self.dtype is not None or self.channels_first

  def keeps_sizes(self, sizes_differ: bool) -> bool:
    """Whether images come out with sizes of their own, from stored ones that differ."""
    if self.size or self.window:
      return False
    return self.random_size is not None or sizes_differ

  def check_images(self, channels: int) -> None:
    """Raises ValueError where steps do not fit the images of a dataset."""
    for name in ("mean", "std"):
      values = getattr(self, name)
      if values is not None and len(values) not in (1, channels):
        raise ValueError(
          f"Normalize: {name} ({list(values)}) must be one number, or one for each of "
          f"the {channels} channels"
        )

  def check_draws(self, shuffle: bool, decode: str) -> None:
    """Raises ValueError where there is no chance to leave to, or nothing to change."""
    for step in self.given:
      random = (steps.RandomCrop, steps.RandomResizedCrop, steps.Mirror)
      if isinstance(step, random) and not shuffle:
        raise ValueError(
          f"transforms: {step} draws by chance, which shuffle=False leaves nothing to: "
          "for validation give CenterCrop or Resize, for training shuffle=True"
        )
      pixels = (steps.Mirror, steps.Normalize, steps.Cast, steps.ChannelsFirst)
      if isinstance(step, pixels) and decode == "none":
        raise ValueError(f'transforms: {step} needs pixels: give decode="cpu"')

  def finish(self, images: Any) -> Any:
    """Normalises decoded images.

    Args:
      images: [n, h, w, c] of the stored dtype; a tensor, or ragged.

    Returns:
      (images - mean) / std, computed in float32, as `dtype` and in its layout.
    """
    if isinstance(images, tf.RaggedTensor):
      return tf.ragged.map_flat_values(self._normalise, images)
    images = self._normalise(images)
    return tf.transpose(images, [0, 3, 1, 2]) if self.channels_first else images

  def _normalise(self, images: tf.Tensor) -> tf.Tensor:
    if self.mean is not None or self.std is not None:
      images = tf.cast(images, tf.float32)
    if self.mean is not None:
      images -= tf.constant(self.mean, tf.float32)
    if self.std is not None:
      images /= tf.constant(self.std, tf.float32)
    return images if self.dtype is None else tf.cast(images, self.dtype)
