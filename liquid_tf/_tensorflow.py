"""TensorFlow, for modules that users import before any other of the package."""

from liquid_tf import _extras

with _extras.explained():
  import tensorflow as tf

__all__ = ["tf"]
