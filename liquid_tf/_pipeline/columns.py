"""The arrays that a batch is decoded into, and what is made of them."""

import dataclasses
import functools

from liquid_tf._pipeline import features as _features
from liquid_tf._pipeline.boxes import BoxColumns
from liquid_tf._pipeline.joined import Joined, Places
from liquid_tf._pipeline.recipe import Recipe
from liquid_tf._pipeline.sizes import Sizes
from liquid_tf._pipeline.spec import Spec, value_bytes
from liquid_tf._store.manifest import Manifest

# The records of a batch, whose stored images are not copied, with their plans.
RECORDS = "image[stored]"
# What a GPU reads to make images.
STORED = (RECORDS, "id")


@dataclasses.dataclass(frozen=True, eq=False)
class Columns:
  """The arrays that a batch is decoded into, and what is made of them.

  Attributes:
    manifest: of the dataset.
    wanted: features to give out.
    as_dict: whether under their names.
    decode: where images are decoded, as `decode_and_batch` takes it.
    recipe: of the images.
    sizes: that it gives them, those of each view.
    boxes: that follow the images.
    joined: features that samples' numbers tell, by name.
    places: these numbers.
  """

  manifest: Manifest
  wanted: list[str]
  as_dict: bool
  decode: str
  recipe: Recipe
  sizes: tuple[Sizes, ...]
  boxes: BoxColumns
  joined: dict[str, Joined]
  places: Places

  @functools.cached_property
  def names(self) -> list[str]:
    """Names of the arrays."""
    elsewhere = {"image", *self.parsed, *self.joined} - self.pixels.keys()
    names = [name for name in self.wanted if name not in elsewhere]
    names += self.views[1:] if self.decode == "cpu" else []
    # What a flat batch is put together from, and what features are parsed from.
    needed = ["size"] * self.flat + ["example"] * bool(self.parsed)
    needed += list(STORED) if self.decode != "cpu" else []
    needed += self.places.needed if self.joined else []
    return list(dict.fromkeys([*names, *needed]))

  @functools.cached_property
  def pixels(self) -> dict[str, _features.Pixels]:
    """Images and masks among them."""
    return _features.decoded(self.manifest, self.wanted, self.decode)

  @property
  def flat(self) -> bool:
    """Whether pixels of unequal images come one after another."""
    return bool(self.pixels) and self.sizes[0].one is None

  @functools.cached_property
  def views(self) -> list[str]:
    """Names of the arrays of the views of an image; none where it has but one.

    On a GPU they are made of what `RECORDS` hold.
    """
    if "image" not in self.wanted or self.recipe.as_samples:
      return []
    return [f"image[{i}]" if i else "image" for i in range(len(self.recipe.views))]

  @property
  def stacked(self) -> bool:
    """Whether some arrays are [n, views, ...]."""
    viewed = "image" in self.wanted or self.recipe.mix is not None
    return self.recipe.repeats > 1 and viewed

  @functools.cached_property
  def of_views(self) -> set[str]:
    """Names of the arrays [n, views, ...]."""
    if not self.stacked:
      return set()
    mixed = _features.mixed(self.manifest, self.recipe.mix)
    return {"image", *mixed} | ({"label"} if self.recipe.mix is not None else set())

  @property
  def pixel_bytes(self) -> float:
    """Bytes of the pixels of a sample on its way, on average."""
    found = 0.0
    for name, pixels in self.pixels.items():
      for recipe, sizes in zip(self.recipe.each, self.sizes):
        size = value_bytes(_dtype(recipe, name, pixels))
        if name == "image" and recipe.mixes:
          # Beside what they become lie images as they were decoded.
          size += value_bytes(pixels.dtype)
        found += sizes.pixels * pixels.channels * size
    return found

  def specs(self, samples: int | None) -> list[Spec]:
    """Specs of the arrays in a batch of `samples`, None for any number."""
    return [self._spec(name, samples) for name in self.names]

  @functools.cached_property
  def parsed(self) -> dict[str, Spec]:
    """The features that are parsed from the records' examples."""
    others = [name for name in self.wanted if name not in self.boxes.names]
    return _features.in_examples(self.manifest, others)

  def _spec(self, name: str, samples: int | None) -> Spec:
    spec = self._spec_of_one(name, samples)
    if name in self.of_views:
      spec.shape.insert(1, self.recipe.repeats)
    return spec

  def _spec_of_one(self, name: str, samples: int | None) -> Spec:
    """Spec of an array that has one value of a sample, not one of each view."""
    if name in self.views:
      return self._pixel_spec("image", samples, self.views.index(name))
    if name in self.pixels:
      return self._pixel_spec(name, samples)
    if name == "label":
      return _features.label_spec(self.manifest, samples, self.recipe.mix)
    mixed = _features.mixed(self.manifest, self.recipe.mix)
    if name in mixed:
      return Spec(mixed[name].dtype, [samples, *mixed[name].shape])
    if name in self.boxes.names:
      return self.boxes.spec(name, samples)
    if name == RECORDS:
      return Spec("variant", [])
    if name == "source":
      return Spec("int32", [samples])
    dtype, shape = _features.PLAIN[name]
    return Spec(dtype, [samples, *shape])

  def _pixel_spec(self, name: str, samples: int | None, view: int = 0) -> Spec:
    recipe, sizes = self.recipe.each[view], self.sizes[view]
    channels = self.pixels[name].channels
    dtype = _dtype(recipe, name, self.pixels[name])
    if self.flat:
      return Spec(dtype, [None, channels])
    shape = [*sizes.one, channels]
    if name == "image" and recipe.channels_first:
      shape = [channels, *sizes.one]
    return Spec(dtype, [samples, *shape])


def _dtype(recipe: Recipe, name: str, pixels: _features.Pixels) -> str:
  """Type of the pixels that a recipe gives of an image or a mask."""
  return recipe.dtype or pixels.dtype if name == "image" else pixels.dtype
