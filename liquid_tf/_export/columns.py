"""The columns of samples on their way out: label, features, metadata columns."""

import collections
import json
import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from liquid_tf._store import columns, records
from liquid_tf._store.manifest import Manifest
from liquid_tf._view import sample_features

# Features that an export has places of their own for.
_APART = ("image", "label", "mask")


class Kind(NamedTuple):
  """A column's values.

  Attributes:
    dtype: int64, float32, float64, bool or string.
    sides: of each entry of a list, () where these are single values; None where a
      sample has one value and no list.
    classes: names of the numbers, or None.
  """

  dtype: str
  sides: tuple[int, ...] | None = None
  classes: Sequence[str] | None = None


class Columns:
  """All columns of a dataset, whichever way they are stored: the label, too.

  Args:
    manifest: of the dataset.
    taken: names that the export has for something else. Columns of these are left out.
    with_records: whether label and features are among them; else the export copies
      these from the records.

  Raises:
    ManifestError: the files of a metadata column are missing or damaged.

  Attributes:
    kinds: of each column, by name.
    left_out: names of columns that are.
  """

  def __init__(self, manifest: Manifest, taken: Collection[str], with_records: bool):
    every = manifest["features"] if with_records else {}
    metadata = manifest["columns"]
    features = {name: one for name, one in every.items() if name not in _APART}
    self.left_out = [name for name in {**features, **metadata} if name in taken]
    self._features = {name: features[name] for name in features if name not in taken}
    self._metadata = {
      name: columns.load(manifest, name) for name in metadata if name not in taken
    }
    self.kinds: dict[str, Kind] = {}
    label = every.get("label")
    if label is not None:
      # One number is no list of them.
      many = label["shape"] not in ([], [1])
      self.kinds["label"] = Kind(
        label["dtype"], () if many else None, label.get("classes")
      )
    self.kinds |= {name: _kind(one) for name, one in self._features.items()}
    # What was annotated later counts.
    self.kinds |= {name: _kind(metadata[name]) for name in self._metadata}

  def of(self, number: int, labels: np.ndarray, example: bytes) -> dict[str, Any]:
    """The values of a sample, by name.

    Args:
      number: of the sample.
      labels: shape [k], float32.
      example: the serialized tf.train.Example of its record, or empty.

    Returns:
      Numbers, bools and texts, and lists of them, nested as their sides say. Bytes that
      are no UTF-8 stay bytes.

    Raises:
      ValueError: the record does not hold what the manifest says; one sentence.
    """
    result: dict[str, Any] = {}
    if "label" in self.kinds:
      result["label"] = _label(self.kinds["label"], labels)
    if self._features:
      found = records.Example(example)
      for name, feature in self._features.items():
        result[name] = _plain(sample_features.of_list(name, feature, found))
    for name, column in self._metadata.items():
      result[name] = _plain(column[number])
    return result


def _label(kind: Kind, labels: np.ndarray) -> Any:
  if kind.sides is not None:
    return _plain(labels)
  if len(labels) != 1:
    raise ValueError(f"it has {len(labels)} labels, not one")
  return int(labels[0]) if kind.dtype == "int64" else _plain(labels[0])


def _kind(entry: Mapping[str, Any]) -> Kind:
  """The kind of a column, by the manifest's entry of it."""
  shape = entry.get("shape")
  return Kind(entry["dtype"], tuple(shape[1:]) if shape else None, entry.get("classes"))


def _plain(value: Any) -> Any:
  """A value as JSON and Parquet have it, but for bytes that are no text."""
  if isinstance(value, np.ndarray):
    if value.dtype == np.float32:
      return _short(value).tolist()
    return value.tolist() if value.dtype != object else [_plain(v) for v in value]
  if isinstance(value, np.float32):
    return float(str(value))
  if isinstance(value, np.generic):
    return value.item()
  if isinstance(value, str):
    value = value.encode(errors="surrogateescape")
  if isinstance(value, bytes):
    try:
      return value.decode()
    except UnicodeDecodeError:
      return value
  return value


def _short(values: np.ndarray) -> np.ndarray:
  """Numbers of 64 bits that are written as those of 32 bits: .1, not .10000000149."""
  return values.astype(str).astype(np.float64)


class JsonObjects:
  """Writes samples as JSON objects of one line, and counts what JSON cannot hold.

  Args:
    kinds: of the columns. Numbers that have names are written as these.
  """

  def __init__(self, kinds: Mapping[str, Kind]):
    self._classes = {
      name: kind.classes for name, kind in kinds.items() if kind.classes is not None
    }
    self._lost: collections.Counter[tuple[str, str]] = collections.Counter()

  def encode(self, values: Mapping[str, Any]) -> bytes:
    """One line, without its end.

    A text that is no UTF-8 is null, and so is a number that is not finite.
    """
    found = {name: self._value(name, value) for name, value in values.items()}
    text = json.dumps(found, ensure_ascii=False, allow_nan=False)
    try:
      return text.encode()
    except UnicodeEncodeError:
      # A name of a file or class that is no UTF-8; as escapes it comes back.
      return json.dumps(found, allow_nan=False).encode()

  def _value(self, name: str, value: Any) -> Any:
    if isinstance(value, list):
      return [self._value(name, one) for one in value]
    if isinstance(value, bytes):
      self._lost[name, "bytes that are no UTF-8"] += 1
      return None
    if isinstance(value, float) and not math.isfinite(value):
      # Not a number is what a sample without a value has.
      self._lost[name, "infinite numbers"] += not math.isnan(value)
      return None
    classes = self._classes.get(name)
    if classes is not None and isinstance(value, int) and 0 <= value < len(classes):
      return classes[value]
    return value

  @property
  def notes(self) -> list[str]:
    """Sentences on what became null."""
    return [
      f'the column "{name}" has {what} ({count}), which JSON cannot hold: they are null'
      for (name, what), count in sorted(self._lost.items())
      if count
    ]
