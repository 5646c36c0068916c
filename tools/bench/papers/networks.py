"""The papers' networks, narrow enough to train on two cores in minutes, and their task.

Where speeds are measured they learn something of the images themselves: speeds do not
depend on it, and no label has to be stored or sent.
"""

import functools

import tensorflow as tf

layers = tf.keras.layers

# Keras's .99 takes more steps to settle than these trainings have.
_MOMENTUM = 0.9
# Of the task.
_CLASSES = 10
_BYTES = 256
_RATE = 0.01


def _conv(x: tf.Tensor, filters: int, size: int, strides: int = 1) -> tf.Tensor:
  x = layers.Conv2D(filters, size, strides=strides, padding="same", use_bias=False)(x)
  return layers.BatchNormalization(momentum=_MOMENTUM)(x)


def _depthwise(x: tf.Tensor, strides: int, rate: int = 1) -> tf.Tensor:
  x = layers.DepthwiseConv2D(
    3, strides=strides, padding="same", dilation_rate=rate, use_bias=False
  )(x)
  return layers.BatchNormalization(momentum=_MOMENTUM)(x)


def _basic_block(x: tf.Tensor, filters: int, strides: int) -> tf.Tensor:
  short = x
  if strides != 1 or x.shape[-1] != filters:
    short = _conv(x, filters, 1, strides)
  x = layers.ReLU()(_conv(x, filters, 3, strides))
  x = _conv(x, filters, 3)
  return layers.ReLU()(layers.Add()([x, short]))


def resnet18(side: int, classes: int, width: int = 16) -> tf.keras.Model:
  """ResNet-18 (He et al., 2016), whose first stage has `width` filters and not 64.

  Args:
    side: of the images, in pixels.
    classes: that it tells apart.
    width: filters of the first stage; each later one has twice as many.

  Returns:
    A model from [n, side, side, 3] float32 to [n, classes] logits.
  """
  image = tf.keras.Input((side, side, 3))
  x = layers.ReLU()(_conv(image, width, 7, 2))
  x = layers.MaxPooling2D(3, 2, padding="same")(x)
  for stage in range(4):
    for block in range(2):
      x = _basic_block(x, width << stage, 2 if stage > 0 and block == 0 else 1)
  x = layers.Dense(classes)(layers.GlobalAveragePooling2D()(x))
  return tf.keras.Model(image, x)


def _shuffled(x: tf.Tensor) -> tf.Tensor:
  """The channels of two groups, in turn."""
  rows, columns, channels = x.shape[1:]
  x = layers.Reshape((rows, columns, 2, channels // 2))(x)
  x = layers.Permute((1, 2, 4, 3))(x)
  return layers.Reshape((rows, columns, channels))(x)


def _shuffle_unit(x: tf.Tensor, filters: int, strides: int) -> tf.Tensor:
  half = filters // 2
  if strides == 2:
    left = layers.ReLU()(_conv(_depthwise(x, 2), half, 1))
    right = x
  else:
    left, right = x[..., :half], x[..., half:]
  right = layers.ReLU()(_conv(right, half, 1))
  right = layers.ReLU()(_conv(_depthwise(right, strides), half, 1))
  return _shuffled(layers.Concatenate()([left, right]))


def shufflenet_v2(side: int, classes: int) -> tf.keras.Model:
  """ShuffleNetV2 x0.5 (Ma et al., 2018), with a last convolution of 256 filters.

  Args:
    side: of the images, in pixels.
    classes: that it tells apart.

  Returns:
    A model from [n, side, side, 3] float32 to [n, classes] logits.
  """
  image = tf.keras.Input((side, side, 3))
  x = layers.ReLU()(_conv(image, 24, 3, 2))
  x = layers.MaxPooling2D(3, 2, padding="same")(x)
  for filters, units in ((48, 4), (96, 8), (192, 4)):
    for unit in range(units):
      x = _shuffle_unit(x, filters, 2 if unit == 0 else 1)
  x = layers.ReLU()(_conv(x, 256, 1))
  x = layers.Dense(classes)(layers.GlobalAveragePooling2D()(x))
  return tf.keras.Model(image, x)


def _separable(x: tf.Tensor, filters: int, strides: int = 1, rate: int = 1):
  return layers.ReLU()(_conv(_depthwise(x, strides, rate), filters, 1))


def deeplab(classes: int) -> tf.keras.Model:
  """A small network in the manner of DeepLabv3+ (Chen et al., 2018).

  It has their parts: separable convolutions, some of them dilated in place of a stride;
  several dilations and the whole image side by side; and a decoder that takes in an
  early layer. Depth and width are far below the original's.

  Args:
    classes: that it tells apart.

  Returns:
    A model from [n, height, width, 3] float32 to [n, height, width, classes] logits;
    sides are multiples of 8.
  """
  image = tf.keras.Input((None, None, 3))
  x = layers.ReLU()(_conv(image, 16, 3, 2))
  early = x = _separable(x, 32, 2)
  x = _separable(_separable(x, 64, 2), 64)
  x = _separable(x, 64, rate=2)
  context = layers.GlobalAveragePooling2D(keepdims=True)(x)
  context = layers.Conv2D(48, 1)(context)
  sides = [layers.ReLU()(_conv(x, 48, 1))]
  sides += [_separable(x, 48, rate=rate) for rate in (3, 6)]
  x = layers.ReLU()(_conv(layers.Concatenate()(sides), 48, 1))
  x = layers.Add()([x, context])
  x = layers.UpSampling2D(2, interpolation="bilinear")(x)
  early = layers.ReLU()(_conv(early, 16, 1))
  x = _separable(layers.Concatenate()([x, early]), 48)
  x = layers.Conv2D(classes, 1)(x)
  return tf.keras.Model(image, layers.UpSampling2D(4, interpolation="bilinear")(x))


def mobilenet_v3_small(side: int, classes: int) -> tf.keras.Model:
  """Keras's MobileNetV3-small (Howard et al., 2019), with fresh weights.

  Args:
    side: of the images, in pixels.
    classes: that it tells apart.

  Returns:
    A model from [n, side, side, 3] float32 to [n, classes] logits.
  """
  return tf.keras.applications.MobileNetV3Small(
    (side, side, 3),
    weights=None,
    classes=classes,
    classifier_activation=None,
    include_preprocessing=False,
  )


def _twice(x: tf.Tensor, filters: int) -> tf.Tensor:
  for _ in range(2):
    x = layers.ReLU()(_conv(x, filters, 3))
  return x


def unet(side: int, classes: int, width: int) -> tf.keras.Model:
  """U-Net (Ronneberger et al., 2015) with padding, whose first stage has few filters.

  Args:
    side: of the images, in pixels, a multiple of 16.
    classes: that it tells apart at each pixel.
    width: filters of the first stage and not 64; each of the four below has twice as
      many.

  Returns:
    A model from [n, side, side, 3] float32 to [n, side, side, classes] logits.
  """
  image = tf.keras.Input((side, side, 3))
  x, skipped = image, []
  for stage in range(4):
    x = _twice(x, width << stage)
    skipped.append(x)
    x = layers.MaxPooling2D(2)(x)
  x = _twice(x, width << 4)
  for stage in reversed(range(4)):
    x = layers.Conv2DTranspose(width << stage, 2, strides=2)(x)
    x = _twice(layers.Concatenate()([skipped[stage], x]), width << stage)
  return tf.keras.Model(image, layers.Conv2D(classes, 1)(x))


NETWORKS = {
  "resnet18": resnet18,
  "shufflenet_v2": shufflenet_v2,
  "mobilenet_v3_small": mobilenet_v3_small,
  "unet_4": functools.partial(unet, width=4),
  "unet_8": functools.partial(unet, width=8),
}


def compiled(network: str, side: int, seed: int = 0) -> tf.keras.Model:
  """A network with fresh weights, ready to train with what `examples` gives.

  Args:
    network: of `NETWORKS`.
    side: of the images, in pixels.
    seed: of its weights, and of all chance that follows.
  """
  tf.keras.utils.set_random_seed(seed)
  model = NETWORKS[network](side, _CLASSES)
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
    network: of `NETWORKS`.
    images: [n, side, side, 3] uint8.

  Returns:
    The images as float32, about -2 to 2; and classes, int32 [n] or [n, side, side].
  """
  values = tf.cast(images, tf.float32)
  whole = [3] if network.startswith("unet") else [1, 2, 3]
  classes = tf.reduce_mean(values, whole) * (_CLASSES / _BYTES)
  return (values - 127.5) / 64.0, tf.cast(classes, tf.int32)
