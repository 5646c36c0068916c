"""Checks of what normalises images on a GPU."""

import math
from typing import Any

import numpy as np
import tensorflow as tf

LAYOUTS = ("NHWC", "NCHW")


def check_values(value: Any, name: str, positive: bool) -> tuple[float, ...] | None:
  """One number, or some, as a tuple; None for None.

  Raises:
    ValueError: a value is none, infinite, or with `positive` not above 0.
  """
  if value is None:
    return None
  try:
    values = tuple(float(x) for x in np.ravel(value))
  except (TypeError, ValueError):
    values = ()
  if not values or not all(
    math.isfinite(x) and (x > 0 or not positive) for x in values
  ):
    raise ValueError(
      f"{name} ({value!r}) must be a number{' above 0' if positive else ''}, or one "
      "for each channel"
    )
  return values


def check_layout(layout: str) -> None:
  """Raises ValueError for an unknown layout."""
  if layout not in LAYOUTS:
    raise ValueError(f"layout ({layout!r}) must be one of {', '.join(LAYOUTS)}")


def result_dtype(
  dtype: Any, name: str, stored: list[tf.DType], normalised: bool
) -> tf.DType:
  """The type of decoded images.

  Args:
    dtype: the argument, or None for the stored type, or float32 of what is normalised.
    name: of the argument.
    stored: types that may be stored; the first is the default.
    normalised: whether a mean or deviation is given.

  Raises:
    ValueError: it is none that the kernels write.
  """
  if dtype is None:
    return tf.float32 if normalised else stored[0]
  allowed = [tf.float32, tf.bfloat16] + ([] if normalised else stored)
  try:
    chosen = tf.as_dtype(dtype)
  except TypeError:
    chosen = None
  if chosen not in allowed:
    names = ", ".join(one.name for one in allowed)
    raise ValueError(f"{name} ({dtype!r}) must be one of {names}")
  return chosen
