"""Measures what a sample costs beside reading and decoding: small images in memory.

  python -m tools.bench dispatch --images=100000

Makes a dataset of random 18x18 raw images, all kept in memory, and draws epochs of it
with one processor for everything: planning, shuffling, the cache, the copy into the
batch, counters, and the loop over batches, which is TensorFlow's, as in Keras's `fit`,
and by turns Python's. Beside it, by turns too, stock tf.data with the same images in
memory, shuffled and batched; and what it takes for a batch that is there already.
"""

import functools
import os
import resource
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from PIL import Image

import liquid_tf
from tools.bench import turns

_SIDE = 18
# Draws so many batches.
_Loop = Callable[[Iterator, int], Any]


def bench(
  path: str | None,
  *,
  images: int,
  batch_size: int,
  epochs: int,
  say: Callable[[str], None],
) -> dict[str, Any]:
  """Measures a dataset in a fresh process.

  Args:
    path: of a dataset; None for a new one.
    images: of a new one.
    batch_size: samples in a batch.
    epochs: of each kind, at least 2; the first ones do not count.
    say: is told the figures.

  Returns:
    What `measure` gives.

  Raises:
    ChildProcessError: it could not be measured.
  """
  with tempfile.TemporaryDirectory() as folder:
    path = path or _make(folder, images)
    result = turns.apart(measure, path=path, batch_size=batch_size, epochs=epochs)
  for name, value in result.items():
    say(f"{name}: {value:.0f}")
  return result


def _make(folder: str, images: int) -> str:
  """Converts so many random images to raw; returns the dataset's directory."""
  source, path = os.path.join(folder, "source"), os.path.join(folder, "dataset")
  random = np.random.default_rng(0)
  for label in ("a", "b"):
    os.makedirs(os.path.join(source, label))
  for i in range(images):
    pixels = random.integers(0, 256, (_SIDE, _SIDE, 3), np.uint8)
    Image.fromarray(pixels).save(os.path.join(source, "ab"[i % 2], f"{i:07}.bmp"))
  liquid_tf.convert(source, path, "raw", progress=False)
  return path


def _in_python(iterator: Iterator, batches: int) -> None:
  for _ in range(batches):
    next(iterator)


def _in_tensorflow() -> _Loop:
  """Draws batches in a graph, of one kind of dataset, as Keras's `fit` does."""

  @tf.function
  def draw(iterator, batches):
    images = tf.constant(0)
    for _ in tf.range(batches):
      images += tf.shape(next(iterator)[0])[0]
    return images

  return lambda iterator, batches: draw(iterator, tf.constant(batches)).numpy()


def _stock(shape: Sequence[int], batches: int, epochs: int) -> dict[str, float]:
  """Microseconds that stock tf.data takes for a batch that is there already."""
  batch = (tf.zeros(shape, tf.uint8), tf.zeros(shape[:1], tf.int64))
  iterator = iter(tf.data.Dataset.from_tensors(batch).repeat())
  found = {}
  for name, draw in (("graph", _in_tensorflow()), ("python", _in_python)):
    times = []
    for _ in range(epochs):
      begin = time.perf_counter()
      draw(iterator, batches)
      times.append((time.perf_counter() - begin) / batches * 1e6)
    found[f"stock_{name}_us"] = statistics.median(times[1:])
  return found


def _shuffled(images: np.ndarray, batch_size: int):
  """What stock tf.data's guide advises for images that are in memory."""
  labels = np.zeros(len(images), np.int64)
  dataset = tf.data.Dataset.from_tensor_slices((images, labels))
  dataset = dataset.shuffle(len(images), seed=0).batch(batch_size)
  return dataset.prefetch(tf.data.AUTOTUNE)


def measure(path: str, batch_size: int, epochs: int) -> dict[str, float]:
  """Draws epochs with everything in memory.

  Args:
    path: a dataset directory.
    batch_size: samples in a batch.
    epochs: at least 2 of each kind; the first ones do not count.

  Returns:
    Medians over epochs: `images_per_s` by the clock, with TensorFlow's loop, and by
    `images_per_cpu_s`, user and system time of all threads, which others on the machine
    disturb less; `python_images_per_s`, by the clock, with Python's;
    `stock_images_per_s` and `stock_images_per_cpu_s` of stock tf.data with the same
    images, in TensorFlow's loop. An epoch
    ends with its last batch: dropping an iterator may wait for TensorFlow's autotuner,
    of stock tf.data as of ours; `drop_ms` is that by itself. `stock_graph_us` and
    `stock_python_us` are what stock tf.data takes for such a batch in each loop.
  """
  # Before TensorFlow starts threads, which inherit it.
  os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
  dataset = liquid_tf.dataset(path, batch_size, cache="100%")
  batches = int(dataset.cardinality())
  pixels = np.concatenate([batch[0].numpy() for batch in dataset])
  drop = []

  def draw(source: tf.data.Dataset, loop: _Loop) -> tuple[float, float]:
    """Images a second of an epoch, by the clock and by processor time."""
    begin, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF)
    iterator = iter(source)
    loop(iterator, batches)
    after, end = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    del iterator
    if source is dataset:
      drop.append((time.perf_counter() - end) * 1e3)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return len(pixels) / (end - begin), len(pixels) / spent

  shuffled = _shuffled(pixels, batch_size)
  sides = {
    "": functools.partial(draw, dataset, _in_tensorflow()),
    "stock_": functools.partial(draw, shuffled, _in_tensorflow()),
    "python_": functools.partial(draw, dataset, _in_python),
  }
  result = {}
  for name, rates in turns.in_turn(sides, epochs).items():
    clock, processor = map(statistics.median, zip(*rates[1:]))
    result[f"{name}images_per_s"] = clock
    if name != "python_":
      result[f"{name}images_per_cpu_s"] = processor
  shape = (batch_size, *dataset.element_spec[0].shape[1:])
  return {
    **result,
    "drop_ms": statistics.median(drop[2:]),
    **_stock(shape, batches, epochs),
  }
