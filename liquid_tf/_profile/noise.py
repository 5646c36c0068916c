"""Intervals of repeated measurements, and checks that they are narrow enough."""

import dataclasses
import math
import statistics
import time
from collections.abc import Iterator, Sequence

import numpy as np

from liquid_tf._words import said
from liquid_tf.errors import TooNoisyError

# Student's t for 95% (two-sided), by degrees of freedom; beyond them the normal's.
_T95 = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23)
_T95 += (2.20, 2.18, 2.16, 2.14, 2.13, 2.12, 2.11, 2.10, 2.09, 2.09)
_NORMAL95 = 1.96

# Where runs disagree there are more of them, at most so many times as were asked for.
MORE = 3

# A median that is known no better than to this share of it is nothing to advise by.
MOST_DOUBT = 0.2

# A median's interval reaches so many times the distance of the quartiles, over the
# square root of the number of runs, to both sides. It is 1.96 standard errors, each
# 1.253 standard deviations over that root, and of those the distance is 1.349: 95% of
# many normal values, 74% of 3.
_REACH = 1.96 * 1.253 / 1.349


@dataclasses.dataclass(frozen=True)
class Interval:
  """A mean and where it lies with 95% confidence."""

  mean: float
  low: float
  high: float

  @property
  def relative(self) -> float:
    """Half of the width, as a share of the mean."""
    return (self.high - self.low) / 2 / self.mean if self.mean else math.inf


def interval(values: Sequence[float]) -> Interval:
  """The mean of independent values, with Student's interval; one value has no end."""
  mean = statistics.fmean(values)
  if len(values) < 2:
    return Interval(mean, -math.inf, math.inf)
  half = _t95(len(values)) * statistics.stdev(values) / math.sqrt(len(values))
  return Interval(mean, mean - half, mean + half)


def ratio(over: Sequence[float], under: Sequence[float]) -> Interval:
  """The ratio of two things, from values measured in turn.

  Args:
    over: one value a round, positive.
    under: one value a round, positive.
  """
  logs = interval([math.log(a / b) for a, b in zip(over, under, strict=True)])
  return Interval(*(_exp(value) for value in (logs.mean, logs.low, logs.high)))


def lost(mix: Sequence[float], single: Sequence[float]) -> float:
  """The most that the faster one may lose to the other, as a share of its speed.

  Args:
    mix: images per second of each round.
    single: of the same rounds.
  """
  found = ratio(mix, single)
  worst = 1 / found.low if found.mean >= 1 else found.high
  return max(0.0, 1 - 1 / worst)


def relative(values: Sequence[float]) -> Interval:
  """The interval of the rate of rounds, as shares of it: a mean of 1, and two ends.

  Args:
    values: one value a round, positive.
  """
  return ratio(values, [statistics.geometric_mean(values)] * len(values))


def rounds(least: int, end: float) -> Iterator[int]:
  """Yields the numbers of rounds, from 1: `least`, and more until the time is over.

  Args:
    least: rounds that there are in any case.
    end: of the monotonic clock, by which another one as long as the longest ends.
  """
  number, longest = 0, 0.0
  while number < least or time.monotonic() + longest <= end:
    begin = time.monotonic()
    number += 1
    yield number
    longest = max(longest, time.monotonic() - begin)


def in_turn(values: np.ndarray) -> np.ndarray:
  """The cost of each of several things, from rounds in which all had their turn.

  Their proportions are medians of proportions within a round, so that a slow round
  slows all of them alike. Their common level is a median over everything.

  Args:
    values: shape [rounds, things], positive.

  Returns:
    Shape [things].
  """
  logs = np.log(values)
  parts = np.median(logs - logs.mean(axis=1, keepdims=True), axis=0)
  return np.exp(parts + np.median(logs - parts))


def resamples(rounds: int, count: int, seed: int) -> np.ndarray:
  """Numbers of rounds, drawn with replacement: the bootstrap.

  Args:
    rounds: that there are.
    count: of resamples.
    seed: of the draws.

  Returns:
    Shape [count, rounds].
  """
  return np.random.default_rng(seed).integers(0, rounds, (count, rounds))


def expand(rounds: int) -> float:
  """The factor for deviations of resampled medians.

  Resamples of few rounds differ too little. Student's quantile over the normal one, and
  sqrt(n / (n - 1)), widen them: the expanded percentile interval of Hesterberg, "What
  Teachers Should Know About the Bootstrap", The American Statistician 69(4), 2015.
  """
  if rounds < 2:
    return math.inf
  return _t95(rounds) / _NORMAL95 * math.sqrt(rounds / (rounds - 1))


def doubt(values: Sequence[float]) -> float:
  """Half of the median's interval, as a share of the median.

  Of many values that is a 95% interval, of few one that holds less often.
  """
  if len(values) < 2:
    return math.inf
  quartiles = statistics.quantiles(values, n=4, method="inclusive")
  half = _REACH * (quartiles[2] - quartiles[0]) / math.sqrt(len(values))
  return half / statistics.median(values)


def check(name: str, values: Sequence[float]) -> None:
  """Raises TooNoisyError where runs of one thing disagree too much."""
  found = doubt(values)
  if found > MOST_DOUBT:
    listed = ", ".join(f"{value:.1f}" for value in values)
    raise TooNoisyError(
      f"no advice: runs of {name} gave {listed} images/s, whose median is known to "
      f"{found:.0%} only, not to {MOST_DOUBT:.0%}: end what else runs on this "
      "machine, or measure longer, with "
      f"{said('runs=(TRIALS, SECONDS)')}"
    )


def _t95(count: int) -> float:
  return _T95[count - 2] if count - 2 < len(_T95) else _NORMAL95


def _exp(value: float) -> float:
  try:
    return math.exp(value)
  except OverflowError:
    return math.inf
