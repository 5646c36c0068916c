"""Boxes and keypoints that follow their images into a batch."""

from collections.abc import Sequence
from typing import Any

from liquid_tf._pipeline.spec import Spec
from liquid_tf._store.manifest import Manifest
from liquid_tf._words import Shown, argument
from liquid_tf.errors import WrongArgument
from liquid_tf.transforms import Boxes

_BOX, _POINT = 4, 3
# Stand in a record outside its tf.train.Example, or are images.
_OTHERS = ("image", "label", "mask")


class BoxColumns:
  """Arrays of boxes and keypoints that `Boxes` gives.

  Args:
    manifest: of the dataset.
    features: as `decode_and_batch` takes them.
    flip: of `Mirror`.
    others: names that are no features of boxes.

  Raises:
    ValueError: the dataset has no boxes, or other ones than `Boxes` takes; there are
      two `Boxes`; or `flip` is not of as many keypoints.
  """

  def __init__(
    self,
    manifest: Manifest,
    features: Sequence[Any] | None,
    flip: Sequence[int],
    others: Sequence[str],
  ):
    found = [one for one in features or () if isinstance(one, Boxes)]
    if len(found) > 1:
      raise ValueError(f"features: {found[0]} and {found[1]} must not both be given")
    self.given = found[0] if found else None
    self._columns = {}
    self._flip = []
    if self.given is None:
      return
    if "boxes" not in manifest["features"]:
      raise WrongArgument(
        "features",
        Shown(self.given),
        f"must not be given where the dataset has no boxes: {manifest.directory} has "
        f"{', '.join(manifest['features'])}",
      )
    self._columns = {
      name: (feature["dtype"], tuple(feature["shape"][1:]))
      for name, feature in manifest["features"].items()
      if feature["shape"][:1] == [None] and name not in (*_OTHERS, *others)
    }
    self._check("boxes", (_BOX,), manifest)
    if "keypoints" in self._columns:
      _, shape = self._columns["keypoints"]
      count = shape[0] if shape else None
      self._check("keypoints", (count, _POINT), manifest)
      if flip and len(flip) != count:
        raise WrongArgument(
          "Mirror: flip",
          list(flip),
          f"must have a number for each of the {count} keypoints of "
          f"{manifest.directory}",
        )
      self._flip = list(flip)

  def _check(
    self, name: str, shape: tuple[int | None, ...], manifest: Manifest
  ) -> None:
    if None in shape or self._columns.get(name) != ("float32", shape):
      sides = ", ".join("k" if side is None else str(side) for side in shape)
      raise ValueError(
        f"{argument('features', Shown(self.given))}: features.{name} of "
        f"{manifest.directory} must be float32 of shape [null, {sides}]"
      )

  @property
  def names(self) -> list[str]:
    """The features that it gives."""
    return [*self._columns, "num_boxes"] if self._columns else []

  @property
  def numbers(self) -> list[str]:
    """Those of them that are no strings."""
    return [name for name in self.names if self.spec(name, None).dtype != "string"]

  def spec(self, name: str, samples: int | None) -> Spec:
    """Spec of one name's array in a batch of `samples`."""
    if name == "num_boxes":
      return Spec("int32", [samples])
    dtype, shape = self._columns[name]
    outer = [None] if self.given.pad is None else [samples, self.given.pad]
    return Spec(dtype, [*outer, *shape])

  def fields(self) -> dict[str, Any]:
    """Fields of the message of decoding."""
    return {
      "box_columns": list(self._columns),
      "box_pad": (self.given and self.given.pad) or 0,
      "min_visible": self.given.min_visible if self.given else 0.0,
      "keypoint_flip": self._flip,
    }

  @property
  def ragged(self) -> list[str]:
    """Columns whose rows are those of images, "num_boxes" each, one after another."""
    if self.given is None or self.given.pad is not None:
      return []
    return list(self._columns)
