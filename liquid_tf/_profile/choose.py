"""Finding a mix by either strategy, and running it beside what else there is."""

import dataclasses
import time
from collections.abc import Callable, Sequence
from typing import Any

from liquid_tf._cost import model, planner
from liquid_tf._profile import measure, noise, search, stake, stock
from liquid_tf._profile.probe import Pipeline, Setting
from liquid_tf._store.manifest import Manifest

STRATEGIES = ("lp", "search")


def choose(
  setting: Setting,
  costs: model.Costs,
  machine: model.Machine,
  strategy: str,
  trials: int,
  say: Callable[[str], None],
) -> tuple[planner.Choice, list[dict[str, Any]]]:
  """Finds the mix that should be fastest.

  Args:
    setting: what all runs have alike.
    costs: of each format.
    machine: what there is to spend; with "search", what runs have.
    strategy: "lp" computes a mix of any number of formats from their costs; "search" is
      the paper's, over mixes in tenths of the largest format and the one that goes best
      with it.
    trials: runs of each mix that is measured.
    say: receives a line of progress.

  Returns:
    The choice, and the mixes that were measured: `mix`, `load`, `decode`, `throughput`
    and `predicted` images per second of each.
  """
  if strategy == "lp" or len(costs) < 2:
    return planner.best_mix(costs, machine), []
  known = planner.usable(costs, machine)
  raw = max(known, key=lambda name: known[name].stored_bytes)
  found = planner.best_pair(costs, machine, raw)
  if found is None:
    return planner.best_single(costs, machine), []
  encoded, _ = found
  rows = []

  def run(tenths: int) -> search.Rates:
    mix = _tenths(encoded, raw, tenths)
    rates = measure.mix_rates(setting, mix, trials)
    predicted = model.predict(costs, machine, mix).throughput
    rows.append({"mix": mix, **rates._asdict(), "predicted": predicted})
    say(
      f"{measure.describe(mix)}: loads {rates.load:.0f} images/s, decodes "
      f"{rates.decode:.0f}, both {rates.throughput:.0f}"
    )
    return rates

  say(f"searching mixes of {encoded} and {raw}")
  best, _ = search.search(run)
  mix = _tenths(encoded, raw, best)
  choice = planner.Choice(mix, machine.cache_form, model.predict(costs, machine, mix))
  return choice, rows


def _tenths(encoded: str, raw: str, tenths: int) -> dict[str, float]:
  parts = {encoded: tenths, raw: search.STEPS - tenths}
  return {name: part / search.STEPS for name, part in parts.items() if part}


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
    """How many times faster the mix is than the single format."""
    return noise.ratio(self.mix, self.single) if self.mix else None


@dataclasses.dataclass(frozen=True)
class Contest:
  """Which mixes run against each other, and for how long.

  Attributes:
    advised: what the advice will be.
    single: the best single format.
    held: formats that memory has all images of.
    trials: rounds, at least 2; more while much is at stake between both.
    end: of the monotonic clock, after which no more rounds than `trials` begin.
  """

  advised: planner.Choice
  single: planner.Choice
  held: frozenset[str]
  trials: int
  end: float


def lost(mix: Sequence[float], single: Sequence[float]) -> float:
  """What the faster one may lose to the other, as a share of the other's speed.

  Args:
    mix: images per second of each round.
    single: of the same rounds.
  """
  found = noise.ratio(mix, single)
  worst = 1 / found.low if found.mean >= 1 else found.high
  return max(0.0, 1 - 1 / worst)


def verify(
  setting: Setting,
  manifest: Manifest,
  files: str,
  contest: Contest,
  say: Callable[[str], None],
) -> Verified:
  """Runs the advised mix, the best single format and stock tf.data, turn about.

  Memory has the share of the images that is predicted, since what limits a mix without
  it need not be what limits it with it.

  Rounds end when little is at stake, and not when the mix is found to be faster: that
  would make the interval of the gain too narrow.

  Args:
    setting: what all runs have alike; see `kept.sample`.
    manifest: of the replicated sample.
    files: an empty directory for the files of stock tf.data.
    contest: what runs.
    say: receives a line of progress.
  """
  advised, single = contest.advised, contest.single
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
      held=name in contest.held,
    )
  rates: dict[str, list[float]] = {"mix": [], "single": [], "stock": []}
  longest = 0.0
  while True:
    begin = time.monotonic()
    for key, pipeline in pipelines.items():
      rates[key].append(pipeline.run().images_per_s)
    rounds = len(rates["single"])
    if peer is not None and rounds <= contest.trials:
      rates["stock"].append(peer.run(setting.seconds))
    longest = max(longest, time.monotonic() - begin)
    if rounds < contest.trials:
      continue
    if "mix" in pipelines:
      open_still = lost(rates["mix"], rates["single"])
    else:
      open_still = noise.relative(rates["single"]).relative
    if open_still <= stake.LITTLE or time.monotonic() + longest > contest.end:
      break
    if rounds == contest.trials:
      say("these runs differ too much to choose by: once more")
  return Verified(
    **rates,
    stock_format=name,
    stock_skipped=skipped,
    stock_bytes=0 if peer is None else peer.bytes,
  )


def _pipeline(setting: Setting, choice: planner.Choice) -> Pipeline:
  return Pipeline(setting, choice.mix, "both", choice.prediction.hit_ratio)
