"""The paper's search: a binary search over eleven mixes of two formats."""

from collections.abc import Callable
from typing import NamedTuple

STEPS = 10  # Mixes are tenths.


class Rates(NamedTuple):
  """The images per second of loading alone, decoding alone, and both at once."""

  load: float
  decode: float
  throughput: float


def search(measure: Callable[[int], Rates]) -> tuple[int, dict[int, Rates]]:
  """Finds the mix that balances loading and decoding (Liquid, APSys '23, section 4.1).

  Mixes are numbered by their tenths of the encoded format: 0 is raw only, which loads
  slowest, and 10 encoded only, which decodes slowest. It starts in the middle; where
  loading is slower than decoding it goes on among those with more encoded images, else
  among those with fewer. The paper's search ends with one mix. Which mix is faster
  depends on more than the side of the balance that it is on, and one wrong rate would
  end it far from the best, so from there it goes on to neighbours for as long as these,
  run whole, are faster.

  Args:
    measure: runs a mix.

  Returns:
    The tenths of the encoded format, and what each measured mix gave.
  """
  measured: dict[int, Rates] = {}

  def run(tenths: int) -> Rates:
    if tenths not in measured:
      measured[tenths] = measure(tenths)
    return measured[tenths]

  low, high = 0, STEPS
  while low < high - 1:
    middle = (low + high) // 2
    rates = run(middle)
    if rates.load < rates.decode:
      low = middle
    else:
      high = middle
  best, at = None, low
  while best != at:
    best = at
    near = [n for n in (best, best - 1, best + 1) if 0 <= n <= STEPS]
    at = max(near, key=lambda tenths: run(tenths).throughput)
  return best, measured
