"""What training on each PCR scan group costs and gives: a small classifier.

  python tests/bench/fidelity_study.py --data=FOLDER [--groups=1,2,5,10] [--json]

FOLDER holds a folder of JPEG files per class. They are converted once; for each group
and seed a small network is trained on that group of the training part, and tested on
the rest as they are, at full fidelity. The group "plateau" begins with the first one
and goes to the next whenever the loss stops getting better, by a `FidelityScheduler`.
docs/benchmarks.md has the table.
"""

import json
import os
import statistics
import tempfile
import time

import numpy as np
import tensorflow as tf
from absl import app, flags

import liquid_tf
from liquid_tf import transforms
from liquid_tf.transforms import Channels

_DATA = flags.DEFINE_string("data", None, "folder of class folders", required=True)
_GROUPS = flags.DEFINE_list(
  "groups", ["1", "2", "5", "10", "plateau"], "scan groups, or plateau"
)
_EPOCHS = flags.DEFINE_integer("epochs", 30, "per training", 1)
_SEEDS = flags.DEFINE_integer("seeds", 3, "trainings per group", 1)
_SIDE = flags.DEFINE_integer("side", 96, "pixels of the network's square input", 16)
_JSON = flags.DEFINE_boolean("json", False, "one JSON object instead of a table")

_BATCH = 16
_TEST_PART = 0.3
_PLATEAU = (1, 2, 5, 10)


def _model(classes: int, side: int) -> tf.keras.Model:
  layers = tf.keras.layers
  stack = [tf.keras.Input((side, side, 3)), layers.Rescaling(1 / 127.5, -1)]
  stack.append(layers.RandomFlip("horizontal"))
  for width in (16, 32, 64):
    stack += [
      layers.Conv2D(width, 3, padding="same", use_bias=False),
      layers.BatchNormalization(momentum=0.9),
      layers.ReLU(),
      layers.MaxPooling2D(),
    ]
  stack += [layers.GlobalAveragePooling2D(), layers.Dropout(0.2), layers.Dense(classes)]
  model = tf.keras.Sequential(stack)
  model.compile(
    optimizer=tf.keras.optimizers.Adam(2e-3),
    loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
  )
  return model


def _batches(
  path: str, split: str, group: int | tf.Variable | None, seed: int
) -> tf.data.Dataset:
  return liquid_tf.dataset(
    path,
    _BATCH,
    split=split,
    shuffle=split == "train",
    seed=seed,
    transforms=[transforms.Resize((_SIDE.value, _SIDE.value), antialias=False)],
    fidelity=group,
    cache=0,
  )


def _read_seconds(path: str, group: str) -> float | None:
  """Seconds in which one epoch is read, decoded and resized, without a network."""
  if group == "plateau":
    return None
  dataset = _batches(path, "train", int(group), seed=0)
  seconds = []
  for _ in range(3):
    begin = time.perf_counter()
    for _ in dataset:
      pass
    seconds.append(time.perf_counter() - begin)
  return statistics.median(seconds)


def _fidelity(
  group: str,
) -> tuple[int | tf.Variable, list[tf.keras.callbacks.Callback]]:
  """What `dataset` is given for a group, and what changes it while training."""
  if group != "plateau":
    return int(group), []
  variable = tf.Variable(_PLATEAU[0], dtype=tf.int64)
  rule = liquid_tf.keras.OnPlateau(_PLATEAU, patience=2, min_delta=0.02)
  return variable, [liquid_tf.keras.FidelityScheduler(variable, rule)]


def _study(path: str, group: str, classes: int) -> dict[str, object]:
  accuracies, fit_seconds, disk_bytes = [], [], []
  for seed in range(_SEEDS.value):
    tf.keras.utils.set_random_seed(seed)
    model = _model(classes, _SIDE.value)
    fidelity, callbacks = _fidelity(group)
    training = _batches(path, "train", fidelity, seed)
    begin = time.perf_counter()
    model.fit(training, epochs=_EPOCHS.value, verbose=0, callbacks=callbacks)
    fit_seconds.append(time.perf_counter() - begin)
    epochs = liquid_tf.stats(training).epochs
    disk_bytes.append(statistics.mean(epoch["disk_bytes"] for epoch in epochs))
    test = _batches(path, "test", None, seed)
    accuracies.append(model.evaluate(test, verbose=0, return_dict=True)["accuracy"])
  return {
    "group": group,
    "bytes_per_epoch": round(statistics.mean(disk_bytes)),
    "accuracy": [round(float(a), 4) for a in accuracies],
    "read_seconds_per_epoch": _read_seconds(path, group),
    "fit_seconds": round(statistics.median(fit_seconds), 2),
  }


def main(argv: list[str]) -> None:
  if len(argv) > 1:
    raise app.UsageError(f"unexpected argument: {argv[1]}")
  with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "study.liquid")
    liquid_tf.convert(
      _DATA.value,
      path,
      "pcr:1",
      splits={"train": 1 - _TEST_PART, "test": _TEST_PART},
      transforms=[Channels(3)],
    )
    classes = len(os.listdir(_DATA.value))
    rows = [_study(path, group, classes) for group in _GROUPS.value]
  if _JSON.value:
    print(json.dumps({"epochs": _EPOCHS.value, "seeds": _SEEDS.value, "groups": rows}))
    return
  print("| group | bytes an epoch | accuracy (least to most) | reading | training |")
  print("| ---: | ---: | ---: | ---: | ---: |")
  for row in rows:
    accuracy = np.array(row["accuracy"])
    seconds = row["read_seconds_per_epoch"]
    reading = "" if seconds is None else f"{seconds:.3f} s"
    print(
      f"| {row['group']} | {row['bytes_per_epoch']:,} | {accuracy.mean():.3f} "
      f"({accuracy.min():.3f} to {accuracy.max():.3f}) | "
      f"{reading} | {row['fit_seconds']:.1f} s |"
    )


if __name__ == "__main__":
  app.run(main)
