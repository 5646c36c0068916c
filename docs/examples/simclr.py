"""Trains an encoder without labels, on two views of each image (SimCLR).

  liquid-tf convert --input=photos --output=photos.liquid --mix=l3
  python docs/examples/simclr.py --dataset=photos.liquid --run=run1

Both views of an image shall lie closer together than views of two images of a batch
(Chen et al., "A Simple Framework for Contrastive Learning", 2020). They are made of one
read and one decode. After a kill, run it again: it goes on with the very next batch.
"""

import json
import sys

import keras
from absl import app, flags
from keras import ops

import liquid_tf
from liquid_tf import transforms

_DATASET = flags.DEFINE_string("dataset", None, "dataset directory", required=True)
_RUN = flags.DEFINE_string("run", None, "directory of the checkpoints", required=True)
_SAVE = flags.DEFINE_integer("save_freq", 100, "batches between two checkpoints", 1)
_BATCH = flags.DEFINE_integer("batch_size", 64, "images in a batch", 2)
_EPOCHS = flags.DEFINE_integer("epochs", 3, "to train", 1)
_SIDE = flags.DEFINE_integer("side", 96, "pixels, a multiple of 8", 8)

_TEMPERATURE = 0.2


def _loss(_, vectors):
  """Cross-entropy of finding each view's other one; `vectors` is [n, 2, d]."""
  n = ops.shape(vectors)[0]
  every = ops.concatenate([vectors[:, 0], vectors[:, 1]])
  likeness = ops.matmul(every, ops.transpose(every)) / _TEMPERATURE
  likeness -= 1e9 * ops.eye(2 * n)  # none is its own other view
  others = (ops.arange(2 * n) + n) % (2 * n)
  return keras.losses.sparse_categorical_crossentropy(
    others, likeness, from_logits=True
  )


def _model(side: int) -> keras.Model:
  """Two images to two vectors of length 1, by one encoder."""
  layers = keras.layers
  encoder = keras.Sequential([keras.Input((side, side, 3))], name="encoder")
  for width in (16, 32, 64):
    encoder.add(layers.Conv2D(width, 3, strides=2, padding="same", activation="relu"))
  encoder.add(layers.GlobalAveragePooling2D())
  head = keras.Sequential(
    [layers.Dense(64, activation="relu"), layers.Dense(32), layers.UnitNormalization()],
    name="head",
  )
  views = [keras.Input((side, side, 3)) for _ in range(2)]
  vectors = [layers.Reshape((1, 32))(head(encoder(view))) for view in views]
  return keras.Model(views, layers.Concatenate(axis=1)(vectors))


def main(_) -> None:
  steps = [
    transforms.RandomResizedCrop(_SIDE.value, scale=(0.2, 1)),
    transforms.Mirror(),
    transforms.ColorJitter(0.4, 0.4, 0.4, 0.1, p=0.8),
    transforms.Grayscale(0.2),
    transforms.Normalize(127.5, 127.5),
  ]
  dataset = liquid_tf.dataset(
    _DATASET.value,
    _BATCH.value,
    transforms=transforms.Views([steps] * 2),
    features=None,  # ((view, view), label)
    last_batch="drop",
  )
  keras.utils.set_random_seed(0)
  model = _model(_SIDE.value)
  model.compile(keras.optimizers.Adam(1e-3), _loss)
  resume = liquid_tf.keras.Resume(dataset, _RUN.value, save_freq=_SAVE.value)
  history = model.fit(
    dataset, epochs=_EPOCHS.value, shuffle=False, verbose=0, callbacks=[resume]
  )
  print(json.dumps({"loss": history.history["loss"]}))
  print(liquid_tf.stats(dataset).summary(), file=sys.stderr)


if __name__ == "__main__":
  app.run(main)
