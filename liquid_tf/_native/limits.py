"""Limits of an image."""

import dataclasses
from typing import Any

from liquid_tf._native import whole
from liquid_tf.errors import WrongArgument


@dataclasses.dataclass(frozen=True)
class Limits:
  """The most that one image may cost; checked before memory or time is spent on it.

  A file of some dozen bytes may state any size, and be as large as it states.

  Attributes:
    pixels: height * width of the whole image, at most. Of three channels of 8 bits, the
      default takes 768 MiB.
    scans: of a JPEG, at most. Each costs a pass over the whole image; encoders make
      about ten.
  """

  pixels: int = 1 << 28
  scans: int = 100

  def __post_init__(self):
    for name in ("pixels", "scans"):
      value = whole.number(getattr(self, name), f"limits: {name}", 1)
      # What an attribute of an op holds.
      object.__setattr__(self, name, min(value, 2**63 - 1))

  def attributes(self) -> dict[str, int]:
    """As ops of every format take them."""
    return {"max_pixels": self.pixels, "max_scans": self.scans}


def check(limits: Any) -> Limits:
  """Raises ValueError unless an argument is of the class."""
  if not isinstance(limits, Limits):
    raise WrongArgument(
      "limits",
      limits,
      "must be a liquid_tf.codecs.Limits, as codecs.Limits(pixels=1 << 26)",
    )
  return limits
