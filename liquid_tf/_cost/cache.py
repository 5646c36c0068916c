"""What lasts in memory between epochs."""

import dataclasses
from typing import Any

FORMS = ("encoded", "pixels")


@dataclasses.dataclass(frozen=True)
class Cache:
  """What lasts in memory between epochs.

  Attributes:
    size: a share of the dataset ("30%"), bytes ("2GiB"), 0, or "auto" for what fits
      into `memory`.
    form: "encoded" keeps the stored bytes. "pixels" keeps whole decoded images, and
      masks where these are among the features: a kept sample is decoded once and then
      copied, so epochs cost less processor time; but the same bytes hold fewer samples.
      `Profile.cache_form` says which is faster. Not with the format pcr, nor where the
      features have no decoded image.

  Raises:
    ValueError: the form is unknown. A wrong size is told by `dataset`.
  """

  size: int | str = "auto"
  form: str = "encoded"

  def __post_init__(self):
    if self.form not in FORMS:
      raise ValueError(f"Cache: form ({self.form!r}) must be one of {', '.join(FORMS)}")


def of(cache: Any) -> Cache:
  """An argument that is a `Cache` or its size."""
  return cache if isinstance(cache, Cache) else Cache(cache)
