"""The features of a dataset: names, shapes, and how to read them from examples."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import tensorflow as tf

from liquid_tf._pipeline.boxes import BoxColumns
from liquid_tf._store.manifest import Manifest
from liquid_tf.errors import WrongArgument
from liquid_tf.transforms import Boxes

# Of every dataset.
PLAIN = {
  "id": (tf.int64, ()),
  "format": (tf.string, ()),
  "orientation": (tf.int64, ()),
  "window": (tf.int32, (4,)),
  "mirrored": (tf.bool, ()),
  "size": (tf.int32, (2,)),
  "affine": (tf.float64, (2, 3)),
  "bytes": (tf.string, ()),
  "example": (tf.string, ()),
}


@dataclasses.dataclass(frozen=True)
class Pixels:
  """An image or mask feature: how it is stored and how it comes out."""

  dtype: tf.DType
  height: int | None
  width: int | None
  channels: int


def pixel_features(manifest: Manifest) -> dict[str, Pixels]:
  features = {}
  for name in ("image", "mask"):
    feature = manifest["features"].get(name)
    if feature is not None:
      features[name] = Pixels(tf.as_dtype(feature["dtype"]), *feature["shape"])
  return features


def decoded(
  manifest: Manifest, wanted: Sequence[str], decode: str
) -> dict[str, Pixels]:
  """The features among some whose pixels are decoded here.

  Args:
    manifest: of the dataset.
    wanted: names of features.
    decode: where images are decoded, as `decode_and_batch` takes it.
  """
  here = [name for name in wanted if name != "image" or decode == "cpu"]
  return {k: v for k, v in pixel_features(manifest).items() if k in here}


def check_names(
  manifest: Manifest, features: Sequence[str | Boxes] | None, boxes: BoxColumns
) -> list[str]:
  """Names of the features to give out, those of `boxes` in the place of `Boxes`.

  Raises:
    ValueError: the dataset has no such feature; the message lists its features.
  """
  if isinstance(features, str):
    raise WrongArgument(
      "features", features, f"must be a list of names: give features=[{features!r}]"
    )
  names = []
  known = sorted({*PLAIN, *manifest["features"]})
  for name in manifest["supervised"] if features is None else features:
    if isinstance(name, Boxes):
      names += boxes.names
      continue
    names.append(name)
    if name not in known:
      advice = "; view.names(ids) has those of samples" if name == "name" else ""
      raise WrongArgument(
        "features",
        name,
        f"must be of {', '.join(known)}, the features of {manifest.directory}{advice}",
      )
  if not names or len(set(names)) < len(names):
    raise WrongArgument("features", names, "must be one or more different names")
  return names


def label_spec(manifest: Manifest, samples: int | None) -> tf.TensorSpec:
  """Spec of a batch's labels; `samples` of them, where that is known.

  Raises:
    ValueError: samples have unequal numbers of them.
  """
  label = manifest["features"]["label"]
  if label["shape"] == [None]:
    raise WrongArgument(
      "features",
      "label",
      f"must not be given: samples of {manifest.directory} have unequal numbers of "
      "labels",
    )
  return tf.TensorSpec([samples, *label["shape"]], tf.as_dtype(label["dtype"]))


def in_examples(
  manifest: Manifest, names: Sequence[str]
) -> dict[str, tf.io.RaggedFeature | tf.io.FixedLenFeature]:
  """How to parse those features that the records' examples hold."""
  parsed = {}
  for name in names:
    if name not in (*PLAIN, "image", "label", "mask"):
      feature = manifest["features"][name]
      dtype = tf.as_dtype(feature["dtype"])
      if feature["shape"]:
        parsed[name] = tf.io.RaggedFeature(dtype)
      else:
        parsed[name] = tf.io.FixedLenFeature([], dtype)
  return parsed


def in_shape(
  manifest: Manifest, name: str, value: tf.Tensor | tf.RaggedTensor
) -> tf.Tensor | tf.RaggedTensor:
  """A parsed feature of a batch: [n], or ragged [n, None, sides...]."""
  sides = manifest["features"][name]["shape"][1:]
  if not sides:
    return value
  return tf.RaggedTensor.from_row_splits(
    tf.reshape(value.flat_values, [-1, *sides]),
    value.row_splits // math.prod(sides),
    validate=False,
  )


def in_structure(values: Mapping[str, Any], names: Sequence[str], as_dict: bool) -> Any:
  """A batch as a dict, or as a tuple, or the one feature of it."""
  if as_dict:
    return {name: values[name] for name in names}
  result = tuple(values[name] for name in names)
  return result[0] if len(result) == 1 else result
