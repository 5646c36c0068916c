"""Types and shapes of arrays, by name."""

from typing import NamedTuple

import numpy as np

# Of types that are not NumPy's own: bytes of a value.
_OTHER_SIZES = {"bfloat16": 2}


class Spec(NamedTuple):
  """The type and shape of an array.

  Attributes:
    dtype: NumPy's name of it; or "bfloat16", or "string" for bytes.
    shape: None for a side that is not known.
  """

  dtype: str
  shape: list[int | None]


def value_bytes(dtype: str) -> int:
  """Bytes of a number of a type."""
  return _OTHER_SIZES.get(dtype) or np.dtype(dtype).itemsize
