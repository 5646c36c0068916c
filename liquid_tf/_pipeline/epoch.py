"""Epoch of an iterator, and its batches, where they are arguments."""

from typing import Any

import numpy as np
import tensorflow as tf

from liquid_tf.errors import WrongArgument


def check(epoch: Any, steps: Any, cache: int | str) -> int | str:
  """Checks `epoch=` and `steps=`.

  Returns:
    `cache`; 0 for "auto" where the epoch is a tensor or only a part of one is run:
    which epochs follow one another in a process is then unknown.

  Raises:
    ValueError: one is wrong, or does not go with the others; the message names it.
  """
  if epoch is not None and not _is_count(epoch):
    raise WrongArgument(
      "epoch", epoch, "must be at least 0, a scalar tensor of int64, or None"
    )
  if steps is not None:
    whole = isinstance(steps, tuple | list) and len(steps) == 2
    if not whole or not all(_is_count(step) for step in steps):
      raise WrongArgument(
        "steps",
        steps,
        "must be (first, count), each at least 0 or a scalar tensor of int64, or None",
      )
    if epoch is None:
      raise WrongArgument("steps", steps, "are those of an epoch: give epoch, too")
  if steps is None and not tf.is_tensor(epoch):
    return cache
  if cache not in (0, "auto"):
    raise WrongArgument(
      "cache",
      cache,
      'must be 0 or "auto" where epoch is a tensor or steps are given: nothing is '
      "kept from one epoch to the next",
    )
  return 0


def _is_count(value: Any) -> bool:
  if tf.is_tensor(value):
    return value.shape.rank == 0 and value.dtype == tf.int64
  whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
  return whole and value >= 0
