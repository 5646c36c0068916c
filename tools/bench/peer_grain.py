"""Grain with simplejpeg and OpenCV: run by an interpreter that has them.

Its threads were faster on two processors than its worker processes, and simplejpeg than
Pillow and OpenCV's own decoder.

Reads one JSON object on stdin, {files, batch_size, threads, epochs, recipe}, and writes
one, {epochs [{images, seconds, cpu_seconds}], shape, dtype, mean, versions, settings},
as the last line of stdout. `recipe` is what `imagenet.request` gives. Imports nothing
of this package but `clock` and `window`, which lie beside it.
"""

import importlib.metadata
import os
import sys

import cv2
import grain
import numpy as np
import simplejpeg

sys.path.append(os.path.dirname(os.path.abspath(__file__)))

import clock  # noqa: E402
import window  # noqa: E402


class Train(grain.transforms.RandomMap):
  """A file to an array of a random window of its image."""

  def __init__(self, recipe):
    self.recipe = recipe

  def random_map(self, name, rng):
    image = decoded(name)
    height, width, _ = image.shape
    image = resized(image, window.random_window(width, height, rng), self.recipe)
    if rng.random() < 0.5:
      image = cv2.flip(image, 1)
    return normalised(image, self.recipe)


class Evaluate(grain.transforms.Map):
  """A file to an array of the centre of its image."""

  def __init__(self, recipe):
    self.recipe = recipe

  def map(self, name):
    image = decoded(name)
    height, width, _ = image.shape
    share = self.recipe["side"] / self.recipe["shorter"]
    centre = window.central_window(width, height, share)
    return normalised(resized(image, centre, self.recipe), self.recipe)


def decoded(name):
  with open(name, "rb") as file:
    return simplejpeg.decode_jpeg(file.read(), "RGB")


def resized(image, taken, recipe):
  left, top, width, height = taken
  part = image[top : top + height, left : left + width]
  return cv2.resize(part, (recipe["side"],) * 2, interpolation=cv2.INTER_LINEAR)


def normalised(image, recipe):
  array = np.subtract(image, recipe["mean"], dtype=np.float32)
  array *= recipe["inverse"]
  return array


def main(request):
  files, threads = request["files"], request["threads"]
  mean, std = (np.float32(request["recipe"][key]) for key in ("mean", "std"))
  recipe = {**request["recipe"], "mean": mean, "inverse": 1 / std}
  # Grain's threads are the only ones.
  cv2.setNumThreads(0)
  dataset = grain.MapDataset.source(files)
  if recipe["training"]:
    dataset = dataset.seed(0).shuffle().repeat().random_map(Train(recipe))
    said = "shuffle(), repeat(), random_map"
  else:
    dataset = dataset.repeat().map(Evaluate(recipe))
    said = "repeat(), map"
  ahead = 2 * request["batch_size"]
  options = grain.ReadOptions(num_threads=threads, prefetch_buffer_size=ahead)
  running = iter(dataset.to_iter_dataset(options).batch(request["batch_size"]))

  def batches():
    count = 0
    while count < len(files):
      batch = next(running)
      count += len(batch)
      yield batch

  answer = clock.run(request["epochs"], batches, lambda batch: batch)
  names = ("grain", "simplejpeg", "opencv-python-headless")
  return {
    **answer,
    "versions": {name: importlib.metadata.version(name) for name in names},
    "settings": f"MapDataset.source(files), {said} of simplejpeg.decode_jpeg and "
    "cv2.resize of the window without antialiasing, to_iter_dataset("
    f"ReadOptions(num_threads={threads}, prefetch_buffer_size={ahead})), batch",
  }


if __name__ == "__main__":
  clock.serve(main)
