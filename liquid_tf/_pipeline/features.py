"""The features of a dataset: names, types and shapes."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from liquid_tf._pipeline.boxes import BoxColumns
from liquid_tf._pipeline.spec import Spec
from liquid_tf._store.manifest import Manifest
from liquid_tf.errors import WrongArgument
from liquid_tf.transforms import Boxes, Mix

# Of every dataset.
PLAIN = {
  "id": ("int64", ()),
  "format": ("string", ()),
  "orientation": ("int64", ()),
  "window": ("int32", (4,)),
  "mirrored": ("bool", ()),
  "size": ("int32", (2,)),
  "affine": ("float64", (2, 3)),
  "bytes": ("string", ()),
  "example": ("string", ()),
}
# Of a batch whose samples are mixed.
MIXED = {"partner": ("int32", ()), "lam": ("float32", ())}


@dataclasses.dataclass(frozen=True)
class Pixels:
  """An image or mask feature: how it is stored and how it comes out."""

  dtype: str
  height: int | None
  width: int | None
  channels: int


def pixel_features(manifest: Manifest) -> dict[str, Pixels]:
  features = {}
  for name in ("image", "mask"):
    feature = manifest["features"].get(name)
    if feature is not None:
      features[name] = Pixels(feature["dtype"], *feature["shape"])
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


def mixed(manifest: Manifest, mix: Mix | None) -> dict[str, Spec]:
  """Specs, by name, of what a step that mixes tells of a sample.

  Args:
    manifest: of the dataset, whose own features of these names come first.
    mix: the step, or None.
  """
  if mix is None:
    return {}
  own = {*manifest["features"], *manifest["columns"]}
  return {k: Spec(dtype, list(s)) for k, (dtype, s) in MIXED.items() if k not in own}


def check_names(
  manifest: Manifest,
  features: Sequence[str | Boxes] | None,
  boxes: BoxColumns,
  mix: Mix | None,
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
  known = {*PLAIN, *manifest["features"], *manifest["columns"]}
  known = sorted(known | mixed(manifest, mix).keys())
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


def label_spec(manifest: Manifest, samples: int | None, mix: Mix | None) -> Spec:
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
  if mix is not None:
    return Spec("float32", [samples, _classes(manifest, mix)])
  return Spec(label["dtype"], [samples, *label["shape"]])


def _classes(manifest: Manifest, mix: Mix) -> int:
  """How many classes the labels are of, which `mix` changes.

  Raises:
    ValueError: that is not known, or labels are no classes.
  """
  if not manifest.classes:
    raise ValueError(
      f"transforms: {mix} needs labels that are classes with names, whose number it "
      f'takes, and {manifest.directory} has none: give features without "label", '
      'with "partner" and "lam"'
    )
  return len(manifest.classes)


def in_examples(manifest: Manifest, names: Sequence[str]) -> dict[str, Spec]:
  """Those features that the records' examples hold, with the shape that each has."""
  found = {}
  for name in names:
    others = (*PLAIN, "image", "label", "mask", *manifest["columns"])
    if name not in others and name in manifest["features"]:
      feature = manifest["features"][name]
      found[name] = Spec(feature["dtype"], feature["shape"])
  return found


def in_structure(values: Mapping[str, Any], names: Sequence[str], as_dict: bool) -> Any:
  """A batch as a dict, or as a tuple, or the one feature of it."""
  if as_dict:
    return {name: values[name] for name in names}
  result = tuple(values[name] for name in names)
  return result[0] if len(result) == 1 else result
