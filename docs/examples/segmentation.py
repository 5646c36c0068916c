"""Trains a small U-Net on images with masks of 8 or 16 bits.

  liquid-tf convert --input=photos --masks=masks --output=scenes.liquid --mix=l3
  python docs/examples/segmentation.py --dataset=scenes.liquid --classes=300

A mask's values are class numbers; `--void` is the one that is not trained on, as the
corners of rotated images. Masks follow the images through all geometry and take the
nearest pixel, so no class appears that is not in them.
"""

import json
import sys

import keras
from absl import app, flags

import liquid_tf
from liquid_tf import transforms

_DATASET = flags.DEFINE_string("dataset", None, "dataset directory", required=True)
_CLASSES = flags.DEFINE_integer("classes", None, "class numbers", 2, required=True)
_VOID = flags.DEFINE_integer("void", 255, "class that is left out", 0, 65535)
_BATCH = flags.DEFINE_integer("batch_size", 16, "images in a batch", 1)
_EPOCHS = flags.DEFINE_integer("epochs", 3, "to train", 1)
_SIDE = flags.DEFINE_integer("side", 128, "pixels, a multiple of 8", 8)


def _model(side: int, classes: int) -> keras.Model:
  """Three levels down and up again, with the rows beside them."""
  layers = keras.layers
  x = inputs = keras.Input((side, side, 3))
  beside = []
  for width in (16, 32, 64):
    x = layers.Conv2D(width, 3, padding="same", activation="relu")(x)
    beside.append(x)
    x = layers.MaxPooling2D()(x)
  x = layers.Conv2D(64, 3, padding="same", activation="relu")(x)
  for width, left in zip((64, 32, 16), reversed(beside)):
    x = layers.Concatenate()([layers.UpSampling2D()(x), left])
    x = layers.Conv2D(width, 3, padding="same", activation="relu")(x)
  return keras.Model(inputs, layers.Conv2D(classes, 1)(x))


def main(_) -> None:
  dataset = liquid_tf.dataset(
    _DATASET.value,
    _BATCH.value,
    transforms=[
      transforms.RandomResizedCrop(_SIDE.value, scale=(0.5, 1)),
      transforms.Mirror(),
      transforms.Rotate(10, mask_value=_VOID.value),
      transforms.Normalize(127.5, 127.5),
    ],
    features=None,  # (image, mask)
    last_batch="drop",
  )
  keras.utils.set_random_seed(0)
  model = _model(_SIDE.value, _CLASSES.value)
  model.compile(
    keras.optimizers.Adam(3e-3),
    keras.losses.SparseCategoricalCrossentropy(
      from_logits=True, ignore_class=_VOID.value
    ),
  )
  history = model.fit(dataset, epochs=_EPOCHS.value, shuffle=False, verbose=0)
  print(json.dumps({"loss": history.history["loss"]}))
  print(liquid_tf.stats(dataset).summary(), file=sys.stderr)


if __name__ == "__main__":
  app.run(main)
