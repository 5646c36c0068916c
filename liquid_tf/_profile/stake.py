"""The loss that a choice risks, since costs are not known exactly."""

import dataclasses
from collections.abc import Callable, Iterable

import numpy as np

from liquid_tf._cost import model, planner
from liquid_tf._profile.names import describe
from liquid_tf._words import said
from liquid_tf.errors import TooNoisyError

# Measuring goes on until a choice loses at most this, as a share of the best speed.
LITTLE = 0.05

# A choice that may lose as much to one format alone is none to advise: the order of the
# formats is open.
MUCH = 0.20

# A format that is so many times as fast as a training needs no interval, which after
# two rounds reaches far.
_PLENTY = 2

# Of the sets of costs that are possible, the share that a loss covers.
_COVERED = 95


@dataclasses.dataclass(frozen=True)
class Stake:
  """The largest loss, with 95% confidence, as a share of the best speed.

  Attributes:
    best: compared with the mix that is best after all.
    single: compared with the format that is best alone; 0 where the choice is faster.
    format: the format that may be best alone.
  """

  best: float
  single: float
  format: str


def of(
  choice: planner.Choice,
  possible: Iterable[model.Costs],
  machine: Callable[[model.Costs], model.Machine],
) -> Stake:
  """The stake of a choice.

  Args:
    choice: the mix that is to be advised.
    possible: sets of costs, each as likely as another.
    machine: what there is to spend where images cost that.
  """
  best, single, names = [], [], []
  for costs in possible:
    here = machine(costs)
    ours = model.predict(costs, here, choice.mix).throughput
    alone = planner.best_single(costs, here)
    mix = planner.best_mix(costs, here)
    best.append(max(0.0, 1 - ours / mix.prediction.throughput))
    single.append(max(0.0, 1 - ours / alone.prediction.throughput))
    names.append(next(iter(alone.mix)))
  return Stake(
    best=float(np.percentile(best, _COVERED)),
    single=float(np.percentile(single, _COVERED)),
    format=names[int(np.argmax(single))],
  )


def suffices(
  consumer: float,
  found: model.Costs,
  possible: Iterable[model.Costs],
  machine: Callable[[model.Costs], model.Machine],
) -> bool:
  """Says whether some format alone keeps up with a training.

  It does if it is twice as fast by what was found, or as fast with 95% confidence.

  Args:
    consumer: images per second that the training takes.
    found: costs by all rounds.
    possible: sets of costs, each as likely as another.
    machine: what there is to spend where images cost that.
  """

  def rate(costs: model.Costs) -> float:
    return planner.best_single(costs, machine(costs)).prediction.throughput

  if rate(found) >= _PLENTY * consumer:
    return True
  rates = [rate(costs) for costs in possible]
  return bool(np.percentile(rates, 100 - _COVERED) >= consumer)


def check(choice: planner.Choice, found: Stake, rounds: int) -> None:
  """Raises TooNoisyError where some format alone may be much faster than a choice."""
  if found.single > MUCH:
    raise TooNoisyError(
      f"no advice: after {rounds} rounds, {found.format} alone may be "
      f"{1 / (1 - found.single) - 1:.0%} faster than {describe(choice.mix)}, which "
      "seems best: end what else runs on this machine, or measure longer, with "
      f"{said('runs=(TRIALS, SECONDS)')}"
    )
