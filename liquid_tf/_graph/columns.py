"""The tensors that a batch is decoded into, and what is made of them."""

import dataclasses
import functools
from typing import Any

import tensorflow as tf

from liquid_tf._graph import gpu
from liquid_tf._pipeline import features as _features
from liquid_tf._pipeline.boxes import BoxColumns
from liquid_tf._pipeline.recipe import Recipe
from liquid_tf._pipeline.sizes import Sizes
from liquid_tf._store.manifest import Manifest

_Parsed = dict[str, tf.io.RaggedFeature | tf.io.FixedLenFeature]


@dataclasses.dataclass(frozen=True, eq=False)
class Columns:
  """The tensors that a batch is decoded into, and what is made of them.

  Attributes:
    manifest: of the dataset.
    wanted: features to give out.
    as_dict: whether under their names.
    decode: where images are decoded, as `decode_and_batch` takes it.
    recipe: of the images.
    sizes: that it gives them.
    boxes: that follow the images.
  """

  manifest: Manifest
  wanted: list[str]
  as_dict: bool
  decode: str
  recipe: Recipe
  sizes: Sizes
  boxes: BoxColumns

  @functools.cached_property
  def names(self) -> list[str]:
    """Names of the tensors."""
    elsewhere = {"image", *self._parsed} - self.pixels.keys()
    names = [name for name in self.wanted if name not in elsewhere]
    # What a flat batch is put together from, and what features are parsed from.
    needed = ["size"] * self.flat + ["example"] * bool(self._parsed)
    needed += gpu.STORED if self.decode == "gpu" else []
    return names + [name for name in needed if name not in names]

  @functools.cached_property
  def pixels(self) -> dict[str, _features.Pixels]:
    """Images and masks among them."""
    return _features.decoded(self.manifest, self.wanted, self.decode)

  @property
  def flat(self) -> bool:
    """Whether pixels of unequal images come one after another."""
    return bool(self.pixels) and self.sizes.one is None

  @property
  def pixel_bytes(self) -> float:
    """Bytes of the pixels of a sample, on average."""
    return sum(
      self.sizes.pixels * pixels.channels * self._dtype(name).size
      for name, pixels in self.pixels.items()
    )

  def specs(self, samples: int | None) -> list[tf.TensorSpec]:
    """Specs of the tensors in a batch of `samples`, None for any number."""
    return [self._spec(name, samples) for name in self.names]

  def shaped(self, *tensors: tf.Tensor) -> Any:
    """A batch in the structure that was asked for."""
    values = dict(zip(self.names, tensors))
    for name in self.pixels:
      if self.flat:
        values[name] = _to_ragged(values[name], values["size"])
      elif self.recipe.ragged:
        values[name] = tf.RaggedTensor.from_tensor(values[name], ragged_rank=2)
    values |= self.boxes.shaped(values)
    if self._parsed:
      parsed = tf.io.parse_example(values["example"], self._parsed)
      for name, value in parsed.items():
        values[name] = _features.in_shape(self.manifest, name, value)
    return _features.in_structure(values, self.wanted, self.as_dict)

  @functools.cached_property
  def _parsed(self) -> _Parsed:
    """How to parse the features that the records' examples hold."""
    others = [name for name in self.wanted if name not in self.boxes.names]
    return _features.in_examples(self.manifest, others)

  def _dtype(self, name: str) -> tf.DType:
    stored = self.pixels[name].dtype
    return self.recipe.dtype or stored if name == "image" else stored

  def _spec(self, name: str, samples: int | None) -> tf.TensorSpec:
    if name in self.pixels:
      return self._pixel_spec(name, samples)
    if name == "label":
      return _features.label_spec(self.manifest, samples)
    if name in self.boxes.names:
      return self.boxes.spec(name, samples)
    dtype, shape = _features.PLAIN[name]
    return tf.TensorSpec([samples, *shape], dtype)

  def _pixel_spec(self, name: str, samples: int | None) -> tf.TensorSpec:
    channels = self.pixels[name].channels
    if self.flat:
      return tf.TensorSpec([None, channels], self._dtype(name))
    shape = [*self.sizes.one, channels]
    if name == "image" and self.recipe.channels_first:
      shape = [channels, *self.sizes.one]
    return tf.TensorSpec([samples, *shape], self._dtype(name))


def _to_ragged(flat: tf.Tensor, sizes: tf.Tensor) -> tf.RaggedTensor:
  """[pixels, c] of several images of `sizes` [n, 2] to a ragged [n, h, w, c]."""
  heights, widths = sizes[:, 0], sizes[:, 1]
  rows = tf.repeat(widths, heights)
  return tf.RaggedTensor.from_nested_row_lengths(
    flat, [tf.cast(heights, tf.int64), tf.cast(rows, tf.int64)], validate=False
  )
