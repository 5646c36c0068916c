"""What a sample costs beside reading and decoding: small raw images from memory.

Makes a dataset of random 18x18 images, all kept in memory, and draws epochs of it with
one processor for everything: planning, shuffling, the cache, the copy into the batch,
counters, and the loop over batches, which is TensorFlow's, as in Keras's `fit`, and by
turns Python's. Beside it, by turns too, stock tf.data with the same images in memory,
shuffled and batched; and what it takes for a batch that is there already.

    python -m tools.bench.dispatch --images=100000 --batch_size=256
"""

import argparse
import json
import os
import resource
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np

_SIDE = 18


def make(folder: str, images: int) -> str:
  """Converts so many random images to raw; returns the dataset's directory."""
  from PIL import Image

  import liquid_tf

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


def _in_tensorflow() -> Callable[[Iterator, int], None]:
  """Draws batches in a graph, of one kind of dataset, as Keras's `fit` does."""
  import tensorflow as tf

  @tf.function
  def draw(iterator, batches):
    images = tf.constant(0)
    for _ in tf.range(batches):
      images += tf.shape(next(iterator)[0])[0]
    return images

  return lambda iterator, batches: draw(iterator, tf.constant(batches)).numpy()


def _stock(shape: Sequence[int], batches: int, epochs: int) -> dict[str, float]:
  """Microseconds that stock tf.data takes for a batch that is there already."""
  import tensorflow as tf

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
  import tensorflow as tf

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
  import liquid_tf

  dataset = liquid_tf.dataset(path, batch_size, cache="100%")
  batches = int(dataset.cardinality())
  pixels = np.concatenate([batch[0].numpy() for batch in dataset])
  images = len(pixels)
  turns = {
    "graph": (dataset, _in_tensorflow()),
    "stock": (_shuffled(pixels, batch_size), _in_tensorflow()),
    "python": (dataset, _in_python),
  }
  clock: dict[str, list[float]] = {name: [] for name in turns}
  processor: dict[str, list[float]] = {name: [] for name in turns}
  drop = []
  for _ in range(epochs):
    for name, (source, draw) in turns.items():
      begin = time.perf_counter()
      before = resource.getrusage(resource.RUSAGE_SELF)
      iterator = iter(source)
      draw(iterator, batches)
      after = resource.getrusage(resource.RUSAGE_SELF)
      end = time.perf_counter()
      del iterator
      if name != "stock":
        drop.append((time.perf_counter() - end) * 1e3)
      clock[name].append(images / (end - begin))
      spent = sum(
        getattr(after, k) - getattr(before, k) for k in ("ru_utime", "ru_stime")
      )
      processor[name].append(images / spent)
  return {
    "images_per_s": statistics.median(clock["graph"][1:]),
    "images_per_cpu_s": statistics.median(processor["graph"][1:]),
    "python_images_per_s": statistics.median(clock["python"][1:]),
    "stock_images_per_s": statistics.median(clock["stock"][1:]),
    "stock_images_per_cpu_s": statistics.median(processor["stock"][1:]),
    "drop_ms": statistics.median(drop[2:]),
    **_stock((batch_size, *dataset.element_spec[0].shape[1:]), batches, epochs),
  }


def main(arguments: list[str] | None = None) -> dict[str, float]:
  parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
  parser.add_argument("--images", type=int, default=20000)
  parser.add_argument("--batch_size", type=int, default=256)
  parser.add_argument("--epochs", type=int, default=11)
  parser.add_argument("--dataset", help="one that is there, instead of a new one")
  flags = parser.parse_args(arguments)
  # Before TensorFlow starts threads, which inherit it.
  os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
  with tempfile.TemporaryDirectory() as folder:
    path = flags.dataset or make(folder, flags.images)
    result = measure(path, flags.batch_size, flags.epochs)
  print(json.dumps({key: round(value) for key, value in result.items()}))
  return result


if __name__ == "__main__":
  main()
