"""Checks what a user says of the machine to `profile`."""

import dataclasses
import math
from collections.abc import Mapping

from liquid_tf._cost import budget
from liquid_tf._native import whole
from liquid_tf.errors import WrongArgument

__all__ = ["Machine"]


@dataclasses.dataclass(frozen=True)
class Machine:
  """What the data may use of this machine: arguments of `profile`, checked.

  Raises:
    ValueError: a value is wrong.
  """

  threads: int | None = None
  reserve: float = 0.0
  space: int | str | None = None
  resources: Mapping[str, Mapping[str, float]] = dataclasses.field(default_factory=dict)

  def __post_init__(self):
    if self.threads is not None:
      threads = whole.number(self.threads, "threads", 1, ", or None")
      object.__setattr__(self, "threads", threads)
    if not isinstance(self.reserve, (int, float)) or not 0 <= self.reserve <= 0.99:
      raise WrongArgument("reserve", self.reserve, "must be from 0 to 0.99")
    if self.space is not None:
      try:
        space = whole.number(budget.parse_bytes(self.space, "space"), "space", 1)
      except ValueError:
        raise WrongArgument(
          "space", self.space, 'must be bytes, as "500GB", or None'
        ) from None
      object.__setattr__(self, "space", space)
    if not isinstance(self.resources, Mapping):
      raise WrongArgument(
        "resources", self.resources, "must give seconds by name and format"
      )
    for name, seconds in self.resources.items():
      for value in seconds.values() if isinstance(seconds, Mapping) else [None]:
        if not isinstance(value, (int, float)) or not 0 <= value < math.inf:
          raise WrongArgument(
            f'resources["{name}"]', seconds, "must give seconds by format, from 0"
          )
