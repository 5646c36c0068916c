"""The peer: image files, or files of pixels, through tf.data as its guide advises."""

import functools
from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from liquid_tf import transforms as steps
from liquid_tf._measure import epochs as runs
from liquid_tf._measure import process
from liquid_tf._pipeline.recipe import Recipe


def stock_dataset(
  files: Sequence[str],
  extension: str,
  batch_size: int,
  shape: Sequence[int | None],
  threads: int,
  *,
  transforms: Sequence[steps.Step] = (),
  repeats: int = 1,
  ahead: int = tf.data.AUTOTUNE,
) -> tf.data.Dataset:
  """Shuffled names, then read and decode in parallel, batch, prefetch.

  Args:
    files: names of files.
    extension: of them: "raw" are the pixels and nothing else; others, image files.
    batch_size: images in a batch.
    shape: [height, width, channels] of every image; None where they differ.
    threads: of tf.data.
    transforms: of `liquid_tf.dataset`.
    repeats: epochs that follow one another.
    ahead: batches that are taken ahead.

  Returns:
    A dataset of [n, height, width, channels] uint8, or as the transforms say.
  """
  recipe = Recipe.parse(transforms)

  def load(file: tf.Tensor) -> tf.Tensor:
    stored = tf.io.read_file(file)
    if extension == "raw":
      image = tf.reshape(tf.io.decode_raw(stored, tf.uint8), shape)
    else:
      image = tf.io.decode_image(stored, expand_animations=False)
      image = tf.ensure_shape(image, shape)
    return apply_recipe(recipe, image)

  dataset = tf.data.Dataset.from_tensor_slices(list(files))
  dataset = dataset.shuffle(len(files), seed=0).repeat(repeats)
  dataset = dataset.map(load, num_parallel_calls=tf.data.AUTOTUNE)
  if recipe.ragged:
    dataset = dataset.ragged_batch(batch_size)
  else:
    dataset = dataset.batch(batch_size)
  return runs.with_threads(dataset.prefetch(ahead), threads)


def measure(epochs: int, **arguments: Any) -> dict[str, Any]:
  """Runs epochs of `stock_dataset`.

  Args:
    epochs: to run.
    **arguments: of `stock_dataset`.

  Returns:
    `epochs` [{seconds, images, cpu_seconds of the process}] and `max_rss_bytes`.
  """
  dataset = stock_dataset(**arguments)
  entries = [runs.timed(dataset) for _ in range(epochs)]
  return {"epochs": entries, "max_rss_bytes": process.max_rss_bytes()}


def apply_recipe(recipe: Recipe, image: tf.Tensor) -> tf.Tensor:
  """Applies a recipe as a user of stock TensorFlow would write it.

  `Orient`, `Rotate`, policies, `GaussianBlur` and `RandomErasing` are left out: there
  is no op for them, which is in the peer's favour. Random steps draw their own numbers.

  Args:
    recipe: of the images.
    image: uint8 [height, width, channels].

  Returns:
    The image in the recipe's type and layout.
  """
  dtype = image.dtype
  image = _window(recipe.found.get("crop"), image)
  if recipe.resize is not None:
    image = _resized(recipe.resize, image)
  pad = recipe.found.get("pad")
  if pad is not None:
    image = tf.image.resize_with_crop_or_pad(image, *pad.size)
  image = _window(recipe.found.get("second_crop"), image)
  if "mirror" in recipe.found:
    image = tf.image.random_flip_left_right(image)
  if "flip" in recipe.found:
    image = tf.image.random_flip_up_down(image)
  image = _coloured(recipe, image)
  if recipe.dtype is None:
    image = tf.saturate_cast(tf.round(image), dtype) if image.dtype != dtype else image
  else:
    image = tf.cast(image, tf.float32)
    mean, std = recipe.mean or (0.0,), recipe.std or (1.0,)
    image = tf.cast((image - tf.constant(mean)) / tf.constant(std), recipe.dtype)
  return tf.transpose(image, [2, 0, 1]) if recipe.channels_first else image


def _window(step: steps.Step | None, image: tf.Tensor) -> tf.Tensor:
  if isinstance(step, steps.RandomResizedCrop):
    begin, size, _ = tf.image.sample_distorted_bounding_box(
      tf.shape(image),
      tf.zeros([1, 0, 4]),
      area_range=step.scale,
      aspect_ratio_range=step.ratio,
      use_image_if_no_bounding_boxes=True,
    )
    return tf.slice(image, begin, size)
  if isinstance(step, steps.RandomCrop):
    return tf.image.random_crop(image, [*step.size, image.shape[2]])
  if isinstance(step, steps.CenterCrop):
    rest = tf.shape(image)[:2] - tf.constant(step.size)
    return tf.image.crop_to_bounding_box(image, rest[0] // 2, rest[1] // 2, *step.size)
  return image


def _resized(step: steps.Resize, image: tf.Tensor) -> tf.Tensor:
  size = step.size
  if size is None:
    sides = tf.shape(image)[:2]
    side = step.shorter or step.longer
    of = tf.reduce_min(sides) if step.shorter else tf.reduce_max(sides)
    size = tf.maximum(sides * side // of, 1)
  image = tf.image.resize(image, size, step.interpolation, antialias=step.antialias)
  return tf.ensure_shape(image, [*(step.size or (None, None)), image.shape[2]])


def _coloured(recipe: Recipe, image: tf.Tensor) -> tf.Tensor:
  for slot, change in (
    ("colour", _jittered),
    ("grayscale", lambda _, image: _gray(image)),
    ("solarize", _solarized),
  ):
    step = recipe.found.get(slot)
    if step is not None:
      # Both ways of tf.cond have one type.
      image = tf.cast(image, tf.float32) if slot == "colour" else image
      image = tf.cond(
        tf.random.uniform([]) < step.p,
        functools.partial(change, step, image),
        functools.partial(tf.identity, image),
      )
  return image


def _jittered(jitter: steps.ColorJitter, image: tf.Tensor) -> tf.Tensor:
  image = tf.image.random_brightness(image / 255, jitter.brightness)
  for change, most in (
    (tf.image.random_contrast, jitter.contrast),
    (tf.image.random_saturation, jitter.saturation),
  ):
    if most:
      image = change(image, max(0.0, 1 - most), 1 + most)
  if jitter.hue:
    image = tf.image.random_hue(image, jitter.hue)
  return tf.clip_by_value(image, 0, 1) * 255


def _gray(image: tf.Tensor) -> tf.Tensor:
  return tf.image.grayscale_to_rgb(tf.image.rgb_to_grayscale(image))


def _solarized(step: steps.Solarize, image: tf.Tensor) -> tf.Tensor:
  return tf.where(image < step.threshold, image, 255 - image)
