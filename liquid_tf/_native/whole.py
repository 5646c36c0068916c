"""Whole numbers as arguments."""

import operator
from typing import Any

from liquid_tf.errors import WrongArgument


def number(value: Any, name: str, least: int, more: str = "") -> int:
  """An argument that is a whole number, Python's or NumPy's.

  Args:
    value: the argument.
    name: of the argument.
    least: that it may be.
    more: after the sentence, as ", or None".

  Raises:
    ValueError: it is none, a bool, or less.
  """
  try:
    found = least - 1 if isinstance(value, bool) else operator.index(value)
  except TypeError:
    found = least - 1
  if found < least:
    raise WrongArgument(name, value, f"must be a number of at least {least}{more}")
  return found
