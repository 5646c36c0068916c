"""Trains on several devices of one machine.

  python docs/examples/mirrored.py --dataset=photos.liquid
  python docs/examples/mirrored.py --dataset=photos.liquid --cpus=2

`MirroredStrategy` divides every batch among its replicas, so batch_size is what all of
them take together. The epoch, its order and the cache are those of one process.
"""

import json
import sys

import keras
import tensorflow as tf
from absl import app, flags

import liquid_tf
from liquid_tf import transforms

_DATASET = flags.DEFINE_string("dataset", None, "dataset directory", required=True)
_CPUS = flags.DEFINE_integer("cpus", 0, "virtual processors instead of the GPUs", 0)
_BATCH = flags.DEFINE_integer("batch_size", 32, "of all devices together", 1)
_EPOCHS = flags.DEFINE_integer("epochs", 3, "to train", 1)
_SIDE = flags.DEFINE_integer("side", 64, "pixels of a random window's side", 8)


def _devices() -> list[str] | None:
  if not _CPUS.value:
    return None  # all GPUs
  cpu = tf.config.list_physical_devices("CPU")[0]
  tf.config.set_logical_device_configuration(
    cpu, [tf.config.LogicalDeviceConfiguration()] * _CPUS.value
  )
  return [f"CPU:{i}" for i in range(_CPUS.value)]


def main(_) -> None:
  strategy = tf.distribute.MirroredStrategy(_devices())
  dataset = liquid_tf.dataset(
    _DATASET.value,
    _BATCH.value,
    transforms=[transforms.RandomCrop(_SIDE.value)],
    last_batch="drop",
  )
  keras.utils.set_random_seed(0)
  with strategy.scope():
    model = keras.Sequential(
      [
        keras.Input((_SIDE.value, _SIDE.value, 3)),
        keras.layers.Rescaling(1 / 255),
        keras.layers.Conv2D(16, 3, strides=4, activation="relu"),
        keras.layers.GlobalAveragePooling2D(),
        keras.layers.Dense(10),
      ]
    )
    model.compile(
      keras.optimizers.SGD(0.1),
      keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )
  history = model.fit(dataset, epochs=_EPOCHS.value, shuffle=False, verbose=0)
  print(
    json.dumps(
      {"replicas": strategy.num_replicas_in_sync, "loss": history.history["loss"]}
    )
  )
  print(liquid_tf.stats(dataset).summary(), file=sys.stderr)


if __name__ == "__main__":
  app.run(main)
