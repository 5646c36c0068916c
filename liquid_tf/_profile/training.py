"""The argument `step` of `profile`, and the time that a Keras model takes for one."""

import statistics
import time
from typing import Any

import tensorflow as tf

from liquid_tf.errors import WrongArgument

_WARM_UP = 3
_STEPS = 10
_LEAST_SECONDS = 1.0


def rows(step: Any) -> int | None:
  """Counts the images of a batch that is to be timed: the rows of its first array.

  Args:
    step: of `profile`: milliseconds, a model and a batch, or None.

  Returns:
    None if the step's time is given, or nothing.

  Raises:
    ValueError: it is none of these, or the batch begins with no array, or with one of
      no rows.
  """
  if isinstance(step, tuple) and len(step) == 2:
    first = next(iter(tf.nest.flatten(step[1])), None)
    shape = tuple(getattr(first, "shape", ()))
    if not shape or not shape[0]:
      raise ValueError(
        f"step: the batch's first array (of shape {shape}) must have a row an image"
      )
    return int(shape[0])
  number = isinstance(step, (int, float)) and not isinstance(step, bool)
  if step is not None and not (number and 1e-6 <= step <= 1e9):
    raise WrongArgument(
      "step", step, "must be milliseconds from 1e-6 to 1e9, or (model, batch)"
    )
  return None


def step_ms(model: Any, batch: Any) -> float:
  """Trains on one batch again and again, then puts the model back as it was.

  Args:
    model: a compiled `keras.Model`.
    batch: arguments of its `train_on_batch`, such as (images, labels).

  Returns:
    The median of milliseconds, without the steps that trace and warm up.
  """
  # Else the first step would make the optimizer's variables.
  model.optimizer.build(model.trainable_variables)
  # Weights alone would leave out the random states, as of Dropout.
  variables = [(v, v.numpy()) for v in (*model.variables, *model.optimizer.variables)]
  try:
    for _ in range(_WARM_UP):
      model.train_on_batch(*batch)
    times: list[float] = []
    while len(times) < _STEPS or sum(times) < _LEAST_SECONDS:
      begin = time.perf_counter()
      # It returns losses as numbers, and so waits for the step.
      model.train_on_batch(*batch)
      times.append(time.perf_counter() - begin)
  finally:
    for variable, value in variables:
      variable.assign(value)
  return 1000 * statistics.median(times)
