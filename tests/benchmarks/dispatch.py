"""What a sample costs beside reading and decoding: small raw images from memory.

Makes a dataset of random 18x18 images, all kept in memory, and draws epochs of it with
one processor for everything: planning, shuffling, the cache, the copy into the batch,
counters, and Python's loop over batches.

    python tests/benchmarks/dispatch.py --images=100000 --batch_size=256
"""

import argparse
import json
import os
import resource
import statistics
import tempfile
import time

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


def measure(path: str, batch_size: int, epochs: int) -> dict[str, float]:
  """Draws epochs with everything in memory.

  Args:
    path: a dataset directory.
    batch_size: samples in a batch.
    epochs: at least 2; the first one fills the memory and does not count.

  Returns:
    Medians over epochs: `images_per_s` by the clock, and by `images_per_cpu_s`, user
    and system time of all threads, which others on the machine disturb less. An epoch
    ends with its last batch: dropping an iterator may wait for TensorFlow's autotuner,
    of stock tf.data as of ours; `drop_ms` is that by itself.
  """
  import liquid_tf

  dataset = liquid_tf.dataset(path, batch_size, cache="100%")
  clock, processor, drop = [], [], []
  for _ in range(epochs):
    images, begin = 0, time.perf_counter()
    before = resource.getrusage(resource.RUSAGE_SELF)
    iterator = iter(dataset)
    for batch in iterator:
      images += batch[0].shape[0]
    after = resource.getrusage(resource.RUSAGE_SELF)
    end = time.perf_counter()
    del iterator
    drop.append((time.perf_counter() - end) * 1e3)
    clock.append(images / (end - begin))
    spent = sum(
      getattr(after, k) - getattr(before, k) for k in ("ru_utime", "ru_stime")
    )
    processor.append(images / spent)
  return {
    "images_per_s": statistics.median(clock[1:]),
    "images_per_cpu_s": statistics.median(processor[1:]),
    "drop_ms": statistics.median(drop[1:]),
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
