"""Trainings of one network, by turns on several datasets of the same images.

These functions run in processes of their own.
"""

import functools
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from liquid_tf import transforms
from liquid_tf._graph.dataset import dataset as open_dataset
from liquid_tf._measure import process
from liquid_tf._store import manifest as manifests
from tools.bench import machine, turns
from tools.bench.papers import networks

# CamVid's, as SegNet took them together. Larger numbers are not labelled.
CLASSES = 11

_NUMBERS = transforms.Normalize(mean=[127.5] * 3, std=[64.0] * 3)


class Contestants:
  """Several trainings in one compiled model, whose functions are traced only once.

  All begin with the weights that the model has when this is made.

  Args:
    model: a compiled Keras model that has not been trained.
    names: of the trainings.
  """

  def __init__(self, model: Any, names: Iterable[str]):
    self._model = model
    model.optimizer.build(model.trainable_variables)
    self._states = dict.fromkeys(names, self._state())

  def in_turn(self, rounds: int, run: Callable[[str], Any]) -> dict[str, list[Any]]:
    """Runs a function of a name, in turn, while the model is that of this training."""

    def turn(name: str) -> Any:
      weights, slots = self._states[name]
      self._model.set_weights(weights)
      for variable, value in zip(self._model.optimizer.variables, slots):
        variable.assign(value)
      answer = run(name)
      self._states[name] = self._state()
      return answer

    runs = {name: functools.partial(turn, name) for name in self._states}
    return turns.in_turn(runs, rounds)

  def _state(self) -> tuple[list[np.ndarray], list[np.ndarray]]:
    slots = [np.array(value) for value in self._model.optimizer.variables]
    return self._model.get_weights(), slots


def fit(model: Any, data: Any) -> tuple[float, float]:
  """Trains one epoch.

  Args:
    model: of Keras, compiled.
    data: a dataset of an epoch's batches.

  Returns:
    (loss, seconds) to the end of the last batch. That the iterator then goes is not in
    it: TensorFlow may wait there (see `liquid_tf._measure.epochs.consume`).
  """
  end = start = time.perf_counter()

  def ended(batch: int, logs: object) -> None:
    nonlocal end
    end = time.perf_counter()

  clock = tf.keras.callbacks.LambdaCallback(on_train_batch_end=ended)
  history = model.fit(data, callbacks=[clock], verbose=0)
  return float(history.history["loss"][0]), end - start


def scan_groups(
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
  tf.keras.utils.set_random_seed(seed)
  manifest = manifests.load(path)
  [side] = {int(n) for n in manifest["features"]["image"]["shape"][:2]}
  model = networks.NETWORKS[network](side, len(manifest.classes))
  model.compile(
    tf.keras.optimizers.SGD(0.05, momentum=0.9, weight_decay=5e-4),
    tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
  )
  steps = [transforms.Mirror(), _NUMBERS]

  def opened(group: int) -> tf.data.Dataset:
    return open_dataset(
      path, 32, seed=seed, transforms=steps, fidelity=group, cache=0, last_batch="drop"
    )

  sets = {f"{group}": opened(group) for group in groups}
  tests = open_dataset(test, 32, shuffle=False, transforms=[_NUMBERS])
  contestants = Contestants(model, sets)
  # Traces both functions; what it learns is forgotten.
  model.fit(opened(groups[0]).take(1), verbose=0)
  model.evaluate(tests.take(1), verbose=0)

  def epoch(group: str) -> dict[str, float]:
    with machine.held(path, read_bytes_per_s):
      before = process.disk_bytes() or 0
      loss, seconds = fit(model, sets[group])
      read = (process.disk_bytes() or 0) - before
    _, accuracy = model.evaluate(tests, verbose=0)
    return {
      "seconds": seconds,
      "disk_bytes": read,
      "loss": loss,
      "accuracy": float(accuracy),
    }

  return {"groups": contestants.in_turn(epochs, epoch)}


def segmentation(
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
  tf.keras.utils.set_random_seed(seed)
  steps = [transforms.RandomCrop(tuple(crop)), transforms.Mirror(), _NUMBERS]

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
  first, *_ = paths
  batches = epochs * int(sets[first].cardinality())
  model = networks.deeplab(CLASSES)
  decay = tf.keras.optimizers.schedules.CosineDecay(3e-3, turns * batches)
  model.compile(
    tf.keras.optimizers.Adam(decay),
    tf.keras.losses.SparseCategoricalCrossentropy(
      from_logits=True, ignore_class=CLASSES
    ),
  )
  contestants = Contestants(model, paths)
  # Traces the function; what it learns is forgotten, and no set's epochs are used up.
  model.fit(opened(paths[first]).take(1), verbose=0)

  def train(name: str) -> tuple[float, float]:
    begin = time.perf_counter()
    history = model.fit(sets[name], epochs=epochs, verbose=0)
    seconds = time.perf_counter() - begin
    return batches * batch_size / seconds, float(history.history["loss"][-1])

  def test(name: str) -> np.ndarray:
    tests = open_dataset(
      paths[name],
      batch_size,
      split="test",
      shuffle=False,
      transforms=[_NUMBERS],
      cache=0,
    )
    return _tested(model, tests.map(labelled))

  trained = contestants.in_turn(turns, train)
  found = {}
  for name, [counts] in contestants.in_turn(1, test).items():
    rates, losses = zip(*trained[name])
    found[name] = {
      "images_per_s": rates,
      "loss": losses,
      "iou": over_union(counts),
      "constant_iou": over_union(constant(counts)),
    }
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
