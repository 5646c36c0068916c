"""Numbers and plots, as several figures show them."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from liquid_tf._profile import noise


def interval(values: Sequence[float]) -> tuple[float, float]:
  """The mean, and half of its 95 % interval, which is infinite of one value."""
  found = noise.interval(values)
  return found.mean, (found.high - found.low) / 2


def difference(ours: Sequence[float], others: Sequence[float]) -> tuple[float, float]:
  """The `interval` of some values less those of the same seeds."""
  return interval([a - b for a, b in zip(ours, others, strict=True)])


def plus_minus(half: float, form: str = ".1f") -> str:
  """Half of an interval, where it has an end."""
  return "" if math.isinf(half) else f" ± {half:{form}}"


def style(
  axes: Any, grid: str = "both", legend: int | None = None, **labels: Any
) -> None:
  """Gives a plot its labels, its grid, and a legend of some size of letters, or none.

  Args:
    axes: of matplotlib.
    grid: "x", "y" or "both".
    legend: in points.
    **labels: `xlabel`, `title` and the like, as `axes.set` takes them.
  """
  axes.set(**labels)
  axes.grid(True, axis=grid, alpha=0.3)
  if legend:
    axes.legend(frameon=False, fontsize=legend)


def bars(
  axes: Any, groups: Sequence[str], series: Mapping[str, Sequence[float]]
) -> None:
  """Draws bars side by side in groups.

  Args:
    axes: of matplotlib.
    groups: their names.
    series: by label, a height for each group; what begins with "paper" is gray.
  """
  width = 0.8 / len(series)
  for i, (label, heights) in enumerate(series.items()):
    places = [group + (i + 0.5) * width - 0.4 for group in range(len(groups))]
    color = "tab:gray" if label.startswith("paper") else None
    axes.bar(places, heights, width, color=color, label=label)
  axes.set_xticks(range(len(groups)), groups)
