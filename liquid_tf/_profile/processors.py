"""The processors that decoding gets while it also waits for the disk.

Where other processes compute, a thread that sleeps now and then gets a processor sooner
than one that always computes. So decoding gets more of them in a mix that the disk
holds up at times than by itself, and a mix that is right by itself has too many images
of the large format. How many more depends on the system and on the others: mixes run.
"""

import dataclasses
import math
import statistics
from collections.abc import Callable

from liquid_tf._cost import model, planner
from liquid_tf._profile import names, noise, probe, stake

# Times the processors that decoding got by itself.
_FACTORS = (1.0, 1.1, 1.2)

# Times `trials`, the least rounds: who looks sooner takes luck for speed.
_LEAST = 3


def factor(
  setting: probe.Setting,
  costs: model.Costs,
  machine: model.Machine,
  processors: float,
  trials: int,
  end: float,
  say: Callable[[str], None],
) -> float:
  """Runs the mixes that are best with as many processors, and with more, in turn.

  Rounds end when the mix that is ahead may lose little to the others.

  Args:
    setting: what all runs have alike.
    costs: of each format.
    machine: what runs have.
    processors: that decoding got by itself.
    trials: a third of the rounds, at least.
    end: of the monotonic clock, after which no round begins.
    say: receives a line of progress.

  Returns:
    The factor of the mix that was fastest; 1 where no other process uses them, or where
    more of them make no other mix.
  """
  mixes = _mixes(costs, machine, setting.threads / processors)
  if len(mixes) == 1:
    return 1.0
  listed = ", ".join(names.describe(mix) for mix in mixes.values())
  say(
    f"decoding got {processors:.2f} of {setting.threads} processors: running {listed} "
    "in turn"
  )
  turns = probe.Turns(setting, list(mixes.values()), ["both"])
  least = _LEAST * trials
  for number in noise.rounds(least, end):
    turns.round()
    if number < least:
      continue
    rates = [probe.rates(runs["both"]) for runs in turns.runs]
    first = max(rates, key=statistics.geometric_mean)
    others = [other for other in rates if other is not first]
    if max(noise.lost(first, other) for other in others) <= stake.LITTLE:
      break
  found = list(mixes)[rates.index(first)]
  say(f"{names.describe(mixes[found])} is the fastest of them")
  return found


def apply(costs: model.Costs, times: float) -> model.Costs:
  """The costs of formats with so many times the processors."""
  return {
    name: dataclasses.replace(
      cost,
      load_cpu_seconds=cost.load_cpu_seconds / times,
      decode_seconds=cost.decode_seconds / times,
    )
    for name, cost in costs.items()
  }


def _mixes(
  costs: model.Costs, machine: model.Machine, most: float
) -> dict[float, model.Mix]:
  """Different mixes, by the least factor for which each is best."""
  found: dict[float, model.Mix] = {}
  for times in _FACTORS:
    if times > most and not math.isclose(times, 1):
      break
    more = dataclasses.replace(machine, processors=machine.processors * times)
    mix = planner.best_mix(costs, more).mix
    if mix not in found.values():
      found[times] = mix
  return found
