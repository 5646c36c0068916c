"""The programs of docs/examples that train on one machine, on small sets."""

import json
import os
import pathlib
import signal
import subprocess
import sys

import numpy as np
import photos
import runs
import tensorflow as tf
from absl import flags

import liquid_tf

_EXAMPLES = pathlib.Path(__file__).parents[3] / "docs" / "examples"


def _contrast(kill_at: int | None, **values) -> list[float]:
  """Losses of the epochs of simclr.py; the process is killed after so many batches.

  For `runs.in_new_process`.
  """
  sys.path.insert(0, str(_EXAMPLES))
  import keras
  import simclr

  class Killed(keras.callbacks.Callback):
    left = kill_at

    def on_train_batch_end(self, batch, logs=None):
      self.left -= 1
      if not self.left:
        os.kill(os.getpid(), signal.SIGKILL)

  fit, found = keras.Model.fit, []

  def fitted(model, *arguments, callbacks, **more):
    callbacks = [*callbacks, *([Killed()] if kill_at else [])]
    history = fit(model, *arguments, callbacks=callbacks, **more)
    found.extend(history.history["loss"])
    found.append(sum(float(abs(w).sum()) for w in model.get_weights()))
    return history

  keras.Model.fit = fitted
  flags.FLAGS(["simclr", *(f"--{name}={value}" for name, value in values.items())])
  simclr.main(None)
  return found


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

  def test_two_views_and_a_kill(self):
    root = self.create_tempdir().full_path
    path = runs.make(root, "l3", per_class=12, sides=(40, 60))
    values = dict(dataset=path, side=32, batch_size=8, epochs=2, save_freq=1)

    def run(name: str, kill_at: int | None = None) -> tuple[list[float], str]:
      code = -signal.SIGKILL if kill_at else 0
      folder = os.path.join(root, name)
      return runs.in_new_process(_contrast, code, kill_at=kill_at, run=folder, **values)

    whole, _ = run("whole")
    # Guessing among 15 other views gives log(15).
    self.assertLess(max(whole[:2]), np.log(15))
    run("killed", kill_at=8)
    again, log = run("killed")
    self.assertIn("going on at batch 2 of epoch 2", log)
    # The epoch's loss is that of the batches that were left, the weights are equal.
    self.assertLen(again, 2)
    self.assertAllClose(again[-1], whole[-1], rtol=1e-5)


if __name__ == "__main__":
  tf.test.main()
