"""A Keras layer that decodes L3 on TensorFlow's GPU."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from liquid_tf import transforms as steps
from liquid_tf._gpu.finishing import finishing
from liquid_tf._graph import gpu
from liquid_tf._native import limits as _limits
from liquid_tf._native.limits import Limits
from liquid_tf._tensorflow import tf
from liquid_tf.errors import WrongArgument


class Decode(tf.keras.layers.Layer):
  """Decodes batches of L3 and raw images on TensorFlow's first GPU.

  It takes what a dataset gives as "bytes", and makes images in the GPU's memory; the
  compressed bytes are what crosses the bus. The step that follows waits for the pixels;
  with `liquid_tf.dataset(..., decode="gpu")` they are made under the step before, so
  where a dataset feeds the model that is the faster way. XLA does not compile a model
  with this layer.

      ds = liquid_tf.dataset(path, 64, transforms=[RandomCrop(224)],
                             features=["bytes", "window", "id", "label"])
      images = liquid_tf.gpu.Decode(transforms=[Normalize(127.5, 127.5)])
      for batch in ds:
        step(images(batch), batch["label"])

  Args:
    transforms: as `liquid_tf.gpu.decode` takes them; or what `get_config` has of them.
    bits: of the stored images, 8 or 16.
    shape: (height, width, channels) of the images, None for those that differ between
      batches, where a model has to know it.
    limits: the largest whole image that is decoded; or what `get_config` has of it.
    **options: of `tf.keras.layers.Layer`, such as `name`.

  Raises:
    ValueError: an argument is wrong.
    RuntimeError: when it is called, where TensorFlow has no GPU.
    tf.errors.OpError: when it is called, for what `liquid_tf.gpu.decode` refuses; with
      "id" the message about a damaged image names the sample.
  """

  def __init__(
    self,
    *,
    transforms: Sequence[steps.Step | Mapping[str, Any]] = (),
    bits: int = 8,
    shape: Sequence[int | None] = (None, None, None),
    limits: Limits | Mapping[str, int] = Limits(),
    **options: Any,
  ):
    super().__init__(**{"trainable": False, "autocast": False, **options})
    # XLA knows none of its ops.
    self.supports_jit = False
    if bits not in (8, 16):
      raise WrongArgument("bits", bits, "must be 8 or 16")
    self._bits = bits
    self._recipe = finishing(map(_step, transforms), "gpu.Decode")
    self._image_dtype = tf.as_dtype(self._recipe.dtype or f"uint{bits}")
    if len(shape) != 3:
      raise WrongArgument("shape", shape, "must be (height, width, channels)")
    self._shape = tuple(shape)
    self._limits = _limits.check(
      Limits(**limits) if isinstance(limits, Mapping) else limits
    )

  def call(self, inputs: tf.Tensor | Mapping[str, tf.Tensor]) -> tf.Tensor:
    """Decodes a batch.

    Args:
      inputs: string [n], files of L3, of either profile, or raw; or a dict with these
        as "bytes", and where it has them "window", int32 [n, 4], and "id", int64 [n].
        Others are ignored.

    Returns:
      [n, height, width, channels] or [n, channels, height, width], on the GPU.
    """
    found = gpu.problem()
    if found is not None:
      raise RuntimeError(f"liquid_tf.gpu.Decode needs a GPU: {found}")
    batch = inputs if isinstance(inputs, Mapping) else {"bytes": inputs}
    with tf.device("CPU:0"):
      contents = tf.convert_to_tensor(batch["bytes"])
      samples = batch.get("id", tf.zeros([0], tf.int64))
    planar = self._recipe.channels_first
    pixels = gpu.start(
      contents,
      samples,
      windows=batch.get("window"),
      dtype=self._image_dtype,
      mean=self._recipe.mean,
      std=self._recipe.std,
      planar=planar,
      max_pixels=self._limits.pixels,
    )
    height, width, channels = self._shape
    placed = [channels, height, width] if planar else [height, width, channels]
    return gpu.images(
      pixels, self._image_dtype, [contents.shape.dims[0].value, *placed]
    )

  def get_config(self) -> dict[str, Any]:
    """The arguments, for Keras to save."""
    return {
      **super().get_config(),
      "transforms": [
        {"step": type(step).__name__, **dataclasses.asdict(step)}
        for step in self._recipe.given
      ],
      "bits": self._bits,
      "shape": self._shape,
      "limits": dataclasses.asdict(self._limits),
    }


def _step(given: steps.Step | Mapping[str, Any]) -> steps.Step:
  """A step as it is, or of what `get_config` has of it."""
  if not isinstance(given, Mapping):
    return given
  values = dict(given)
  return getattr(steps, values.pop("step"))(**values)
