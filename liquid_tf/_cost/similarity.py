"""How much of a progressive image is enough."""

import numbers
from collections.abc import Mapping

from liquid_tf.errors import WrongArgument


def check_bound(bound: float, argument: str) -> float:
  """A least MSSIM as it was given; `argument` is its name, for errors.

  Raises:
    ValueError: it is none.
  """
  number = isinstance(bound, numbers.Real) and not isinstance(bound, bool)
  if not number or not 0 < bound <= 1:
    raise WrongArgument(argument, bound, "must be above 0 and at most 1")
  return bound


def lowest_group(mssim: Mapping[int, float], bound: float) -> int:
  """The lowest scan group whose images look enough like whole ones (PCR, section 4.3).

  Args:
    mssim: of each group, in rising order.
    bound: the least that is enough; where no group has it, the last one is taken.
  """
  return next((group for group, m in mssim.items() if m >= bound), list(mssim)[-1])
