"""The demo's model, and what the two pipelines deliver."""

import pathlib
import statistics

import tensorflow as tf

from liquid_tf._measure import epochs as runs


def stock_png(folder: pathlib.Path, batch_size: int, side: int) -> tf.data.Dataset:
  """A folder of class folders of PNG files, through tf.data as its guide advises.

  Returns:
    A dataset of ([n, side, side, 3] uint8, [n] int64).
  """
  files = sorted(folder.glob("*/*.png"))
  classes = sorted({file.parent.name for file in files})
  labels = [classes.index(file.parent.name) for file in files]

  def load(file: tf.Tensor, label: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    image = tf.io.decode_png(tf.io.read_file(file), channels=3)
    return tf.ensure_shape(image, [side, side, 3]), label

  dataset = tf.data.Dataset.from_tensor_slices(
    ([str(file) for file in files], tf.constant(labels, tf.int64))
  )
  dataset = dataset.shuffle(len(files), seed=0)
  dataset = dataset.map(load, num_parallel_calls=tf.data.AUTOTUNE)
  return dataset.batch(batch_size).prefetch(tf.data.AUTOTUNE)


def rates(datasets: dict[str, tf.data.Dataset], rounds: int) -> dict[str, float]:
  """Medians of images per second of whole epochs, in turn; the first does not count."""
  found: dict[str, list[float]] = {name: [] for name in datasets}
  for number in range(rounds + 1):
    for name, dataset in datasets.items():
      images, seconds = runs.consume(dataset)
      if number > 0:
        found[name].append(images / seconds)
  return {name: statistics.median(values) for name, values in found.items()}


def small_model(side: int, classes: int) -> tf.keras.Model:
  """A classifier that learns something within a minute on two cores."""
  layers = tf.keras.layers
  model = tf.keras.Sequential(
    [
      tf.keras.Input((side, side, 3)),
      layers.Rescaling(1 / 255),
      layers.Conv2D(16, 5, strides=4, activation="relu"),
      layers.Conv2D(32, 3, strides=2, activation="relu"),
      layers.GlobalAveragePooling2D(),
      layers.Dense(classes),
    ]
  )
  model.compile(
    optimizer=tf.keras.optimizers.Adam(3e-3),
    loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
  )
  return model
