"""Trains a small detector of objects from a set with boxes.

  liquid-tf convert --input=photos --annotations=instances.json --mix=l3 \\
    --output=objects.liquid
  python docs/examples/detection.py --dataset=objects.liquid --classes=80

The image is divided into cells of 8 pixels. The cell in which a box has its centre
predicts the box's class, and where its edges are from there (Zhou et al., "Objects as
Points", 2019). Boxes follow the images through all geometry; those of which a window
shows less than a third are left out.
"""

import json
import sys

import keras
import tensorflow as tf
from absl import app, flags
from keras import ops

import liquid_tf
from liquid_tf import transforms

_DATASET = flags.DEFINE_string("dataset", None, "dataset directory", required=True)
_CLASSES = flags.DEFINE_integer("classes", None, "of the boxes", 1, required=True)
_BATCH = flags.DEFINE_integer("batch_size", 16, "images in a batch", 1)
_EPOCHS = flags.DEFINE_integer("epochs", 3, "to train", 1)
_SIDE = flags.DEFINE_integer("side", 256, "pixels, a multiple of 8", 8)

_CELL = 8
_MOST_BOXES = 100


def _targets(batch: dict[str, tf.Tensor]) -> tuple[tf.Tensor, tf.Tensor]:
  """The image, and for each cell classes, a box's edges, and whether it has a box."""
  cells, classes = _SIDE.value // _CELL, _CLASSES.value
  labels = batch["box_labels"]
  boxes = batch["boxes"] / _CELL
  centres = (boxes[..., :2] + boxes[..., 2:]) / 2
  places = tf.minimum(tf.cast(centres, tf.int32), cells - 1)
  real = tf.where(labels >= 0)  # not padding: [boxes, 2], image and box
  images = tf.cast(real[:, :1], tf.int32)
  at = tf.concat([images, tf.gather_nd(places, real)], axis=1)
  middle = tf.cast(at[:, 1:], tf.float32) + 0.5
  edges = tf.gather_nd(boxes, real) - tf.tile(middle, [1, 2])
  values = tf.concat(
    [
      tf.one_hot(tf.gather_nd(labels, real), classes),
      edges,
      tf.ones_like(edges[:, :1]),
    ],
    axis=1,
  )
  grid = tf.zeros([tf.shape(labels)[0], cells, cells, classes + 5])
  # Of boxes with their centres in one cell, one is learned.
  return batch["image"], tf.tensor_scatter_nd_update(grid, at, values)


def _loss(wanted, predicted):
  """Focal loss of the classes, and the distance of the edges where there is a box."""
  classes = _CLASSES.value
  there = wanted[..., -1:]
  boxes = ops.maximum(ops.sum(there), 1.0)
  found = keras.losses.BinaryFocalCrossentropy(from_logits=True, reduction="sum")(
    wanted[..., :classes], predicted[..., :classes]
  )
  off = ops.abs(wanted[..., classes:-1] - predicted[..., classes:])
  return (found + 0.1 * ops.sum(off * there)) / boxes


def _model() -> keras.Model:
  layers = keras.layers
  inputs = keras.Input((_SIDE.value, _SIDE.value, 3))
  x = inputs
  for width in (16, 32, 64):
    x = layers.Conv2D(width, 3, strides=2, padding="same", activation="relu")(x)
    x = layers.Conv2D(width, 3, padding="same", activation="relu")(x)
  x = layers.Conv2D(64, 3, padding="same", activation="relu")(x)
  # Hardly any cell has a box.
  rare = keras.initializers.Constant(-3.0)
  classes = layers.Conv2D(_CLASSES.value, 1, bias_initializer=rare)(x)
  return keras.Model(inputs, layers.Concatenate()([classes, layers.Conv2D(4, 1)(x)]))


def main(_) -> None:
  dataset = liquid_tf.dataset(
    _DATASET.value,
    _BATCH.value,
    transforms=[
      transforms.RandomResizedCrop(_SIDE.value, scale=(0.3, 1)),
      transforms.Mirror(),
      transforms.Normalize(127.5, 127.5),
    ],
    features=["image", transforms.Boxes(pad=_MOST_BOXES, min_visible=1 / 3)],
    last_batch="drop",
  )
  keras.utils.set_random_seed(0)
  model = _model()
  model.compile(keras.optimizers.Adam(1e-3), _loss)
  batches = dataset.map(_targets).prefetch(1)
  history = model.fit(batches, epochs=_EPOCHS.value, shuffle=False, verbose=0)
  print(json.dumps({"loss": history.history["loss"]}))
  print(liquid_tf.stats(dataset).summary(), file=sys.stderr)


if __name__ == "__main__":
  app.run(main)
