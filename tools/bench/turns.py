"""How it is measured: turn about, so that a busy minute meets all, and apart."""

import os
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from liquid_tf._measure import fresh, throttle

# Gives {epochs [{images, seconds, cpu_seconds}], ..}; the first epoch does not count.
Measurement = Callable[[], dict[str, Any]]

_Name = TypeVar("_Name")
_Answer = TypeVar("_Answer")


def apart(
  function: Callable[..., Any],
  environment: Mapping[str, str] | None = None,
  **arguments: Any,
) -> Any:
  """Calls a function of a module in a fresh process.

  Args:
    function: to call.
    environment: variables that the process has beside this one's.
    **arguments: of the function; paths arrive as strings.

  Returns:
    Its answer, which JSON can hold.

  Raises:
    ValueError: an argument is wrong; the message names it.
    ChildProcessError: it failed.
  """
  request = {
    name: os.fspath(value) if isinstance(value, os.PathLike) else value
    for name, value in arguments.items()
  }
  request["function"] = f"{function.__module__}:{function.__name__}"
  return fresh.run(request, environment)


def in_turn(
  sides: Mapping[_Name, Callable[[], _Answer]],
  rounds: int,
  told: Callable[[_Name, list[_Answer]], None] = lambda name, answers: None,
) -> dict[_Name, list[_Answer]]:
  """Runs every side in turn, as often as there are rounds: A, B, .., A, B, ..

  Args:
    sides: what to run, by name.
    rounds: runs of each.
    told: is told after each run whose it was, and all answers of that side.

  Returns:
    The answers of each side.

  Raises:
    ChildProcessError: a measurement failed; the message names the side.
  """
  found: dict[_Name, list[_Answer]] = {name: [] for name in sides}
  for _ in range(rounds):
    for name, run in sides.items():
      try:
        found[name].append(run())
      except ChildProcessError as error:
        raise ChildProcessError(f"{name}: {error}") from error
      told(name, found[name])
  return found


def alternate(
  sides: Mapping[str, Measurement],
  rounds: int,
  prefix: str,
  say: Callable[[str], None],
) -> tuple[dict[str, dict[str, float]], dict[str, dict[str, Any]]]:
  """Runs sides of several epochs in turn.

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

  def rates(answers: list[dict[str, Any]], per: str = "seconds") -> list[float]:
    return [e["images"] / e[per] for answer in answers for e in answer["epochs"][1:]]

  def told(name: str, answers: list[dict[str, Any]]) -> None:
    median = statistics.median(rates(answers[-1:]))
    say(f"{prefix}{name}, {len(answers)} of {rounds}: {median:.1f} images/s")

  try:
    found = in_turn(sides, rounds, told)
  except ChildProcessError as error:
    raise ChildProcessError(f"{prefix}{error}") from error
  spreads = {
    name: {
      "median": statistics.median(rates(answers)),
      "min": min(rates(answers)),
      "max": max(rates(answers)),
      "cpu": statistics.median(rates(answers, "cpu_seconds")),
    }
    for name, answers in found.items()
  }
  return spreads, {name: answers[-1] for name, answers in found.items()}


def disks(
  rates: Sequence[int], say: Callable[[str], None]
) -> tuple[list[int], str | None]:
  """The rates that a disk can be held to here, and why others cannot, or None."""
  skipped = throttle.why_not() if any(rates) else None
  if skipped:
    say(f"throttled disks are left out: {skipped}")
  return [rate for rate in rates if not (rate and skipped)], skipped


def disk_name(rate: int, whole: str = "whole") -> str:
  """Names a disk by its bytes per second; 0 is `whole`, all that it gives."""
  return f"{rate / 1e6:g} MB/s" if rate else whole


def left_out(results: Sequence[Mapping[str, Any]]) -> str:
  """Says why disks were left out of some runs, as paragraphs of a page."""
  reasons = sorted({result["skipped"] for result in results if result["skipped"]})
  return "\n\n".join(f"Throttled disks were left out: {reason}." for reason in reasons)
