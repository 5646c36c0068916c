"""Where a conversion moves pixels to: once, before an image is stored."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from liquid_tf._convert.sources import masks
from liquid_tf._native import ops
from liquid_tf._native.limits import Limits
from liquid_tf.transforms import Resize, Step


@dataclasses.dataclass(frozen=True)
class Geometry:
  """What moves the pixels of every image, and of its mask.

  Attributes:
    orient: whether images are turned as their EXIF says, and have the orientation 1.
    resize: the step that resizes them then; None leaves their sizes.
  """

  orient: bool = False
  resize: Resize | None = None

  @classmethod
  def of(cls, steps: Mapping[str, Step]) -> "Geometry":
    """What `transforms.by_slot` found.

    Raises:
      ValueError: a step cannot be had in a conversion.
    """
    resize = steps.get("resize")
    if resize is not None and resize.draft:
      raise ValueError(
        f"transforms: {resize} must not have draft=True: images are stored once, and "
        "then read many times"
      )
    return cls("orient" in steps, resize)

  @property
  def moves(self) -> bool:
    """Whether an image may be stored other than as it lies in its file."""
    return self != Geometry()

  @property
  def record(self) -> dict[str, Any]:
    """As the manifest says it: plain values, without what is not given."""
    result: dict[str, Any] = {"orient": self.orient}
    if self.resize is not None:
      given = {
        "size": self.resize.size and list(self.resize.size),
        "shorter": self.resize.shorter,
        "longer": self.resize.longer,
      }
      result["resize"] = {name: value for name, value in given.items() if value} | {
        "interpolation": self.resize.interpolation,
        "antialias": self.resize.antialias,
      }
    return result

  def inputs(
    self, orientation: tf.Tensor | int = 1, *, mask: bool = False
  ) -> dict[str, Any]:
    """What the ops that scan and transcode images are given.

    Args:
      orientation: scalar, of the image, 1 to 8.
      mask: whether values are no quantities, and pixels keep one of them.
    """
    result: dict[str, Any] = {
      "orientation": tf.cast(orientation if self.orient else 1, tf.int64)
    }
    if self.resize is None:
      return result
    height, width = self.resize.size or (self.resize.shorter or self.resize.longer, 0)
    return result | {
      "resize": "exact"
      if self.resize.size
      else ("shorter" if self.resize.shorter else "longer"),
      "resize_height": height,
      "resize_width": width,
      "interpolation": "nearest" if mask else self.resize.interpolation,
      "antialias": self.resize.antialias,
    }

  def moved(
    self, example: tf.Tensor, orientation: tf.Tensor, limits: Limits
  ) -> tuple[tf.Tensor, tf.Tensor]:
    """Moves what a record's tf.train.Example says of places, inside a tf.data graph.

    Args:
      example: scalar, serialized, or empty.
      orientation: scalar, of the image.
      limits: of a mask.

    Returns:
      The example, and why it cannot be moved, empty where it can.
    """
    nothing = tf.constant("")
    if not self.moves:
      return example, nothing

    def move():
      found, error = tf.numpy_function(
        lambda serialized, value: self._moved(serialized, int(value), limits),
        [example, orientation],
        (tf.string, tf.string),
        stateful=False,
      )
      return tf.ensure_shape(found, []), tf.ensure_shape(error, [])

    return tf.cond(tf.equal(example, b""), lambda: (example, nothing), move)

  def _moved(
    self, serialized: bytes, orientation: int, limits: Limits
  ) -> tuple[bytes, bytes]:
    # Here is the place for other features that are places in an image.
    example = tf.train.Example.FromString(serialized)
    features = example.features.feature
    if masks.FEATURE not in features:
      return serialized, b""
    values = features[masks.FEATURE].bytes_list.value
    if len(values) != 1:
      return serialized, b"its mask is no single image"
    made = ops.lib().liquid_transcode_image(
      contents=values[0],
      target="png",
      **self.inputs(orientation, mask=True),
      **limits.attributes(),
    )
    values[0] = made.encoded.numpy()
    return example.SerializeToString(deterministic=True), made.error.numpy()
