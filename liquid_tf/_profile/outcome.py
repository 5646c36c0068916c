"""The advice of a profile, and its verdict."""

import dataclasses
import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from liquid_tf._cost import model, planner
from liquid_tf._profile import advice, groups, noise, sample, stake
from liquid_tf._profile.arguments import Options
from liquid_tf._profile.probe import Run, Setting
from liquid_tf._profile.verify import Verified


@dataclasses.dataclass(frozen=True)
class Findings:
  """All that was measured, and the mix that was chosen by it.

  Attributes:
    encoded: what encoding the sample showed.
    costs: of each format.
    runs: that they are from, by format and stage.
    machine: of the training.
    blocks: bytes per second of the disk by the size of a read; None if not counted.
    advised: the best mix that was found.
    single: the best format.
    at_stake: the share of the best mix's speed that the advised one may lack.
    measured: mixes that the search ran; see `choose.choose`.
    verified: runs of the mix and the best format, and of what they are compared with.
    setting: what all runs had alike.
    options: what the profile was told.
    own_format: of the source's files; None where they have several.
    written: bytes.
  """

  encoded: sample.Encoded
  costs: model.Costs
  runs: Mapping[str, Mapping[str, Sequence[Run]]]
  machine: model.Machine
  blocks: Mapping[int, float] | None
  advised: planner.Choice
  single: planner.Choice
  at_stake: float
  measured: Sequence[Mapping[str, Any]]
  verified: Verified
  setting: Setting
  options: Options
  own_format: str | None
  written: int


@dataclasses.dataclass(frozen=True)
class Outcome:
  """The advice that follows from costs and from the runs that verified them.

  Attributes:
    machine: of the training, with what its cache is advised to keep.
    final: the advised mix, or the best format where no mix is faster.
    said: its images per second.
    alone: those of the best format alone.
    wrong: factor by which that format's runs correct the model.
    expected: images per second that the model predicts for the verified mix.
    gain: of the mix over the best format; None where there is no mix.
    memory: encoded bytes in the cache beside pixels; see `advice.memory`.
    training: whether any of it matters; None where its speed is not known.
    verdict: all this in words.
  """

  machine: model.Machine
  final: planner.Choice
  said: advice.Rate
  alone: advice.Rate
  wrong: float
  expected: float
  gain: advice.Gain | None
  memory: dict[str, Any] | None
  training: advice.Training | None
  verdict: str


def find(found: Findings) -> Outcome:
  """Decides between the mix and the best format, and says why."""
  costs, machine, verified = found.costs, found.machine, found.verified
  advised, single, consumer = found.advised, found.single, found.options.consumer
  gain = advice.gain(costs, machine, advised, single, verified.gain)
  ran = verified.mix or verified.single
  of_mix = _rate(advised, costs, machine, ran)
  alone = _rate(single, costs, machine, verified.single)
  final, said, runs = advised, of_mix, ran
  if gain is not None and gain.interval.mean < 1:
    # What comes out slower than one format is not advised.
    final, said, runs = single, alone, verified.single
  first = advice.verdict(of_mix, alone, gain, len(costs))
  expected = model.predict(costs, machine.of_last_runs, advised.mix).throughput
  wrong_alone = advice.error(single, costs, machine, verified.single)
  stock = statistics.median(verified.stock) if verified.stock else None
  training, memory = None, None
  if consumer is None or alone.value < consumer:
    wrong = advice.error(advised, costs, machine, ran)
    memory = advice.memory(costs, machine, wrong)
    if memory is not None and memory["better"] == "pixels":
      # What is converted has to go with what is kept; memory held encoded bytes.
      machine = dataclasses.replace(machine, cache_form="pixels")
      final, runs = planner.worthwhile(costs, machine), []
      said = advice.Rate(advice.corrected(final, wrong), of_mix.spread, False)
      first = advice.keep_pixels(memory)
  else:
    final, said, runs = single, alone, verified.single
  rate = statistics.median(runs) if runs else None
  own = None
  if {found.own_format} == set(single.mix):
    own = statistics.median(verified.single)
  context = advice.context(costs, machine, final, rate, stock, found.own_format, own)
  words: list[str | None] = []
  if consumer is not None:
    training = advice.training(consumer, said, alone, stock)
    words.append(training.sentence)
  if training is None or training.mix_matters:
    words += [first, advice.surprise(advised.mix, expected, statistics.median(ran))]
    if found.at_stake > stake.LITTLE:
      rounds = len(next(iter(found.runs.values()))["load"])
      words.append(advice.another_mix(found.at_stake, rounds))
  if training is None or training.matters:
    words += [context, groups.described(costs, final.mix)]
  if training is None or training.mix_matters:
    words.append(groups.not_advised(costs, machine, final))
  return Outcome(
    machine=machine,
    final=final,
    said=said,
    alone=alone,
    wrong=wrong_alone,
    expected=expected,
    gain=gain,
    memory=memory,
    training=training,
    verdict=" ".join(filter(None, words)),
  )


def _rate(
  choice: planner.Choice, costs: model.Costs, machine: model.Machine, runs: list[float]
) -> advice.Rate:
  """The rate of a choice, by its runs."""
  wrong = advice.error(choice, costs, machine, runs)
  found = advice.corrected(choice, wrong)
  # A GPU may be the limit of both.
  same = math.isclose(found.prediction.throughput, statistics.median(runs))
  measured = same and advice.is_as_run(machine)
  return advice.Rate(found, noise.relative(runs), measured)
