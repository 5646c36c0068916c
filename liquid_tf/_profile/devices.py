"""The seconds of the GPU, and of the bus to it, that decoding takes."""

import statistics
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from liquid_tf import codecs
from liquid_tf._graph import gpu
from liquid_tf._graph.build import build
from liquid_tf._graph.decode import DecodeBatchDataset
from liquid_tf._graph.stages import find_stage
from liquid_tf._native import ops
from liquid_tf._native.limits import Limits
from liquid_tf._pipeline.arguments import Arguments
from liquid_tf._pipeline.recipe import Recipe
from liquid_tf._profile import noise
from liquid_tf._profile.probe import Setting, image_spec
from liquid_tf._store.mix import TARGETS

# Files and samples of a batch, as `gpu.start_views` takes them.
_Batch = tuple[tf.Tensor, tf.Tensor]


def problem() -> str | None:
  """The reason why this machine's GPU cannot decode, or None."""
  found = gpu.problem()
  if found is not None:
    return found
  image = codecs.encode_l3(np.zeros([8, 8, 3], np.uint8))
  try:
    _decode((image[None], tf.zeros([1], tf.int64)))
  except tf.errors.OpError as error:
    return ops.reason(error)
  return None


def seconds(setting: Setting, name: str, trials: int) -> dict[str, float]:
  """Measures one format, one batch after the other, by the GPU's own clock.

  Args:
    setting: what all runs have alike.
    name: of the format.
    trials: runs, more where they disagree.

  Returns:
    Medians of seconds for an image, by `FormatCost.devices`' names.

  Raises:
    TooNoisyError: the runs disagree too much.
  """
  batches = _batches(setting, name)
  recipe = Recipe.of(setting.transforms)
  options = {
    "dtype": image_spec(setting).dtype,
    "recipe": recipe.lines(),
    # One tensor: it is copied to the GPU once.
    "mean_image": tf.constant(recipe.mean_image()),
    "planar": recipe.channels_first,
  }
  # The first one compiles or loads the kernels, and takes memory.
  _run(batches, options, 0)
  found: dict[str, list[float]] = {"gpu": [], "bus": []}
  for trial in range(noise.MORE * trials):
    if trial >= trials and max(map(_doubt, found.values())) <= noise.MOST_DOUBT:
      break
    for device, taken in _run(batches, options, setting.seconds).items():
      found[device].append(taken)
  for device, runs in found.items():
    noise.check(f"{device} of {name}", [1 / taken for taken in runs])
  return {device: statistics.median(runs) for device, runs in found.items()}


def _doubt(runs: list[float]) -> float:
  return noise.doubt([1 / taken for taken in runs])


def _batches(setting: Setting, name: str) -> list[_Batch]:
  """The sample as it is stored."""
  dataset = build(
    Arguments(
      setting.short,
      setting.batch_size,
      mix={TARGETS[name][0]: 1},
      shuffle=False,
      cache=0,
      memory=setting.memory,
      features=["image"],
      decode="gpu",
      transforms=setting.transforms,
      draws_in_order=True,
    )
  )
  return list(find_stage(dataset, DecodeBatchDataset))


def _decode(
  batch: _Batch,
  dtype: tf.DType = tf.uint8,
  recipe: Sequence[str] = (),
  mean_image: tf.Tensor | None = None,
  planar: bool = False,
) -> None:
  # Other numbers than these take no longer.
  gpu.start_views(
    *batch,
    dtypes=[dtype],
    recipes=[recipe],
    mean=None,
    std=None,
    mean_image=mean_image,
    planar=planar,
    max_pixels=Limits().pixels,
  )


def _run(
  batches: list[_Batch], options: dict[str, Any], least: float
) -> dict[str, float]:
  """Decodes all batches, again and again for `least` seconds; seconds for an image."""
  before, begin = gpu.totals(), time.perf_counter()
  while True:
    for batch in batches:
      _decode(batch, **options)
    if time.perf_counter() - begin >= least:
      break
  after = gpu.totals()
  images = after.images - before.images
  return {
    "gpu": (after.decode_seconds - before.decode_seconds) / images,
    "bus": (after.copy_seconds - before.copy_seconds) / images,
  }
