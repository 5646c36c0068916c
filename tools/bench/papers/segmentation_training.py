"""Trains one segmentation network on the same frames in several formats, by turns."""

import pathlib
import shutil
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

# CamVid's, as SegNet took them together. Larger numbers are not labelled.
CLASSES = 11

# Folders of SegNet's CamVid: "train" has its masks in "trainannot".
_MASKS = "annot"


def frames(paths: Sequence[str]) -> list[tuple[str, str]]:
  """Images with their masks, which lie beside their folder, as CamVid's do.

  Args:
    paths: images.

  Returns:
    Images and masks; nothing unless every image has one.
  """
  pairs = []
  for path in map(pathlib.Path, paths):
    folder = path.parent.with_name(path.parent.name + _MASKS)
    mask = folder / f"{path.stem}.png"
    if not mask.exists():
      return []
    pairs.append((str(path), str(mask)))
  return pairs


def lay_out(
  pairs: Sequence[tuple[str, str]], fold: int, folds: int, folder: pathlib.Path
) -> tuple[pathlib.Path, pathlib.Path]:
  """Puts frames where `liquid_tf.convert` finds two splits of them.

  Args:
    pairs: images and masks.
    fold: number of the share of frames to test with, from 0.
    folds: how many there are.
    folder: gets `images` and `masks`, with `train` and `test` in each.

  Returns:
    The two folders.
  """
  for number, pair in enumerate(pairs):
    split = "test" if number % folds == fold else "train"
    for kind, path in zip(("images", "masks"), pair):
      place = folder / kind / split
      place.mkdir(parents=True, exist_ok=True)
      shutil.copyfile(path, place / f"{number:04}{pathlib.Path(path).suffix}")
  return folder / "images", folder / "masks"


def train(
  paths: Mapping[str, str],
  *,
  crop: Sequence[int],
  batch_size: int,
  epochs: int,
  turns: int,
  seed: int,
) -> dict[str, Any]:
  """Trains a network from the same weights on each dataset, by turns of some epochs.

  Only the training is timed; the first turn, which traces it, is without its weight.

  Args:
    paths: datasets of the same images with masks, by name, with splits train and test.
    crop: height and width of what is trained on, multiples of 8.
    batch_size: images in a batch.
    epochs: of each in a turn.
    turns: of each.
    seed: of weights, order, windows and mirroring.

  Returns:
    By name, `images_per_s` and `loss` of each turn, the last epoch's; and, of the test
    images after the last one, `iou`, the intersection over union of each class, None
    where no pixel has it or was taken for it, and `constant_iou`, the same of always
    answering with the largest class.
  """
  import tensorflow as tf

  from liquid_tf import transforms
  from liquid_tf._pipeline.dataset import dataset as open_dataset
  from tools.bench.papers import networks
  from tools.bench.papers.tasks import Contestants

  tf.keras.utils.set_random_seed(seed)
  numbers = transforms.Normalize(mean=[127.5] * 3, std=[64.0] * 3)
  steps = [transforms.RandomCrop(tuple(crop)), transforms.Mirror(), numbers]

  def labelled(image: tf.Tensor, mask: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    return image, tf.minimum(mask[..., 0], CLASSES)

  def opened(path: str) -> tf.data.Dataset:
    data = open_dataset(
      path,
      batch_size,
      split="train",
      seed=seed,
      transforms=steps,
      cache=0,
      last_batch="drop",
    )
    return data.map(labelled)

  sets = {name: opened(path) for name, path in paths.items()}
  images = {name: int(data.cardinality()) * batch_size for name, data in sets.items()}
  model = networks.deeplab(CLASSES)
  every = turns * epochs * int(next(iter(sets.values())).cardinality())
  model.compile(
    tf.keras.optimizers.Adam(tf.keras.optimizers.schedules.CosineDecay(3e-3, every)),
    tf.keras.losses.SparseCategoricalCrossentropy(
      from_logits=True, ignore_class=CLASSES
    ),
  )
  contestants = Contestants(model, paths)
  # Traces the function; what it learns is forgotten, and no set's epochs are used up.
  model.fit(opened(next(iter(paths.values()))).take(1), verbose=0)
  found: dict[str, dict[str, Any]] = {
    name: {"images_per_s": [], "loss": []} for name in paths
  }
  for _ in range(turns):
    for name, data in sets.items():
      with contestants.turn(name):
        begin = time.perf_counter()
        history = model.fit(data, epochs=epochs, verbose=0)
        seconds = time.perf_counter() - begin
      found[name]["images_per_s"].append(epochs * images[name] / seconds)
      found[name]["loss"].append(float(history.history["loss"][-1]))
  for name, path in paths.items():
    tests = open_dataset(
      path, batch_size, split="test", shuffle=False, transforms=[numbers], cache=0
    )
    with contestants.turn(name):
      counts = _tested(model, tests.map(labelled))
    found[name]["iou"] = over_union(counts)
    found[name]["constant_iou"] = over_union(constant(counts))
  return found


def _tested(model: Any, tests: Any) -> np.ndarray:
  """The `confusion` of all test images."""
  counts = np.zeros((CLASSES, CLASSES), np.int64)
  for images, labels in tests:
    counts += confusion(np.asarray(labels), np.asarray(model(images)).argmax(-1))
  return counts


def confusion(labels: np.ndarray, found: np.ndarray) -> np.ndarray:
  """[classes, classes] int64: pixels by their class and by what they were taken for."""
  known = labels < CLASSES
  places = labels[known].astype(np.int64) * CLASSES + found[known]
  return np.bincount(places, minlength=CLASSES**2).reshape(CLASSES, CLASSES)


def constant(counts: np.ndarray) -> np.ndarray:
  """The `confusion` of the same pixels if all were taken for the largest class."""
  sizes = counts.sum(1)
  answer = np.zeros_like(counts)
  answer[:, sizes.argmax()] = sizes
  return answer


def over_union(counts: np.ndarray) -> list[float | None]:
  """Intersection over union of each class of a `confusion`; None of one without any."""
  both = counts.diagonal()
  either = counts.sum(0) + counts.sum(1) - both
  return [
    float(inside / union) if union else None for inside, union in zip(both, either)
  ]
