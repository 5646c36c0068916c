"""Whether records hold what the features of their manifest say."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from liquid_tf._native import direct, direct_store
from liquid_tf._native.limits import Limits
from liquid_tf._store.schema import LARGEST_LABEL, LISTS

# What stands in a record outside its tf.train.Example.
_OUTSIDE = ("image", "label")


class RecordCheck:
  """Checks records against the features, and counts their classes.

  Args:
    features: `features` of a checked manifest.
    labels: those beside the index, by sample number; None: not to be compared.
    corrected: whether these count, and records may have others.
  """

  def __init__(
    self,
    features: dict[str, Any],
    labels: np.ndarray | None = None,
    corrected: bool = False,
  ):
    self._features = features
    self._corrected = corrected
    self._beside = labels
    self._label = features.get("label")
    classes = (self._label or {}).get("classes")
    self._counts = None if classes is None else np.zeros(len(classes), np.int64)

  def problem(self, row: np.ndarray, labels: np.ndarray, example: bytes) -> str:
    """Says what is wrong with a record, if anything.

    Args:
      row: of the index.
      labels: shape [k].
      example: its serialized tf.train.Example, or empty.

    Returns:
      A sentence about the record, or "".
    """
    if self._corrected:
      self._count(row)
      return self._example_problem(row, example)
    return (
      self._label_problem(labels)
      or self._other_label(row, labels)
      or self._example_problem(row, example)
    )

  def _count(self, row: np.ndarray) -> None:
    """Counts the class that the index says of a record."""
    if self._counts is not None and self._beside is not None:
      number = int(self._beside[row["sample"]])
      if 0 <= number < len(self._counts):
        self._counts[number] += 1

  def counts_problem(self, copies: int) -> str:
    """Says whether the records checked were not all records of the manifest's classes.

    Args:
      copies: records of each sample.
    """
    if self._counts is None:
      return ""
    wanted = np.array(self._label["class_counts"], np.int64) * copies
    wrong = np.flatnonzero(self._counts != wanted)
    if not len(wrong):
      return ""
    number = int(wrong[0])
    return (
      f"features.label.class_counts[{number}] is {wanted[number] // copies}, but "
      f"{self._counts[number] // copies} samples have this label"
    )

  def _label_problem(self, labels: np.ndarray) -> str:
    label = self._label
    if label is None:
      return f"it has {len(labels)} labels, features none" if len(labels) else ""
    wanted = label["shape"][0] if label["shape"] else 1
    if wanted is not None and len(labels) != wanted:
      return f"it has {len(labels)} labels, features.label says {wanted}"
    if label["dtype"] != "int64":
      return ""
    value, classes = float(labels[0]), label.get("classes")
    most = LARGEST_LABEL if classes is None else len(classes) - 1
    if not (0 <= value <= most and value == int(value)):
      return f"its label ({value:g}) must be a whole number in [0, {most}]"
    if self._counts is not None:
      self._counts[int(value)] += 1
    return ""

  def _other_label(self, row: np.ndarray, labels: np.ndarray) -> str:
    if self._beside is None:
      return ""
    beside = self._beside[row["sample"]].reshape(-1)
    if np.array_equal(beside, labels, equal_nan=beside.dtype.kind == "f"):
      return ""
    found, wanted = (", ".join(f"{x:g}" for x in some) for some in (labels, beside))
    return f"its label ({found}) is {wanted} beside the index"

  def _example_problem(self, row: np.ndarray, serialized: bytes) -> str:
    inside = {
      name: feature for name, feature in self._features.items() if name not in _OUTSIDE
    }
    if not inside:
      return ""
    try:
      found = Example(serialized)
      for name, feature in inside.items():
        if name != "mask":
          values_of(name, feature, found)
      if "mask" in inside:
        mask = mask_of(inside["mask"], found)
        return _mask_problem(mask, row, inside["mask"])
    except ValueError as error:
      return str(error)
    return ""


class Example:
  """A serialized tf.train.Example.

  Args:
    serialized: its bytes; none for an Example without features.
  """

  def __init__(self, serialized: bytes):
    self._bytes = np.frombuffer(serialized, np.uint8)
    self._offsets = np.array([0, len(serialized)], np.uint64)

  def values(self, key: str, wanted: str, where: str = "") -> Sequence[Any]:
    """Values of a feature, none where there is none.

    Args:
      key: its name.
      wanted: the kind of list that holds them.
      where: what says so, for an error about values of another kind; without it, they
        are none.

    Raises:
      ValueError: it is no Example, or they are of another kind; a sentence about the
        record, as of all functions here.
    """
    try:
      found = direct_store.examples(self._bytes, self._offsets, key, wanted)
    except direct_store.WrongExample as error:
      raise ValueError(f"its tf.train.Example cannot be parsed: {error}") from None
    kind = direct_store.KINDS[found.kinds[0]]
    if where and kind not in (None, wanted):
      raise ValueError(f'its tf.train.Example has a {kind} of "{key}", but {where}')
    if kind != wanted:
      return ()
    if found.places is None:
      return found.numbers
    return [
      self._bytes[begin : begin + size].tobytes()
      for begin, size in found.places.tolist()
    ]


def values_of(name: str, feature: dict[str, Any], found: Example) -> Sequence[Any]:
  """Values of a feature of the manifest, as many as its shape says.

  None are there where the Example lacks a feature of any number of them.
  """
  where = f"the dtype of features.{name} is {feature['dtype']}"
  values = found.values(feature["example"], LISTS[feature["dtype"]], where)
  shape = feature["shape"]
  if None not in shape and len(values) != math.prod(shape):
    raise ValueError(
      f'its tf.train.Example has {len(values)} values of "{feature["example"]}", not '
      f"{math.prod(shape)}"
    )
  return values


def mask_of(feature: dict[str, Any], found: Example) -> bytes:
  """File of the mask, which an Example must have."""
  key = feature["example"]
  values = found.values(key, "bytes_list")
  if len(values) != 1:
    raise ValueError(f'its tf.train.Example has {len(values)} values of "{key}"')
  return values[0]


def _mask_problem(file: bytes, row: np.ndarray, feature: dict[str, Any]) -> str:
  """Problem of the mask of a record, or ""."""
  expected = (int(row["height"]), int(row["width"]), 1)
  dtype = np.dtype(feature["dtype"])
  try:
    shape, bits = direct_store.peek(file, Limits())
    if shape != expected or f"uint{bits}" != feature["dtype"]:
      return (
        f"its mask has shape {list(shape)} and {bits} bits, not {list(expected)} and "
        f"{feature['dtype']}"
      )
    direct.decode(np.frombuffer(file, np.uint8), expected, dtype, Limits())
  except ValueError as error:
    return f"its mask: {error}"
  return ""
