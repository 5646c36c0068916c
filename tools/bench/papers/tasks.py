"""What the figures' networks learn: something of the images themselves.

Speeds do not depend on it, and no label has to be stored or sent.
"""

import tensorflow as tf

from tools.bench.papers import networks

_CLASSES = 10
_BYTES = 256
_RATE = 0.01


def compiled(network: str, side: int, seed: int = 0) -> tf.keras.Model:
  """A network with fresh weights, ready to train with what `examples` gives.

  Args:
    network: of `networks.NETWORKS`.
    side: of the images, in pixels.
    seed: of its weights, and of all chance that follows.
  """
  tf.keras.utils.set_random_seed(seed)
  model = networks.NETWORKS[network](side, _CLASSES)
  model.compile(
    tf.keras.optimizers.SGD(_RATE),
    tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    # To compile takes longer than the runs.
    jit_compile=False,
  )
  return model


def examples(network: str, images: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
  """A batch to train with: how bright images are, or for a U-Net their pixels.

  Args:
    network: of `networks.NETWORKS`.
    images: [n, side, side, 3] uint8.

  Returns:
    The images as float32, about -2 to 2; and classes, int32 [n] or [n, side, side].
  """
  values = tf.cast(images, tf.float32)
  whole = [3] if network.startswith("unet") else [1, 2, 3]
  classes = tf.reduce_mean(values, whole) * (_CLASSES / _BYTES)
  return (values - 127.5) / 64.0, tf.cast(classes, tf.int32)
