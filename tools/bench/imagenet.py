"""The recipes of ImageNet that `bench recipe` compares, the same for all loaders."""

from collections.abc import Mapping, Sequence
from typing import Any

import tensorflow as tf

from liquid_tf._graph.dataset import dataset as open_dataset
from liquid_tf._measure import epochs as runs
from liquid_tf._pipeline.tuning import Tuning
from tools.bench import clock

SIDE = 224
SHORTER = 256
# Of ImageNet's pixels, from 0 to 255.
MEAN = (123.675, 116.28, 103.53)
STD = (58.395, 57.12, 57.375)

# Policies that training may do before it normalises, as all who have them name them.
POLICIES = {"trivial": "TrivialAugmentWide", "rand": "RandAugment"}
RECIPES = ("train", *POLICIES, "evaluate")
# What images are stored as: as they are, or with a shorter side of 256 pixels.
STORED = ("full", "256")
# What our batches hold; peers give float32.
TYPES = ("uint8", "float32", "bfloat16")


def steps(recipe: str, dtype: str) -> list[dict[str, Any]]:
  """What our pipeline does, as the worker takes it: {step, arguments} each.

  Args:
    recipe: of RECIPES.
    dtype: of TYPES; uint8 is not normalised.
  """
  geometry: list[dict[str, Any]]
  if is_training(recipe):
    geometry = [{"step": "RandomResizedCrop", "size": SIDE}, {"step": "Mirror"}]
  else:
    geometry = [
      {"step": "Resize", "shorter": SHORTER},
      {"step": "CenterCrop", "size": SIDE},
    ]
  if recipe in POLICIES:
    geometry.append({"step": POLICIES[recipe]})
  numbers: list[dict[str, Any]] = []
  if dtype != "uint8":
    numbers.append({"step": "Normalize", "mean": MEAN, "std": STD})
  if dtype == "bfloat16":
    numbers.append({"step": "Cast", "dtype": dtype})
  return geometry + numbers


def is_training(recipe: str) -> bool:
  """Whether steps of one of RECIPES draw by chance."""
  return recipe != "evaluate"


def request(recipe: str) -> dict[str, Any]:
  """What a peer is told of a recipe; mean and std are in units of a pixel."""
  return {
    "training": is_training(recipe),
    "policy": POLICIES.get(recipe),
    "side": SIDE,
    "shorter": SHORTER,
    "mean": list(MEAN),
    "std": list(STD),
  }


def liquid(*, path: str, epochs: int, threads: int, **arguments: Any) -> dict[str, Any]:
  """Runs epochs of a dataset directory, as `clock.run` gives them.

  Args:
    path: the directory.
    epochs: to run.
    threads: of tf.data, and decoding tasks per batch.
    **arguments: of `liquid_tf.dataset`.
  """
  dataset = open_dataset(
    path,
    cache="100%",
    features=["image"],
    tuning=Tuning(parallelism=threads),
    **arguments,
  )
  return _run(epochs, runs.with_threads(dataset, threads))


def stock(*, epochs: int, **arguments: Any) -> dict[str, Any]:
  """Runs epochs of `stock_dataset`, as `clock.run` gives them."""
  return _run(epochs, stock_dataset(**arguments))


def stock_dataset(
  *, files: Sequence[str], batch_size: int, threads: int, recipe: Mapping[str, Any]
) -> tf.data.Dataset:
  """JPEG files through tf.data's own ops; of each only the window is decoded.

  Args:
    files: names of JPEG files.
    batch_size: images in a batch.
    threads: of tf.data.
    recipe: what `request` gives.

  Returns:
    A dataset of [n, side, side, 3] float32.
  """
  side, training = recipe["side"], recipe["training"]
  mean = tf.constant(recipe["mean"], tf.float32)
  inverse = 1 / tf.constant(recipe["std"], tf.float32)

  def random_window(shape: tf.Tensor) -> tf.Tensor:
    begin, size, _ = tf.image.sample_distorted_bounding_box(
      shape,
      bounding_boxes=[[[0.0, 0.0, 1.0, 1.0]]],
      min_object_covered=0.0,
      aspect_ratio_range=(3 / 4, 4 / 3),
      area_range=(0.08, 1.0),
      max_attempts=10,
    )
    return tf.concat([begin[:2], size[:2]], 0)

  def central_window(shape: tf.Tensor) -> tf.Tensor:
    # What a crop of `side` shows once the shorter side is `shorter`.
    shorter = tf.cast(tf.reduce_min(shape[:2]), tf.float32)
    window = tf.cast(tf.round(shorter * (side / recipe["shorter"])), tf.int32)
    begin = (shape[:2] - window) // 2
    return tf.concat([begin, [window, window]], 0)

  def load(file: tf.Tensor) -> tf.Tensor:
    stored = tf.io.read_file(file)
    shape = tf.image.extract_jpeg_shape(stored)
    window = random_window(shape) if training else central_window(shape)
    image = tf.image.decode_and_crop_jpeg(stored, window, channels=3)
    image = tf.image.resize(image, (side, side))
    if training:
      image = tf.image.random_flip_left_right(image)
    return (image - mean) * inverse

  dataset = tf.data.Dataset.from_tensor_slices(list(files))
  if training:
    dataset = dataset.shuffle(len(files), seed=0)
  dataset = dataset.map(load, num_parallel_calls=tf.data.AUTOTUNE)
  dataset = dataset.batch(batch_size).prefetch(tf.data.AUTOTUNE)
  return runs.with_threads(dataset, threads)


def _run(epochs: int, dataset: tf.data.Dataset) -> dict[str, Any]:
  # `map` holds the iterator until the clock has stopped.
  return clock.run(
    epochs,
    lambda: map(lambda batch: tf.nest.flatten(batch)[0], dataset),
    lambda images: images.numpy(),
  )
