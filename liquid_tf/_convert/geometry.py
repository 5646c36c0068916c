"""Where a conversion moves pixels to: once, before an image is stored."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from liquid_tf._convert.graph import by_python
from liquid_tf._convert.sources import masks
from liquid_tf._convert.sources.annotations import annotations as places
from liquid_tf._native import image_ops, ops
from liquid_tf._native.limits import Limits
from liquid_tf._pipeline.sizes import resized
from liquid_tf.transforms import Resize, Step


@dataclasses.dataclass(frozen=True)
class Geometry:
  """Steps that move the pixels of every image, and of its mask.

  Attributes:
    orient: whether images are turned as their EXIF says, and have the orientation 1.
    resize: the step that resizes them then; None leaves their sizes.
  """

  orient: bool = False
  resize: Resize | None = None

  @classmethod
  def of(cls, steps: Mapping[str, Step]) -> "Geometry":
    """Takes the steps that `transforms.by_slot` found.

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

  @classmethod
  def recorded(cls, record: Mapping[str, Any]) -> "Geometry":
    """The geometry of which a manifest has the `record`."""
    resize = record.get("resize")
    if resize is None:
      return cls(record["orient"])
    given = dict(resize)
    if "size" in given:
      given["size"] = tuple(given["size"])
    return cls(record["orient"], Resize(**given))

  @property
  def moves(self) -> bool:
    """Whether an image may be stored other than as it lies in its file."""
    return self != Geometry()

  @property
  def record(self) -> dict[str, Any]:
    """As the manifest says it: plain values, without what is not given."""
    result: dict[str, Any] = {"orient": self.orient}
    if self.resize is not None:
      given = dataclasses.asdict(self.resize)
      del given["draft"]
      result["resize"] = {
        name: list(value) if name == "size" else value
        for name, value in given.items()
        if value is not None
      }
    return result

  def inputs(
    self, orientation: tf.Tensor | int = 1, *, mask: bool = False
  ) -> dict[str, Any]:
    """Inputs of the ops that scan and transcode images.

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
    self, example: tf.Tensor, image: tf.Tensor, orientation: tf.Tensor, limits: Limits
  ) -> list[tf.Tensor]:
    """Moves what a record's tf.train.Example says of places, inside a tf.data graph.

    Args:
      example: scalar, serialized, or empty.
      image: scalar, the image's file, as the codecs take it.
      orientation: scalar, of the image.
      limits: of a mask.

    Returns:
      The example, and why it cannot be moved, empty where it can.
    """
    nothing = tf.constant("")
    if not self.moves:
      return [example, nothing]

    def move():
      return by_python(
        lambda *given: self._moved(*given, limits),
        [example, image, orientation],
        tf.string,
        tf.string,
      )

    return tf.cond(tf.equal(example, b""), lambda: [example, nothing], move)

  def _moved(
    self, serialized: bytes, image: bytes, orientation: np.int64, limits: Limits
  ) -> tuple[bytes, bytes]:
    example = tf.train.Example.FromString(serialized)
    features = example.features.feature
    if places.BOXES in features or places.KEYPOINTS in features:
      try:
        found = image_ops.peek(image, limits=limits)
      except tf.errors.OpError as error:
        return serialized, ops.reason(error).encode()
      height, width, _ = found.shape.numpy().tolist()
      turned = int(orientation) if self.orient else 1
      self._move_places(features, height, width, turned)
    if masks.FEATURE in features:
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
      if made.error.numpy():
        return serialized, made.error.numpy()
    return example.SerializeToString(deterministic=True), b""

  def _move_places(
    self, features: Any, height: int, width: int, orientation: int
  ) -> None:
    """Moves boxes and keypoints of an image of that size, in place."""
    upright = (width, height) if orientation >= _SWAPPED else (height, width)
    scale = np.ones(2)
    if self.resize is not None:
      scale = np.divide(resized(self.resize, *upright), upright)
    for name, size in ((places.BOXES, 2), (places.KEYPOINTS, 3)):
      values = features[name].float_list.value if name in features else []
      # Each place is y and x; a keypoint goes on with whether it is visible.
      rows = np.array(values, np.float64).reshape(-1, size)
      y, x = _TURNS[orientation](rows[:, 0], rows[:, 1], height, width)
      rows[:, 0], rows[:, 1] = y * scale[0], x * scale[1]
      if name == places.BOXES:
        corners = rows.reshape(-1, 2, 2)
        rows = np.concatenate([corners.min(axis=1), corners.max(axis=1)], axis=1)
      elif len(rows):
        rows[rows[:, 2] == 0] = 0
      values[:] = rows.astype(np.float32).reshape(-1)


# From this orientation of EXIF on, rows become columns.
_SWAPPED = 5

# Where a place of the stored image lies in the turned one, by orientation.
_TURNS = {
  1: lambda y, x, height, width: (y, x),
  2: lambda y, x, height, width: (y, width - x),
  3: lambda y, x, height, width: (height - y, width - x),
  4: lambda y, x, height, width: (height - y, x),
  5: lambda y, x, height, width: (x, y),
  6: lambda y, x, height, width: (x, height - y),
  7: lambda y, x, height, width: (width - x, height - y),
  8: lambda y, x, height, width: (width - x, y),
}
