"""Times whole epochs that end on this machine's GPU, and writes JSON.

  PYTHONPATH=.:tests/gpu python tests/gpu/epochs.py --data=photos --output=epochs.json

Photographs of 1024x1024, cut from those of a folder, are converted to each format and
come whole, and as normalised crops: decoded on the GPU, and on the processors with a
copy of each batch to the GPU. The first epoch of three reads them from the disk.
"""

import json
import pathlib
import resource
import tempfile
import time
from typing import Any

import numpy as np
import tensorflow as tf
from absl import app, flags
from PIL import Image

import liquid_tf
from liquid_tf._graph import gpu
from liquid_tf.cli import wheel_images
from liquid_tf.transforms import Normalize, RandomCrop, Step

_DATA = flags.DEFINE_string("data", None, "Folder of photographs.", required=True)
_OUTPUT = flags.DEFINE_string(
  "output", None, "File that takes the JSON.", required=True
)
_IMAGES = flags.DEFINE_integer("images", 1024, "Of an epoch.", 1)
_SIDE = 1024
_BATCH = 64
_EPOCHS = 3
_FORMATS = ("l3", "l3-compact", "raw")
_STEPS: dict[str, list[Step]] = {
  "whole": [],
  "crop": [RandomCrop(896), Normalize(127.5, 127.5)],
}
# Cut once, and read under several names.
_NAMES = 8


def cut(photographs: list[str], folder: pathlib.Path, images: int) -> None:
  """Fills a folder with squares of photographs, each under several names."""
  random = np.random.default_rng(0)
  pixels = [np.asarray(wheel_images.open_rgb(path)) for path in photographs]
  pixels = [one for one in pixels if min(one.shape[:2]) >= _SIDE]
  if not pixels:
    raise app.UsageError(f"--data has no photograph of {_SIDE}x{_SIDE} or more")
  # Two classes, since a dataset has labels then.
  classes = [folder / "even", folder / "odd"]
  for made in classes:
    made.mkdir(parents=True)
  for i in range(-(-images // _NAMES)):
    one = pixels[i % len(pixels)]
    y, x = (random.integers(size - _SIDE + 1) for size in one.shape[:2])
    first = classes[i % 2] / f"{i:04}-0.png"
    Image.fromarray(one[y : y + _SIDE, x : x + _SIDE]).save(first, compress_level=1)
    for name in range(1, min(_NAMES, images - i * _NAMES)):
      first.with_name(f"{i:04}-{name}.png").symlink_to(first)


def _processor_seconds() -> float:
  usage = resource.getrusage(resource.RUSAGE_SELF)
  return usage.ru_utime + usage.ru_stime


def epoch(dataset: tf.data.Dataset) -> dict[str, float]:
  """Runs one; of each image its share, in milliseconds, and of the first batch."""
  begin, processor, before = time.perf_counter(), _processor_seconds(), gpu.totals()
  images, first = 0, 0.0
  for batch, _ in dataset:
    with tf.device("GPU:0"):
      corner = tf.identity(batch)[0, 0, 0, 0]
    if not images:
      corner.numpy()
      first = time.perf_counter() - begin
    images += len(batch)
  corner.numpy()  # waits for the last copy
  seconds, after = time.perf_counter() - begin, gpu.totals()
  return {
    "images_per_s": images / seconds,
    "first_s": first,
    "cpu_ms": 1e3 * (_processor_seconds() - processor) / images,
    "bus_ms": 1e3 * (after.copy_seconds - before.copy_seconds) / images,
    "gpu_ms": 1e3 * (after.decode_seconds - before.decode_seconds) / images,
  }


def main(argv: list[str]) -> None:
  del argv
  for device in tf.config.list_physical_devices("GPU"):
    tf.config.experimental.set_memory_growth(device, True)
  if problem := gpu.problem():
    raise app.UsageError(problem)
  found: dict[str, Any] = {}
  with tempfile.TemporaryDirectory() as folder:
    files = pathlib.Path(folder, "photographs")
    cut(wheel_images.image_files(_DATA.value), files, _IMAGES.value)
    for name in _FORMATS:
      stored = f"{folder}/{name}.liquid"
      liquid_tf.convert(str(files), stored, name)
      for part, steps in _STEPS.items():
        for decode in ("gpu", "cpu"):
          dataset = liquid_tf.dataset(stored, _BATCH, decode=decode, transforms=steps)
          found[f"{name} {part} {decode}"] = [epoch(dataset) for _ in range(_EPOCHS)]
          pathlib.Path(_OUTPUT.value).write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
  app.run(main)
