"""What is measured of formats and mixes, turn about."""

import statistics
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from liquid_tf._cost import model
from liquid_tf._cost.model import FormatCost, Mix
from liquid_tf._profile import devices, noise, sample
from liquid_tf._profile.probe import Pipeline, Run, Setting
from liquid_tf._profile.search import Rates

_STAGES = ("load", "decode")

# A rate is explained by what is busiest, where it takes at most so many times that.
_EXPLAINED = 1.15


def stages(
  setting: Setting, mixes: Sequence[Mix], names: Sequence[str], trials: int
) -> list[dict[str, list[Run]]]:
  """Runs stages of mixes in turn: all of them once, then all of them again.

  Args:
    setting: what all runs have alike.
    mixes: weights of formats.
    names: of stages; see `Pipeline`.
    trials: runs of each, more where they disagree.

  Returns:
    The runs of each stage, for each mix.
  """
  pipelines = [{name: Pipeline(setting, mix, name) for name in names} for mix in mixes]
  runs: list[dict[str, list[Run]]] = [{name: [] for name in names} for _ in mixes]
  for trial in range(noise.MORE * trials):
    everything = [rates(r) for found in runs for r in found.values()]
    if trial >= trials and max(map(noise.doubt, everything)) <= noise.MOST_DOUBT:
      break
    for pipeline, found in zip(pipelines, runs):
      for name in names:
        found[name].append(pipeline[name].run())
  return runs


def rates(runs: Sequence[Run]) -> list[float]:
  """Images per second of each run."""
  return [run.images_per_s for run in runs]


def rate(runs: Sequence[Run]) -> float:
  """The median of runs, in images per second."""
  return statistics.median(rates(runs))


def costs(
  setting: Setting,
  encoded: sample.Encoded,
  lossless: Mapping[str, bool],
  trials: int,
  say: Callable[[str], None],
) -> tuple[dict[str, FormatCost], dict[str, dict[str, list[Run]]]]:
  """Measures each format by itself, all of them in turn.

  A machine that is slow for some seconds is so in one round, of all formats, and their
  medians keep the proportions that a mix is chosen by.

  Args:
    setting: what all runs have alike.
    encoded: what encoding the sample showed, by the formats' names in the dataset.
    lossless: whether each format keeps pixels.
    trials: runs of each stage of each format.
    say: receives a line of progress.

  Returns:
    The costs and the runs by stage, of each format.

  Raises:
    TooNoisyError: the runs of one of them disagree too much.
  """
  names = list(encoded.stored_bytes)
  found = stages(setting, [{name: 1} for name in names], _STAGES, trials)
  everything, result = dict(zip(names, found)), {}
  for name, runs in everything.items():
    for stage in _STAGES:
      noise.check(f"{stage} of {name}", rates(runs[stage]))
    load, decode = rate(runs["load"]), rate(runs["decode"])
    decode_seconds, taken = 1 / decode, {}
    if setting.decode == "gpu":
      cpu = [1 / run.cpu_seconds for run in runs["decode"]]
      noise.check(f"a processor's part in decoding {name}", cpu)
      # Of the processors, which need not be the limit here.
      decode_seconds = _cpu(runs["decode"]) / setting.threads
      taken = devices.seconds(setting, name, trials)
      if 1 / decode > _EXPLAINED * max(decode_seconds, *taken.values()):
        taken["lanes"] = 1 / decode
    result[name] = FormatCost(
      stored_bytes=float(np.mean(encoded.stored_bytes[name])),
      load_seconds=1 / load,
      load_cpu_seconds=_cpu(runs["load"]) / setting.threads,
      decode_seconds=decode_seconds,
      encode_seconds=encoded.seconds[name],
      lossless=lossless[name],
      devices=taken,
    )
    listed = ", ".join(
      f"{key} {1e3 * seconds:.3f} ms" for key, seconds in taken.items()
    )
    say(
      f"{name}: loads {load:.0f} images/s, decodes {decode:.0f}"
      + (f"; an image takes {listed}" if listed else "")
    )
  return result, everything


def mix_rates(setting: Setting, mix: Mix, trials: int) -> Rates:
  """Loading and decoding separately and together; medians."""
  (runs,) = stages(setting, [mix], (*_STAGES, "both"), trials)
  for stage, found in runs.items():
    noise.check(f"{stage} of {describe(mix)}", rates(found))
  return Rates(rate(runs["load"]), rate(runs["decode"]), rate(runs["both"]))


def describe(mix: Mix) -> str:
  """A mix as `convert` takes it, in tenths or hundredths: "png:6,raw:4"."""
  parts = {name: round(share * 100) for name, share in model.shares(mix).items()}
  if len(parts) == 1:
    return next(iter(parts))
  step = 10 if all(part % 10 == 0 for part in parts.values()) else 1
  return ",".join(f"{name}:{part // step}" for name, part in parts.items())


def _cpu(runs: Sequence[Run]) -> float:
  return statistics.median(run.cpu_seconds for run in runs)
