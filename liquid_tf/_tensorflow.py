"""TensorFlow, for modules that users import before any other of the package."""

from collections.abc import Callable
from typing import TypeVar

from liquid_tf import _extras

with _extras.explained():
  import tensorflow as tf

__all__ = ["do_not_convert", "tf"]

_Function = TypeVar("_Function", bound=Callable[..., object])


def do_not_convert(function: _Function) -> _Function:
  """Keeps autograph from a function; type checkers keep its signature."""
  return tf.autograph.experimental.do_not_convert(function)
