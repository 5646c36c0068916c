"""The peer: image files, or files of pixels, through tf.data as its guide advises."""

import time
from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from liquid_tf._measure import epochs as runs
from liquid_tf._measure import process, stock_steps
from liquid_tf._pipeline.recipe import Recipe
from liquid_tf.transforms import Step


def stock_dataset(
  files: Sequence[str],
  extension: str,
  batch_size: int,
  shape: Sequence[int | None],
  threads: int,
  *,
  transforms: Sequence[Step] = (),
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
    return stock_steps.apply(recipe, image)

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
  entries = []
  for _ in range(epochs):
    cpu_start = time.process_time()
    images, seconds = runs.consume(dataset)
    cpu_seconds = time.process_time() - cpu_start
    entries.append({"seconds": seconds, "images": images, "cpu_seconds": cpu_seconds})
  return {"epochs": entries, "max_rss_bytes": process.max_rss_bytes()}
