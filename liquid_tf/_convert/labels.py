"""Kinds of labels of a source: classes, numbers, or vectors of numbers."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from liquid_tf._convert.sources.samples import SampleSource
from liquid_tf._store.schema import LARGEST_LABEL
from liquid_tf.errors import ConvertError


def fault(values: Sequence[float]) -> str:
  """Why numbers cannot be the labels of a sample, or "".

  Args:
    values: as the source has them, before they become float32.
  """
  # Written so that NaN is a fault.
  wrong = [value for value in values if not abs(value) <= LARGEST_LABEL]
  if not wrong:
    return ""
  which = f"its label ({wrong[0]})"
  if isinstance(wrong[0], float) and not math.isfinite(wrong[0]):
    return (
      f"{which} must be a finite number: give a sample that lacks one a number of its "
      "own, such as -1, or leave it out"
    )
  return (
    f"{which} must be from -{LARGEST_LABEL} to {LARGEST_LABEL}, since float32 does not "
    "tell larger whole numbers apart: count classes from 0, and keep ids as a metadata "
    "column (liquid_tf.annotate)"
  )


def of_no_class(source: SampleSource, samples: np.ndarray) -> dict[int, str]:
  """Why samples have no class of a source that names classes, by position in `samples`.

  Args:
    source: what is converted.
    samples: shape [samples], SCAN_DTYPE, those with labels.
  """
  values = samples["label"]
  if source.classes is None or (samples["labels"] != 1).any() or (values % 1).any():
    return {}
  count = len(source.classes)
  wrong = np.flatnonzero((values < 0) | (values >= count))
  return {int(i): no_class(f"{values[i]:g}", count) for i in wrong}


def no_class(value: str, count: int) -> str:
  """Message about a label that none of the source's classes has."""
  return f"its label ({value}) is no class: there are names of {count}, from 0 on"


def describe(
  source: SampleSource, samples: np.ndarray, mix: Mapping[str, float]
) -> dict[str, Any] | None:
  """The manifest's entry of the labels, or None where there are none.

  One whole number from 0 on each, unless the source gives floats: classes, whose names
  are the source's. One other number each, or k numbers each: float32, shape [1] or [k].
  Unequal numbers of them: shape [None].

  Args:
    source: what is converted.
    samples: shape [samples], SCAN_DTYPE, of those that are stored; none is
      `of_no_class`.
    mix: of the dataset.

  Raises:
    ConvertError: a format of the mix has no room for such labels.
  """
  counts = np.unique(samples["labels"])
  if counts.tolist() == [0]:
    return None
  values = samples["label"]
  are_whole = not (values % 1).any() and (values >= 0).all()
  if counts.tolist() == [1] and are_whole and not source.are_floats:
    return _classes(source, values.astype(np.int64))
  if "pcr" in mix:
    raise ConvertError(
      "mix: format pcr holds one class number a sample, but these have other labels: "
      "leave pcr out of the mix"
    )
  shape = [int(counts[0])] if len(counts) == 1 else [None]
  return {"dtype": "float32", "shape": shape}


def _classes(source: SampleSource, values: np.ndarray) -> dict[str, Any]:
  result = {"dtype": "int64", "shape": []}
  if source.classes is None:
    return result
  counts = np.bincount(values, minlength=len(source.classes)).tolist()
  return result | {"classes": source.classes, "class_counts": counts}


def unequal(samples: np.ndarray, label: dict[str, Any] | None) -> str | None:
  """Message about labels that no batch can hold; None where one can.

  Args:
    samples: shape [samples], SCAN_DTYPE, of those that are stored.
    label: the manifest's entry.
  """
  if label is None or None not in label["shape"]:
    return None
  counts = samples["labels"]
  return (
    f"samples have from {counts.min()} to {counts.max()} labels, which no batch can "
    "hold: dataset gives images alone; give all samples as many, such as -1 for those "
    "that lack some, and convert again; boxes are annotations of a folder of images"
  )


def count(label: dict[str, Any] | None) -> int:
  """Labels of each sample; 0 where there are none, or unequal numbers of them."""
  if label is None:
    return 0
  return (label["shape"] or [1])[0] or 0


def strata(samples: np.ndarray, label: dict[str, Any] | None) -> np.ndarray:
  """Classes that a plan spreads, shape [samples], int64: 0 without classes."""
  if label is None or label["dtype"] != "int64":
    return np.zeros(len(samples), np.int64)
  return samples["label"].astype(np.int64)
