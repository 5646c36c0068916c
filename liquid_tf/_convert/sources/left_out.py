"""Files and rows of a source that are in no sample, and the samples lost with them."""

from typing import NamedTuple


class LeftOut(NamedTuple):
  """A file or a record that is in no sample.

  Attributes:
    path: where, for people.
    reason: why it is left out.
    samples: how many are lost with it. They count against what may be skipped; files
      that were never meant to be samples, as hidden ones, do not.
    advice: what to do instead, if the reason does not say it.
  """

  path: str
  reason: str
  samples: int = 0
  advice: str = ""


def most_telling(left_out: list[LeftOut]) -> str:
  """The first reasons why there is nothing, for an error."""
  return "; ".join(f"{one.path} {one.reason}" for one in left_out[:3])
