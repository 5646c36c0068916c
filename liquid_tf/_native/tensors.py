"""Arguments that may be TensorFlow's, in a process that may be without it.

Where it was not imported, no argument can be of it; so it is never imported here.
"""

import sys
from typing import Any


def _is(value: Any, name: str) -> bool:
  """Whether a value is of a class of TensorFlow, given by its public name."""
  found: Any = sys.modules.get("tensorflow")
  for part in name.split("."):
    found = getattr(found, part, None)
  return isinstance(found, type) and isinstance(value, found)


def is_tensor(value: Any) -> bool:
  """Whether a value is a tensor."""
  return _is(value, "Tensor")


def is_variable(value: Any) -> bool:
  """Whether a value is a variable."""
  return _is(value, "Variable")


def is_input_context(value: Any) -> bool:
  """Whether a value is a `tf.distribute.InputContext`."""
  return _is(value, "distribute.InputContext")
