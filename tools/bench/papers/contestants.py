"""Trainings of one network that take turns, so that a busy minute meets them all."""

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np


class Contestants:
  """Several trainings in one compiled model, whose functions are traced only once.

  All begin with the weights that the model has when this is made.

  Args:
    model: a compiled Keras model that has not been trained.
    names: of the trainings.
  """

  def __init__(self, model: Any, names: Iterable[str | int]):
    self._model = model
    model.optimizer.build(model.trainable_variables)
    first = self._state()
    self._states = {name: first for name in names}

  @contextlib.contextmanager
  def turn(self, name: str | int) -> Iterator[None]:
    """The model is that of one training, and what it learns is that one's."""
    weights, slots = self._states[name]
    self._model.set_weights(weights)
    for variable, value in zip(self._model.optimizer.variables, slots):
      variable.assign(value)
    yield
    self._states[name] = self._state()

  def _state(self) -> tuple[list[np.ndarray], list[np.ndarray]]:
    slots = [np.array(value) for value in self._model.optimizer.variables]
    return self._model.get_weights(), slots
