"""Samples in serialized tf.train.Examples: which features are image, label and more."""

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from liquid_tf._convert import labels
from liquid_tf._convert.sources.samples import RecordSource, Sample, SampleError
from liquid_tf._store.columns import OF_BATCH
from liquid_tf._store.schema import LISTS
from liquid_tf._words import Shown, argument
from liquid_tf.errors import ConvertError, WrongArgument

# As in ImageNet's files, which many others copy.
DEFAULT_NAMES = ("image/encoded", "image/class/label")

_DTYPES = {kind: dtype for dtype, kind in LISTS.items()}


@dataclasses.dataclass(frozen=True)
class ExampleNames:
  """Names of features in a tf.train.Example.

  Attributes:
    image: bytes, an encoded image; None for the source's own idea of it.
    label: one number or several; "" for none, None for the source's own idea.
    more: features that a dataset keeps as they are.
  """

  image: str | None = None
  label: str | None = None
  more: tuple[str, ...] = ()

  def or_else(self, image: str, label: str) -> "ExampleNames":
    """The names with these in the place of None."""
    return ExampleNames(
      image if self.image is None else self.image,
      label if self.label is None else self.label,
      self.more,
    )

  def check(self) -> None:
    """Raises ValueError unless the names can be a dataset's."""
    if self.image == "":
      raise WrongArgument("image_feature", "", "must name a feature")
    for name in self.more:
      if name in (*OF_BATCH, "", self.image, self.label):
        raise WrongArgument(
          "features",
          name,
          f"must be other than the image, the label, and {', '.join(OF_BATCH)}",
        )
    if len(set(self.more)) < len(self.more):
      raise WrongArgument(
        "features", Shown(", ".join(self.more)), "must be different names"
      )


def put(
  example: tf.train.Example, name: str, dtype: str, values: Iterable[Any]
) -> None:
  """Puts a feature of a type of the manifest into an example, for any that is there."""
  feature = example.features.feature[name]
  feature.Clear()
  getattr(feature, LISTS[dtype]).value.extend(values)


def _parse(serialized: bytes) -> Any:
  try:
    return tf.train.Example.FromString(serialized).features.feature
  except Exception as error:  # Whatever the running protobuf raises.
    raise SampleError(f"is no tf.train.Example: {error}") from error


def _find(features: Any, name: str, argument: str) -> tuple[str, Any]:
  """The kind of a feature and its values."""
  # Asking a map of messages for a key would add it.
  if name not in features:
    names = ", ".join(sorted(features)) or "none"
    raise SampleError(f'has no feature "{name}" ({argument}); it has {names}')
  kind = features[name].WhichOneof("kind")
  if kind is None:
    return "", ()
  return kind, getattr(features[name], kind).value


def _labels(features: Any, name: str) -> np.ndarray:
  kind, values = _find(features, name, "label_feature")
  if kind == "bytes_list":
    raise SampleError(
      f"{argument('label_feature', name)} must hold numbers, but holds text"
    )
  fault = labels.fault(values)
  if fault:
    raise SampleError(f'"{name}": {fault}')
  return np.array(values, np.float32)


def describe(serialized: bytes, names: Sequence[str]) -> dict[str, dict[str, Any]]:
  """The manifest's entries of features that are kept, by what one example has."""
  result = {}
  features = _parse(serialized) if names else {}
  for name in names:
    kind, _ = _find(features, name, "features")
    if not kind:
      raise SampleError(f'"{name}" has no values, from which its type would be known')
    result[name] = {"dtype": _DTYPES[kind], "shape": [None], "example": name}
  return result


class ExampleSource(RecordSource):
  """Samples in tf.train.Examples. Subclasses say where these are.

  Args:
    names: of the features, none of them None.
    *args: of `SampleSource`, as are all others.
  """

  def __init__(self, names: ExampleNames, *args, **options):
    super().__init__(*args, **options)
    self._names = names
    if names.more:
      try:
        self.features = describe(self.serialized(0), names.more)
      except (SampleError, OSError) as error:
        raise ConvertError(f"{self.path(0)}: {error}") from error

  def place(self, position: int) -> tuple[int, int]:
    """The file of a sample, and its number there."""
    file = self.file_of[position]
    return int(file), position - int(np.searchsorted(self.file_of, file))

  def name(self, position: int) -> str:
    file, number = self.place(position)
    return f"{self.files[file].path}/{number}"

  def serialized(self, position: int) -> bytes:
    """Reads a serialized tf.train.Example; see `read`."""
    raise NotImplementedError

  def read(self, position: int) -> Sample:
    features = _parse(self.serialized(position))
    kind, values = _find(features, self._names.image, "image_feature")
    if kind != "bytes_list" or len(values) != 1:
      raise SampleError(
        f"{argument('image_feature', self._names.image)} must hold the bytes of one "
        f"image, but has {len(values)} values{f' of {_DTYPES[kind]}' if kind else ''}"
      )
    label = self._names.label
    found = _labels(features, label) if label else np.zeros(0, np.float32)
    # TFDS says so where the labels of a test are kept back.
    if self.classes is not None and (found == -1).any():
      raise SampleError("has no class: its label is -1")
    return Sample(values[0], found, self._more(features))

  def _more(self, features: Any) -> bytes:
    """The tf.train.Example of the features that are kept, serialized."""
    if not self._names.more:
      return b""
    kept = tf.train.Example()
    for name in self._names.more:
      kind, _ = _find(features, name, "features")
      if kind and _DTYPES[kind] != self.features[name]["dtype"]:
        raise SampleError(
          f'"{name}" holds {_DTYPES[kind]}, but {self.features[name]["dtype"]} in the '
          "first example"
        )
      kept.features.feature[name].CopyFrom(features[name])
    return kept.SerializeToString(deterministic=True)
