"""Runs the advised mix beside the best format and stock tf.data, with its cache."""

import dataclasses
import tempfile
from collections.abc import Callable

from liquid_tf._cost import model, planner
from liquid_tf._measure import repeated
from liquid_tf._profile import noise, stake, stock
from liquid_tf._profile.probe import Pipeline, Setting
from liquid_tf._store.manifest import Manifest

# What the first epoch takes, which fills the memory.
_FIRST_SECONDS = 4.0

# Of a pipeline's memory, what is kept takes this part at most.
_PART = 0.5


@dataclasses.dataclass(frozen=True)
class Verified:
  """Whole pipelines with the cache of the training, run in turn.

  Attributes:
    mix: images per second of the advised mix, a value a round; empty where it is a
      single format.
    single: of the best single format.
    stock: of stock tf.data; empty where it was not measured.
    stock_format: of its files, or None.
    stock_skipped: why it was not measured, or None.
    stock_bytes: that were written for it.
  """

  mix: list[float]
  single: list[float]
  stock: list[float]
  stock_format: str | None
  stock_skipped: str | None
  stock_bytes: int

  @property
  def gain(self) -> noise.Interval | None:
    """The speed of the mix, in times that of the single format."""
    return noise.ratio(self.mix, self.single) if self.mix else None


def verify(
  setting: Setting,
  manifest: Manifest,
  files: str,
  advised: planner.Choice,
  single: planner.Choice,
  *,
  held: frozenset[str],
  trials: int,
  end: float,
  say: Callable[[str], None],
) -> Verified:
  """Runs the advised mix, the best single format and stock tf.data, turn about.

  Memory has the share of the images that is predicted, since what limits a mix without
  it need not be what limits it with it.

  Rounds end when little is at stake, and not when the mix is found to be faster: that
  would make the interval of the gain too narrow.

  Args:
    setting: what all runs have alike; see `kept_sample`.
    manifest: of the replicated sample.
    files: an empty directory for the files of stock tf.data.
    advised: the mix that is to be advised.
    single: the best single format.
    held: formats that memory has all images of.
    trials: rounds, at least 2; more while much is at stake between both.
    end: of the monotonic clock, after which no more rounds than `trials` begin.
    say: receives a line of progress.
  """
  skipped = stock.why_not(manifest)
  beside = "" if skipped else ", and stock tf.data"
  say(f"running the advised mix, and the best single format{beside}, in turn")
  pipelines = {"single": _pipeline(setting, single)}
  if advised.mix != single.mix:
    pipelines["mix"] = _pipeline(setting, advised)
  name = None if skipped else stock.format_of(manifest["formats"])
  peer = None
  if name is not None:
    peer = stock.Stock(
      manifest,
      name,
      files,
      setting.batch_size,
      setting.threads,
      setting.transforms,
      held=name in held,
    )
  rates: dict[str, list[float]] = {"mix": [], "single": [], "stock": []}
  for number in noise.rounds(trials, end):
    if number == trials + 1:
      say("these runs differ too much to choose by: once more")
    for key, pipeline in pipelines.items():
      rates[key].append(pipeline.run().images_per_s)
    if peer is not None and number <= trials:
      rates["stock"].append(peer.run(setting.seconds))
    if number < trials:
      continue
    if "mix" in pipelines:
      open_still = noise.lost(rates["mix"], rates["single"])
    else:
      open_still = noise.relative(rates["single"]).relative
    if open_still <= stake.LITTLE:
      break
  return Verified(
    **rates,
    stock_format=name,
    stock_skipped=skipped,
    stock_bytes=0 if peer is None else peer.bytes,
  )


def _pipeline(setting: Setting, choice: planner.Choice) -> Pipeline:
  return Pipeline(setting, choice.mix, "both", choice.prediction.hit_ratio)


def kept_sample(
  manifest: Manifest,
  costs: model.Costs,
  machine: model.Machine,
  choices: list[planner.Choice],
  memory: int,
  folder: str,
) -> str | None:
  """Repeats a sample until an epoch takes some seconds.

  It has no more images than the user's own dataset, so memory keeps no more than what
  there is for that.

  Args:
    manifest: of the replicated sample.
    costs: of each format.
    machine: with its cache.
    choices: mixes that are to run, with the share of the images that memory has.
    memory: budget of a pipeline in bytes.
    folder: on the same file system, where it is made.

  Returns:
    Its path; None where memory keeps nothing.
  """
  if not any(choice.prediction.hit_ratio for choice in choices):
    return None
  path = tempfile.mkdtemp(dir=folder)
  images = min(_images(costs, machine, choice, memory) for choice in choices)
  repeated.repeat(manifest, max(1, int(images) // manifest["samples"]), path)
  return path


def held(costs: model.Costs, machine: model.Machine) -> frozenset[str]:
  """Formats that memory has all images of."""
  return frozenset(
    name for name in costs if model.hit_ratio(costs, machine, {name: 1}) == 1
  )


def _images(
  costs: model.Costs, machine: model.Machine, choice: planner.Choice, memory: int
) -> float:
  """The most images that an epoch may have."""
  first = model.predict(costs, machine.of_runs, choice.mix).throughput
  kept = choice.prediction.hit_ratio * model.mean_bytes(costs, choice.mix)
  fitting = _PART * memory / kept if kept else float("inf")
  return min(machine.samples, _FIRST_SECONDS * first, fitting)
