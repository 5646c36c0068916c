"""The programs of docs/examples that train on one machine, on small sets."""

import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import photos
import tensorflow as tf

import liquid_tf

_EXAMPLES = pathlib.Path(__file__).parents[3] / "docs" / "examples"


def _losses(example: str, **flags) -> list[float]:
  values = [f"--{name}={value}" for name, value in flags.items()]
  done = subprocess.run(
    [sys.executable, str(_EXAMPLES / example), *values],
    env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    stdout=subprocess.PIPE,
    text=True,
    timeout=200,
    check=True,
  )
  return json.loads(done.stdout.splitlines()[-1])["loss"]


class ExamplesTest(tf.test.TestCase):
  def test_detection(self):
    rng = np.random.default_rng(0)
    source = self.create_tempdir()
    rows = ["file_name,ymin,xmin,ymax,xmax,label"]
    for i in range(48):
      height, width = rng.integers(60, 90, 2)
      image = rng.integers(0, 90, (height, width, 3))
      for number in range(rng.integers(3)):
        y, x = rng.integers(0, 40, 2)
        h, w = rng.integers(12, 24, 2)
        # Bright in one colour or another.
        image[y : y + h, x : x + w, number] += 150
        rows.append(f"{i:02}.png,{y},{x},{y + h},{x + w},{'ab'[number]}")
      photos.save(os.path.join(source, f"{i:02}.png"), image.astype(np.uint8))
    table = os.path.join(self.create_tempdir(), "boxes.csv")
    with open(table, "w") as file:
      file.write("\n".join(rows))
    path = os.path.join(self.create_tempdir(), "dataset")
    liquid_tf.convert(
      liquid_tf.Source(source.full_path, annotations=table), path, "l3", progress=False
    )
    losses = _losses(
      "detection.py", dataset=path, classes=2, side=64, batch_size=8, epochs=6
    )
    self.assertLess(losses[-1], 0.5 * losses[0])

  def test_segmentation_with_masks_of_16_bits(self):
    rng = np.random.default_rng(0)
    source, masks = self.create_tempdir(), self.create_tempdir()
    for i in range(48):
      height, width = rng.integers(40, 70, 2)
      rows, columns = np.ogrid[:height, :width]
      centre, radius = rng.integers(10, 30, 2), rng.integers(8, 14)
      inside = (rows - centre[0]) ** 2 + (columns - centre[1]) ** 2 < radius**2
      # Disks are bright, and of a class that 8 bits do not hold.
      image = rng.integers(0, 90, (height, width, 3)) + 150 * inside[..., None]
      photos.save(os.path.join(source, f"{i:02}.png"), image.astype(np.uint8))
      mask = np.where(inside, 270, 1).astype(np.uint16)
      photos.save(os.path.join(masks, f"{i:02}.png"), mask)
    path = os.path.join(self.create_tempdir(), "dataset")
    liquid_tf.convert(
      liquid_tf.Source(source.full_path, masks=masks.full_path),
      path,
      "l3",
      progress=False,
    )
    losses = _losses(
      "segmentation.py",
      dataset=path,
      classes=300,
      void=65535,
      side=32,
      batch_size=8,
      epochs=4,
    )
    # Guessing among 300 classes begins at log(300), 5.7.
    self.assertLess(losses[-1], 0.5 * losses[0])


if __name__ == "__main__":
  tf.test.main()
