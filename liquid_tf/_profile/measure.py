"""What is measured of formats and mixes, turn about."""

import statistics
from collections.abc import Sequence

from liquid_tf._cost import model
from liquid_tf._cost.model import Mix
from liquid_tf._measure.epochs import STAGES
from liquid_tf._profile import noise
from liquid_tf._profile.probe import Pipeline, Run, Setting
from liquid_tf._profile.search import Rates


class Turns:
  """Stages of mixes that take turns: all of them once, then all of them again.

  A machine that is slow for some seconds is so in one round, of all mixes.

  Args:
    setting: what all runs have alike.
    mixes: weights of formats.
    names: of stages; see `Pipeline`.

  Attributes:
    runs: of each stage, for each mix.
  """

  def __init__(self, setting: Setting, mixes: Sequence[Mix], names: Sequence[str]):
    self._pipelines = [
      {name: Pipeline(setting, mix, name) for name in names} for mix in mixes
    ]
    self.runs: list[dict[str, list[Run]]] = [{n: [] for n in names} for _ in mixes]

  def round(self) -> None:
    """Runs each stage of each mix once."""
    for pipelines, runs in zip(self._pipelines, self.runs):
      for name, pipeline in pipelines.items():
        runs[name].append(pipeline.run())


def rates(runs: Sequence[Run]) -> list[float]:
  """Images per second of each run."""
  return [run.images_per_s for run in runs]


def rate(runs: Sequence[Run]) -> float:
  """The median of runs, in images per second."""
  return statistics.median(rates(runs))


def mix_rates(setting: Setting, mix: Mix, trials: int) -> Rates:
  """Loading and decoding separately and together; medians.

  Args:
    setting: what all runs have alike.
    mix: weights of formats.
    trials: runs of each, more where they disagree.
  """
  turns = Turns(setting, [mix], STAGES)
  (runs,) = turns.runs
  for trial in range(noise.MORE * trials):
    worst = max((noise.doubt(rates(found)) for found in runs.values()), default=1)
    if trial >= trials and worst <= noise.MOST_DOUBT:
      break
    turns.round()
  return Rates(rate(runs["load"]), rate(runs["decode"]), rate(runs["both"]))


def describe(mix: Mix) -> str:
  """A mix in the names of a profile, in tenths or hundredths: "png:6,raw:4"."""
  parts = {name: round(share * 100) for name, share in model.shares(mix).items()}
  if len(parts) == 1:
    return next(iter(parts))
  step = 10 if all(part % 10 == 0 for part in parts.values()) else 1
  return ",".join(f"{name}:{part // step}" for name, part in parts.items())
