"""Trains one network on several scan groups of the same images, from a slow disk."""

import pathlib
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from PIL import Image

from liquid_tf.cli import wheel_images

_QUALITY = 90


def crops(
  folder: pathlib.Path, files: Sequence[str], *, each: int, side: int
) -> tuple[pathlib.Path, pathlib.Path]:
  """Cuts photographs into JPEG files whose class is the photograph.

  The left half of each gives images to train on, the right half those to test with, so
  that no pixel is in both.

  Args:
    folder: gets `train/CLASS/*.jpg` and `test/CLASS/*.jpg`, unless they are there.
    files: photographs.
    each: files of each, a third of them in `test`.
    side: of the files, in pixels.

  Returns:
    The two folders.

  Raises:
    ValueError: a photograph is too small for two halves of it.
  """
  places = (folder / "train", folder / "test")
  tests = each // 3
  for number, file in enumerate(files):
    pixels = np.asarray(wheel_images.open_rgb(pathlib.Path(file)))
    height, width, _ = pixels.shape
    if min(height, width // 2) < side:
      raise ValueError(
        f"{file} has {width}x{height} pixels: a figure needs at least {2 * side}x{side}"
      )
    random = np.random.default_rng(number)
    halves = (pixels[:, : width // 2], pixels[:, width // 2 :])
    for place, half, count in zip(places, halves, (each - tests, tests)):
      target = place / f"{number:03}"
      target.mkdir(parents=True, exist_ok=True)
      for i in range(count):
        y = random.integers(0, half.shape[0] - side + 1)
        x = random.integers(0, half.shape[1] - side + 1)
        path = target / f"{i:03}.jpg"
        if not path.exists():
          crop = Image.fromarray(half[y : y + side, x : x + side])
          temporary = path.with_suffix(".tmp")
          crop.save(temporary, format="jpeg", quality=_QUALITY)
          temporary.rename(path)
  return places


def fit(model: Any, data: Any) -> tuple[float, float]:
  """Trains one epoch.

  Args:
    model: of Keras, compiled.
    data: a dataset of an epoch's batches.

  Returns:
    (loss, seconds) to the end of the last batch. That the iterator then goes is not in
    it: TensorFlow may wait there (see `liquid_tf._measure.epochs.consume`).
  """
  import tensorflow as tf

  end = start = time.perf_counter()

  def ended(batch: int, logs: object) -> None:
    nonlocal end
    end = time.perf_counter()

  clock = tf.keras.callbacks.LambdaCallback(on_train_batch_end=ended)
  history = model.fit(data, callbacks=[clock], verbose=0)
  return float(history.history["loss"][0]), end - start


def train(
  path: str,
  test: str,
  *,
  network: str,
  groups: Sequence[int],
  epochs: int,
  seed: int,
  read_bytes_per_s: int | None,
) -> dict[str, Any]:
  """Trains a network from the same weights on each scan group, by turns of an epoch.

  Only the training is timed, to an epoch's last batch. Test images are read at full
  fidelity, as the disk gives them.

  Args:
    path: a dataset of the format pcr.
    test: a dataset of the images to test with.
    network: of `networks.NETWORKS`.
    groups: scan groups.
    epochs: of each.
    seed: of weights, order and mirroring.
    read_bytes_per_s: what training may read; None for no such limit.

  Returns:
    `groups`: by scan group, a list of {seconds, disk_bytes, loss, accuracy} of each
    epoch; `accuracy` is of the test images.
  """
  import tensorflow as tf

  from liquid_tf import transforms
  from liquid_tf._measure import process, throttle
  from liquid_tf._pipeline.dataset import dataset as open_dataset
  from liquid_tf._store import manifest as manifests
  from tools.bench.papers import networks
  from tools.bench.papers.tasks import Contestants

  tf.keras.utils.set_random_seed(seed)
  manifest = manifests.load(path)
  [side] = {int(n) for n in manifest["features"]["image"]["shape"][:2]}
  model = networks.NETWORKS[network](side, len(manifest.classes))
  model.compile(
    tf.keras.optimizers.SGD(0.05, momentum=0.9, weight_decay=5e-4),
    tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
  )
  numbers = transforms.Normalize(mean=[127.5] * 3, std=[64.0] * 3)
  steps = [transforms.Mirror(), numbers]

  def opened(group: int) -> tf.data.Dataset:
    return open_dataset(
      path, 32, seed=seed, transforms=steps, fidelity=group, cache=0, last_batch="drop"
    )

  sets = {group: opened(group) for group in groups}
  tests = open_dataset(test, 32, shuffle=False, transforms=[numbers])
  contestants = Contestants(model, groups)
  # Traces both functions; what it learns is forgotten.
  model.fit(opened(groups[0]).take(1), verbose=0)
  model.evaluate(tests.take(1), verbose=0)
  found: dict[str, list[dict[str, float]]] = {str(group): [] for group in groups}
  for _ in range(epochs):
    for group in groups:
      with contestants.turn(group):
        with throttle.held(path, read_bytes_per_s):
          before = process.disk_bytes() or 0
          loss, seconds = fit(model, sets[group])
          read = (process.disk_bytes() or 0) - before
        _, accuracy = model.evaluate(tests, verbose=0)
      found[str(group)].append(
        {
          "seconds": seconds,
          "disk_bytes": read,
          "loss": loss,
          "accuracy": float(accuracy),
        }
      )
  return {"groups": found}
