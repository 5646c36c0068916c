"""Evaluates what `View.where` is given, a text or a function."""

import json
from collections.abc import Callable, Sequence

import numpy as np

from liquid_tf._view.condition import evaluate, short
from liquid_tf._view.selected import Selected
from liquid_tf._view.table import Table
from liquid_tf._words import Shown, argument
from liquid_tf.errors import WrongArgument

# Classes that a message lists.
_LISTED = 5


def mask(
  condition: str | Callable[[Table], np.ndarray], samples: Selected
) -> np.ndarray:
  """Finds the samples that a condition means: one or more of them.

  Args:
    condition: as `View.where` takes it.
    samples: among which it chooses.

  Returns:
    Shape [samples], bool.

  Raises:
    TypeError: it is neither a text nor a function.
    ValueError: it is no condition, or means no sample.
  """
  table, classes = Table(samples), samples.manifest.classes
  given, advice = "where", ""
  if isinstance(condition, str):
    given = argument("where", Shown(short(condition)))
    found = evaluate(condition, table, classes)
  elif callable(condition):
    found = _call(condition, table, classes)
    if classes and table.has_given("label"):
      # A number never equals a name.
      advice = f"{_about_labels(classes)}, as {_as_text(classes)}"
  else:
    raise TypeError(
      f"where: condition ({type(condition).__name__}) must be a text, as "
      f"{_as_text(classes)}, or a function of a table; a mask chooses by "
      "take(view.numbers[mask])"
    )
  if not found.any():
    path = samples.manifest.directory
    raise ValueError(f"{given} must choose a sample of {path}; it chooses none{advice}")
  return found


def _call(
  function: Callable[[Table], np.ndarray],
  table: Table,
  classes: Sequence[str] | None,
) -> np.ndarray:
  """The mask that a function gives.

  Raises:
    ValueError: it gives something else.
  """
  try:
    found = np.asarray(function(table))
  except ValueError as error:
    if "truth value" not in str(error):
      raise
    raise ValueError(
      "where: function joins columns by and, or, not, in or a < b < c, which Python "
      "has for single values alone: write &, | and ~, and parentheses around each "
      f"comparison, or give a text, as {_as_text(classes)}{_about_labels(classes)}"
    ) from error
  samples = len(table["number"])
  if found.dtype != bool or found.shape != (samples,):
    raise WrongArgument(
      "where: function",
      Shown(f"gave {found.dtype} of shape {list(found.shape)}"),
      f"must give bool of shape [{samples}], one for each sample",
    )
  return found


def _as_text(classes: Sequence[str] | None) -> str:
  """A condition as text, with a class where these have names."""
  second = "width >= 256"
  if classes:
    second = f"label == {json.dumps(classes[0], ensure_ascii=False)}"
  return f"where({f'height >= 256 and {second}'!r})"


def _about_labels(classes: Sequence[str] | None) -> str:
  """Advice about labels in a function, where classes have names."""
  if not classes:
    return ""
  listed = ", ".join(f"{i} {name!r}" for i, name in enumerate(classes[:_LISTED]))
  more = ", ..." if len(classes) > _LISTED else ""
  return f"; labels are numbers in a function ({listed}{more}), and names in a text"
