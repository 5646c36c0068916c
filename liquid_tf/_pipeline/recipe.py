"""Recipe: the requests of the steps of `transforms=` to the pipeline."""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from liquid_tf import transforms as steps
from liquid_tf._pipeline import policies
from liquid_tf._pipeline.spec import value_bytes
from liquid_tf._words import Shown, said
from liquid_tf.errors import WrongArgument

# Of `liquid_tf.dataset`.
TRAINING_STEPS = (
  steps.Orient,
  steps.RandomCrop,
  steps.CenterCrop,
  steps.FiveCrop,
  steps.TenCrop,
  steps.RandomResizedCrop,
  steps.Resize,
  steps.Pad,
  steps.Mirror,
  steps.Flip,
  steps.Rotate,
  steps.RandAugment,
  steps.TrivialAugmentWide,
  steps.AutoAugment,
  steps.ThreeAugment,
  steps.ColorJitter,
  steps.Grayscale,
  steps.GaussianBlur,
  steps.Solarize,
  steps.Normalize,
  steps.RandomErasing,
  steps.Mix,
  steps.Cast,
  steps.ChannelsFirst,
  steps.Ragged,
  steps.Seed,
)

# Steps that choose what is decoded, and need no pixels.
# What the op does, in the order in which it takes effect; Python does the rest.
_IN_GRAPH = (
  *("orient", "crop", "resize", "pad", "second_crop", "mirror", "flip", "rotate"),
  *("policy", "colour", "grayscale", "blur", "solarize", "normalize", "erasing"),
  *("mix", "channels_first"),
)
# Fields that are no words of their step: what resizes is a step of its own.
_ELSEWHERE = {
  steps.RandomResizedCrop: ("size", "interpolation", "antialias", "draft"),
  steps._FixedCrop: ("name",),
  steps.Mirror: ("flip",),
  steps.AutoAugment: ("policy",),
  steps._TimmRandAugment: ("config",),
  steps.Normalize: ("mean_image",),
}
# Steps of images of 8 bits and 3 channels, and 1 or 3.
_OF_COLOURS = ("colour", "grayscale")
_OF_BYTES = ("policy", "blur", "solarize")


@dataclasses.dataclass(frozen=True)
class Recipe:
  """A checked list of transforms.

  Attributes:
    found: the steps by their place, as `transforms.by_slot` gives them.
    resize: the step that resizes, also where that is a `RandomResizedCrop`; or None.
    mean: subtracted; None where nothing is.
    std: divided by; None where nothing is.
    dtype: name of the one that was asked for, or float32 where images are normalised;
      None for the stored one.
    views: the recipes of all views of an image, of which this is the first; () where
      there are no `Views`.
    as_samples: whether the views are samples of a batch.
  """

  found: dict[str, steps.Step]
  resize: steps.Resize | None
  mean: tuple[float, ...] | None
  std: tuple[float, ...] | None
  dtype: str | None
  views: tuple["Recipe", ...] = ()
  as_samples: bool = False

  @classmethod
  def of(cls, transforms: Iterable[steps.Step] | steps.Views) -> "Recipe":
    """Checks a list of steps, or `Views`.

    Raises:
      ValueError: a step is wrong, or does not go with another one or with views.
    """
    if not isinstance(transforms, steps.Views):
      one = cls.parse(transforms)
      crops = one._crops()
      if crops is None:
        return one
      transforms = crops
    views = tuple(map(cls.parse, transforms.recipes))
    for one in views:
      one._check_view(transforms.as_samples)
    _check_mixed(views)
    return dataclasses.replace(views[0], views=views, as_samples=transforms.as_samples)

  @classmethod
  def parse(cls, transforms: Iterable[steps.Step]) -> "Recipe":
    """Checks a list of steps.

    Raises:
      ValueError: a step is wrong, or does not go with another one.
    """
    found = steps.by_slot(transforms, TRAINING_STEPS, "a dataset")
    crop = found.get("crop")
    resize = found.get("resize")
    normalize = found.get("normalize")
    cast = found.get("cast")
    if isinstance(crop, steps.RandomResizedCrop) and crop.size is not None:
      if resize is not None:
        raise ValueError(f"transforms: {crop} and {resize} must not both resize")
      resize = steps.Resize(
        crop.size,
        interpolation=crop.interpolation,
        antialias=crop.antialias,
        draft=crop.draft,
      )
    if "channels_first" in found and "ragged" in found:
      raise ValueError("transforms: ChannelsFirst() must not go with Ragged()")
    mean, std, dtype = None, None, None
    if normalize is not None:
      mean = normalize.mean if any(normalize.mean) else None
      std = normalize.std if set(normalize.std) != {1.0} else None
      dtype = "float32"
    dtype = cast.dtype if cast else dtype
    for slot in ("erasing", "mix"):
      if slot in found and found[slot].random and dtype is None:
        raise ValueError(
          f"transforms: {found[slot]} needs images of floating-point numbers: give "
          "Normalize(mean, std) before it, or Cast after it"
        )
    if "mix" in found and found["mix"].random and "ragged" in found:
      raise ValueError(f"transforms: {found['mix']} must not go with Ragged()")
    return cls(found, resize, mean, std, dtype)

  @property
  def given(self) -> tuple[steps.Step, ...]:
    """The steps, in the order in which they take effect."""
    return tuple(self.found.values())

  @property
  def each(self) -> tuple["Recipe", ...]:
    """The recipes of an image: of each view, or this alone."""
    return self.views or (self,)

  @property
  def texts(self) -> list[str]:
    """Texts that tell it from other recipes."""
    if not self.views:
      return [str(step) for step in self.given]
    name = "sample" if self.as_samples else "view"
    return [f"{name} {list(one.given)}" for one in self.views]

  @property
  def repeats(self) -> int:
    """Samples that a batch has of an image."""
    return len(self.views) if self.as_samples else 1

  def _crops(self) -> steps.Views | None:
    """The views of `FiveCrop` or `TenCrop`; None where neither is given.

    Raises:
      ValueError: another step does not go with it.
    """
    for place, step in enumerate(self.given):
      if not isinstance(step, steps.FiveCrop):
        continue
      mirror = self.found.get("mirror")
      if isinstance(step, steps.TenCrop) and mirror is not None:
        raise ValueError(f"transforms: {step} and {mirror} must not both be given")
      before, after = self.given[:place], self.given[place + 1 :]
      return steps.Views(
        [[*before, *crops, *after] for crops in step.crops], as_samples=step.as_samples
      )
    return None

  def _check_view(self, as_samples: bool) -> None:
    """Raises ValueError where a step does not go with views."""
    for step in self.given:
      if isinstance(step, steps.FiveCrop):
        raise ValueError(
          f"transforms: {step} makes views, and must not be given in Views"
        )
    if self.ragged:
      raise ValueError(
        "transforms: Ragged() must not be given in Views, each of which has one size"
      )
    if self.mix is not None and not as_samples:
      raise ValueError(
        f"transforms: {self.mix} must not be given in Views without as_samples=True: "
        "it mixes the samples of a batch"
      )
    normalize = self.found.get("normalize")
    if normalize is not None and normalize.mean_image is not None:
      raise ValueError(
        f"transforms: {normalize} must have a mean, not an image, in Views"
      )

  @property
  def crop(self) -> steps.RandomCrop | steps.CenterCrop | None:
    """The crop before any resizing, if it has one size; or None."""
    crop = self.found.get("crop")
    return None if isinstance(crop, steps.RandomResizedCrop) else crop

  @property
  def random_size(self) -> steps.RandomResizedCrop | None:
    """The windows of random size, where the crop is one."""
    crop = self.found.get("crop")
    return crop if isinstance(crop, steps.RandomResizedCrop) else None

  @property
  def channels_first(self) -> bool:
    """Whether channels come before rows."""
    return "channels_first" in self.found

  @property
  def ragged(self) -> bool:
    """Whether images of unequal size may make a batch."""
    return "ragged" in self.found

  @property
  def mix(self) -> steps.Mix | None:
    """How samples of a batch are mixed, or their labels smoothed; or None."""
    return self.found.get("mix")

  @property
  def mixes(self) -> bool:
    """Whether samples of a batch are mixed."""
    return self.mix is not None and self.mix.random

  def seed(self, of_order: int) -> int:
    """Seed of the steps' draws: the int64 of `Seed`, or that of the order."""
    given = self.found.get("seed")
    return of_order if given is None else steps.seed_bits(given.seed, "Seed")

  @property
  def flip(self) -> tuple[int, ...]:
    """The keypoints that change places in a mirrored image; () for none."""
    mirror = self.found.get("mirror")
    return mirror.flip if mirror is not None else ()

  @property
  def drafts(self) -> bool:
    """Whether JPEG may be decoded at a part of its size."""
    return self.resize is not None and self.resize.draft

  def mean_image(self) -> np.ndarray:
    """Image that is subtracted, float32 [height, width, channels]; empty for none.

    Raises:
      ValueError: the file is not there, or holds something else.
    """
    normalize = self.found.get("normalize")
    if normalize is None or normalize.mean_image is None:
      return np.zeros((0, 0, 0), np.float32)
    path = normalize.mean_image
    try:
      mean = np.load(path, allow_pickle=False)
    except (OSError, EOFError, ValueError) as error:
      raise WrongArgument(
        "Normalize: mean_image", Shown(path), f"must be a file of numpy.save: {error}"
      ) from error
    # What is empty would be none.
    if mean.ndim != 3 or mean.dtype != np.float32 or not mean.size:
      raise WrongArgument(
        "Normalize: mean_image",
        Shown(path),
        "must hold float32 numbers [height, width, channels], not "
        f"{mean.dtype} {list(mean.shape)}",
      )
    if not np.isfinite(mean).all():
      y, x, channel = np.argwhere(~np.isfinite(mean))[0]
      raise WrongArgument(
        "Normalize: mean_image",
        Shown(path),
        f"must hold finite numbers; that of row {y}, column {x} and channel {channel} "
        f"is {mean[y, x, channel]}",
      )
    return mean

  def check_channels(self, channels: int) -> None:
    """Raises ValueError where there are not as many means as channels."""
    for name in ("mean", "std"):
      values = getattr(self, name)
      if values is not None and len(values) not in (1, channels):
        raise WrongArgument(
          f"Normalize: {name}",
          list(values),
          f"must be one number, or one for each of the {channels} channels",
        )
    erasing = self.found.get("erasing")
    if isinstance(getattr(erasing, "value", None), tuple):
      if len(erasing.value) != channels:
        raise WrongArgument(
          "RandomErasing: value",
          list(erasing.value),
          f"must be one number, or one for each of the {channels} channels",
        )
    mean = self.mean_image()
    if mean.size and mean.shape[2] != channels:
      raise ValueError(
        f"Normalize: mean_image has {mean.shape[2]} channels, the images {channels}"
      )

  def check_colours(self, dtype: str, channels: int) -> None:
    """Raises ValueError where images are none that steps of colour take."""
    for slots, wanted in ((_OF_COLOURS, (3,)), (_OF_BYTES, (1, 3))):
      for slot in slots:
        if slot in self.found and (dtype != "uint8" or channels not in wanted):
          raise ValueError(
            f"transforms: {self.found[slot]} needs images of 8 bits and "
            f"{' or '.join(map(str, wanted))} channels, not {8 * value_bytes(dtype)} "
            f"and {channels}"
          )

  def check_moved(self, names: Iterable[str]) -> None:
    """Raises ValueError where features do not follow a policy.

    Args:
      names: of features that have places in the image.
    """
    policy = self.found.get("policy")
    for name in names:
      if policy is not None:
        raise ValueError(
          f"transforms: {policy} moves the image alone, and must not go with "
          f"features ({name})"
        )

  def check_fills(self, pixels: Mapping[str, Any]) -> None:
    """Raises ValueError where what is filled in is no value of an image or a mask.

    Args:
      pixels: features with a dtype, by name.
    """
    for name, feature in pixels.items():
      attribute = "value" if name == "image" else "mask_value"
      for slot in ("pad", "rotate"):
        value = getattr(self.found.get(slot), attribute, 0)
        most = np.iinfo(feature.dtype).max
        if value > most:
          raise ValueError(
            f"transforms: {self.found[slot]}: {attribute} must be at most "
            f"{most}, the most that the {name} has"
          )

  def check_draws(self, shuffle: bool) -> None:
    """Raises ValueError where `shuffle` is off and a step draws by chance."""
    for step in self.given:
      if step.random and not shuffle:
        raise ValueError(
          f"transforms: {step} draws by chance, which shuffle=False leaves nothing "
          "to: for validation give CenterCrop or Resize, for training "
          f"{said('shuffle=True')}"
        )

  def lines(self, members: Sequence[int] = (), first: bool = True) -> list[str]:
    """The recipe as an attribute of the op; see ops/image/recipe_text.h.

    Args:
      members: of each source, which one of several datasets it is of.
      first: whether it is the one of all views that says how samples are mixed.
    """
    found = self.found if self.resize is None else {**self.found, "resize": self.resize}
    lines = {slot: list(_words(found[slot])) for slot in _IN_GRAPH if slot in found}
    policy = found.get("policy")
    if isinstance(policy, steps.AutoAugment):
      lines["policy"].append(f"policy={policies.text(policy)}")
    elif isinstance(policy, steps._TimmRandAugment):
      lines["policy"].append(f"fill={_text(policies.fill(self.mean))}")
    if "mix" in lines and members:
      lines["mix"].append(f"members={_text(tuple(members))}")
    if not first:
      lines.pop("mix", None)
    return [" ".join(words) for words in lines.values()]


def _check_mixed(views: Sequence[Recipe]) -> None:
  """Raises ValueError where what is mixed is not made alike in all views."""
  if all(one.mix is None for one in views):
    return
  for slot in ("mix", "normalize", "erasing"):
    for one in views:
      own, other = one.found.get(slot), views[0].found.get(slot)
      if own != other:
        raise ValueError(
          "transforms: with Mix, all of Views must have the same Mix, Normalize and "
          f"RandomErasing, unlike {own or 'none'} and {other or 'none'}"
        )


def _words(step: steps.Step) -> Iterator[str]:
  """The step's name, and its fields as key=value."""
  yield type(step).__name__.removeprefix("_")
  for field in dataclasses.fields(step):
    value = getattr(step, field.name)
    if value is None or field.name in _ELSEWHERE.get(type(step), ()):
      continue
    if field.name == "size":
      yield f"height={value[0]}"
      yield f"width={value[1]}"
    else:
      yield f"{field.name}={_text(value)}"


def _text(value: Any) -> str:
  if isinstance(value, tuple):
    return ",".join(map(_text, value))
  if isinstance(value, (int, str)):  # A bool is an int.
    return str(value if isinstance(value, str) else int(value))
  # Python's shortest text reads back to the same float64.
  return repr(float(value))
