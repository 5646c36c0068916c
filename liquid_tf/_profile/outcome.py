"""What a profile advises in the end, and what it says of that."""

import dataclasses
import statistics
from typing import Any

from liquid_tf._cost import model, planner
from liquid_tf._profile import advice, groups, noise, stake
from liquid_tf._profile.choose import Verified
from liquid_tf._profile.measure import describe


@dataclasses.dataclass(frozen=True)
class Outcome:
  """What follows from costs and from the runs that verified them.

  Attributes:
    machine: of the training, with what its cache is advised to keep.
    final: what is advised: the mix, or the best format where no mix is faster.
    said: the same with what the model had wrong of its own runs.
    alone: likewise the best format alone.
    spread: of the runs of what is advised, relative to their mean.
    expected: images per second that the model says of the verified mix's runs.
    gain: of the mix over the best format; None where there is no mix.
    memory: encoded bytes in the cache beside pixels; see `advice.memory`.
    stock: images per second of stock tf.data; None where it was not run.
    verdict: all this in words.
  """

  machine: model.Machine
  final: planner.Choice
  said: planner.Choice
  alone: planner.Choice
  spread: noise.Interval
  expected: float
  gain: advice.Gain | None
  memory: dict[str, Any] | None
  stock: float | None
  verdict: str


def find(
  *,
  costs: model.Costs,
  machine: model.Machine,
  advised: planner.Choice,
  single: planner.Choice,
  verified: Verified,
  at_stake: float,
  own_format: str | None,
  trials: int,
) -> Outcome:
  """Decides between the mix and the best format, and says why.

  Args:
    costs: of each format.
    machine: of the training.
    advised: the best mix that was found.
    single: the best format.
    verified: runs of both, and of what they are compared with.
    at_stake: the share of the best mix's speed that the advised one may lack.
    own_format: of the source's files; None where they have several.
    trials: runs of each format that the costs are from.
  """
  gain = advice.gain(costs, machine, advised, single, verified.gain)
  ran = verified.mix or verified.single
  # What is said of other mixes is the model's alone.
  said = advice.corrected(advised, costs, machine, ran)
  alone = advice.corrected(single, costs, machine, verified.single)
  spread, spread_alone = noise.relative(ran), noise.relative(verified.single)
  verdict = [advice.verdict(said, alone, gain, said=spread, alone=spread_alone)]
  expected = model.predict(costs, machine.of_last_runs, advised.mix).throughput
  verdict.append(advice.surprise(expected, statistics.median(ran)))
  if at_stake > stake.LITTLE:
    verdict.append(advice.another_mix(at_stake, trials))
  final = advised
  if gain is not None and gain.interval.mean < 1:
    # What comes out slower than one format is not advised.
    final, said, spread = single, alone, spread_alone
  memory = advice.memory(costs, machine)
  if memory is not None and memory["better"] == "pixels":
    # What is converted has to go with what is kept.
    machine = dataclasses.replace(machine, cache_form="pixels")
    final = said = planner.worthwhile(costs, machine)
    verdict.append(advice.keep_pixels(memory))
  stock = statistics.median(verified.stock) if verified.stock else None
  run_of = {
    describe(choice.mix): statistics.median(rates)
    for choice, rates in ((single, verified.single), (advised, ran))
  }
  if machine.cache_form == "pixels":
    run_of = {}  # Memory held encoded bytes.
  own = run_of.get(own_format)
  of_final = run_of.get(describe(final.mix))
  verdict.append(
    advice.context(costs, machine, final, of_final, stock, own_format, own)
  )
  verdict.append(groups.described(costs, final.mix))
  verdict.append(groups.not_advised(costs, machine, final))
  return Outcome(
    machine=machine,
    final=final,
    said=said,
    alone=alone,
    spread=spread,
    expected=expected,
    gain=gain,
    memory=memory,
    stock=stock,
    verdict=" ".join(filter(None, verdict)),
  )
