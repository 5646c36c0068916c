"""Contestants that are measured turn about, so that a busy minute meets them all."""

import statistics
from collections.abc import Callable, Mapping
from typing import Any

# Gives {epochs [{images, seconds, cpu_seconds}], ..}; the first epoch does not count.
Measurement = Callable[[], dict[str, Any]]


def alternate(
  sides: Mapping[str, Measurement],
  rounds: int,
  prefix: str,
  say: Callable[[str], None],
) -> tuple[dict[str, dict[str, float]], dict[str, dict[str, Any]]]:
  """Runs every side in turn, as often as there are rounds.

  Args:
    sides: what to run, by name.
    rounds: runs of each.
    prefix: of each line of progress.
    say: receives these lines.

  Returns:
    By side the rates in images per second over all counted epochs, `median`, `min` and
    `max`, and `cpu`, the median per second of processor time; and its last answer.

  Raises:
    ChildProcessError: a measurement failed; the message names the side.
  """
  rates: dict[str, list[float]] = {name: [] for name in sides}
  cpu_rates: dict[str, list[float]] = {name: [] for name in sides}
  answers = {}
  for number in range(1, rounds + 1):
    for name, run in sides.items():
      try:
        answers[name] = run()
      except ChildProcessError as error:
        raise ChildProcessError(f"{prefix}{name}: {error}") from error
      epochs = answers[name]["epochs"][1:]
      counted = [epoch["images"] / epoch["seconds"] for epoch in epochs]
      rates[name] += counted
      cpu_rates[name] += [epoch["images"] / epoch["cpu_seconds"] for epoch in epochs]
      median = statistics.median(counted)
      say(f"{prefix}{name}, {number} of {rounds}: {median:.1f} images/s")
  spreads = {
    name: {
      "median": statistics.median(values),
      "min": min(values),
      "max": max(values),
      "cpu": statistics.median(cpu_rates[name]),
    }
    for name, values in rates.items()
  }
  return spreads, answers
