"""The peer: image files through tf.data as its guide advises."""

from collections.abc import Sequence

import tensorflow as tf

from liquid_tf._bench import epochs


def stock_dataset(
  files: Sequence[str], batch_size: int, shape: Sequence[int], threads: int
) -> tf.data.Dataset:
  """Shuffled names, then read and decode in parallel, batch, prefetch.

  Args:
    files: names of image files.
    batch_size: images in a batch.
    shape: [height, width, channels] of every image.
    threads: of tf.data.

  Returns:
    A dataset of [n, height, width, channels] uint8.
  """

  def load(file: tf.Tensor) -> tf.Tensor:
    image = tf.io.decode_image(tf.io.read_file(file), expand_animations=False)
    return tf.ensure_shape(image, shape)

  dataset = tf.data.Dataset.from_tensor_slices(list(files))
  dataset = dataset.shuffle(len(files), seed=0)
  dataset = dataset.map(load, num_parallel_calls=tf.data.AUTOTUNE)
  dataset = dataset.batch(batch_size).prefetch(tf.data.AUTOTUNE)
  return epochs.with_threads(dataset, threads)
