"""How long a Keras model takes for a training step by itself."""

import statistics
import time
from typing import Any

import tensorflow as tf

_WARM_UP = 3
_STEPS = 10
_LEAST_SECONDS = 1.0


def rows(batch: Any) -> int:
  """How many images a batch has: the first dimension of its first array.

  Args:
    batch: as for `step_ms`.

  Raises:
    ValueError: it begins with no array, or with one of no rows.
  """
  first = next(iter(tf.nest.flatten(batch)), None)
  shape = tuple(getattr(first, "shape", ()))
  if not shape or not shape[0]:
    raise ValueError(
      f"step: the batch's first array (of shape {shape}) must have a row an image"
    )
  return int(shape[0])


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
