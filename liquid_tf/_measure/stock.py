"""The peer: image files, or files of pixels, through tf.data as its guide advises."""

from collections.abc import Sequence

import tensorflow as tf

from liquid_tf._measure import epochs


def stock_dataset(
  files: Sequence[str],
  extension: str,
  batch_size: int,
  shape: Sequence[int],
  threads: int,
) -> tf.data.Dataset:
  """Shuffled names, then read and decode in parallel, batch, prefetch.

  Args:
    files: names of files.
    extension: of them: "raw" are the pixels and nothing else; others, image files.
    batch_size: images in a batch.
    shape: [height, width, channels] of every image.
    threads: of tf.data.

  Returns:
    A dataset of [n, height, width, channels] uint8.
  """

  def load(file: tf.Tensor) -> tf.Tensor:
    stored = tf.io.read_file(file)
    if extension == "raw":
      return tf.reshape(tf.io.decode_raw(stored, tf.uint8), shape)
    image = tf.io.decode_image(stored, expand_animations=False)
    return tf.ensure_shape(image, shape)

  dataset = tf.data.Dataset.from_tensor_slices(list(files))
  dataset = dataset.shuffle(len(files), seed=0)
  dataset = dataset.map(load, num_parallel_calls=tf.data.AUTOTUNE)
  dataset = dataset.batch(batch_size).prefetch(tf.data.AUTOTUNE)
  return epochs.with_threads(dataset, threads)
