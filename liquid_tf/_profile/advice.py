"""From costs and verified rates to advice in words and rows."""

import dataclasses
import math
import statistics
from collections.abc import Sequence
from typing import Any

from liquid_tf._cost import amounts, budget, model, planner
from liquid_tf._profile import noise
from liquid_tf._profile.names import describe

# Where runs are further from what was predicted of them, the advice says so.
_EXPECTED = 0.15

# More memory than this, or than twice what there is, is no small change of a machine.
_MORE_MEMORY = 4 * 10**9

_LIMITS = {
  "load": "the disk",
  "decode": "the processors",
  "gpu": "the GPU",
  "bus": "the bus to the GPU",
  "lanes": "the way to the GPU",
}


def what_if(
  costs: model.Costs, machine: model.Machine, advised: planner.Choice, rate: float
) -> list[dict[str, Any]]:
  """The best mix on other machines.

  Args:
    costs: of each format.
    machine: this one.
    advised: the mix for it.
    rate: images per second that are told of that mix; see `Rate`.

  Returns:
    `change`, `mix`, `predicted` images per second, and `gain` over the advised mix on
    this machine.
  """
  changes: list[tuple[str, dict[str, float]]] = [
    ("twice the processors", {"processors": 2 * machine.processors})
  ]
  hits = advised.prediction.hit_ratio
  if hits < 1:  # Else nothing is read.
    changes.append(("twice the disk", {"disk": 2 * machine.disk}))
    changes.append(("half the disk", {"disk": machine.disk / 2}))
  share = machine.cache_share
  if share is None:
    # No more than the rest of the images takes.
    each = budget.resident_bytes(_kept_bytes(costs, machine, advised.mix), 1)
    rest = machine.samples * each * (1 - hits)
    more = math.ceil(min(rest, max(machine.cache_bytes, _MORE_MEMORY)))
    if more:
      words = f"{amounts.size(more)} more of memory"
      changes.append((words, {"cache_bytes": machine.cache_bytes + more}))
  elif 0 < share < 1:
    double = min(1.0, 2 * share)
    changes.append((f"{double:.0%} cached", {"cache_share": double}))
  if any(cost.devices for cost in costs.values()):
    changes.append(("twice the GPU and its bus", {"gpu": 2 * machine.gpu}))
  rows = []
  for change, values in changes:
    choice = planner.worthwhile(costs, dataclasses.replace(machine, **values))
    gain = choice.prediction.throughput / advised.prediction.throughput
    rows.append(
      {"change": change, "mix": choice.mix, "predicted": gain * rate, "gain": gain}
    )
  return rows


def _kept_bytes(costs: model.Costs, machine: model.Machine, mix: model.Mix) -> float:
  """Bytes of an image that memory keeps, on average."""
  if machine.cache_form == "pixels":
    return machine.pixel_bytes
  return sum(
    share * costs[name].read_bytes for name, share in model.shares(mix).items()
  )


def memory(
  costs: model.Costs, machine: model.Machine, wrong: float
) -> dict[str, Any] | None:
  """Compares memory spent on encoded bytes with memory spent on decoded pixels.

  Args:
    costs: of each format.
    machine: with its cache.
    wrong: factor by which the runs correct the model; see `error`.

  Returns:
    `better` ("encoded" or "pixels"), and for each of them its `mix`, `predicted`
    images per second and `hit_ratio`. None where there is no cache, where it is given
    as a share of the dataset, or where the cost of a copy is not known.
  """
  if not machine.cache_bytes or not machine.copy_seconds:
    return None
  result: dict[str, Any] = {}
  for kind in ("encoded", "pixels"):
    choice = planner.worthwhile(costs, dataclasses.replace(machine, cache_form=kind))
    if choice is None:  # Only pcr has the space, of which memory keeps no pixels.
      return None
    result[kind] = {
      "mix": choice.mix,
      "predicted": corrected(choice, wrong).prediction.throughput,
      "hit_ratio": choice.prediction.hit_ratio,
    }
  # Encoded where it makes no difference.
  better = (
    result["pixels"]["predicted"] > planner.WORTH * result["encoded"]["predicted"]
  )
  return {"better": "pixels" if better else "encoded", **result}


def keep_pixels(found: dict[str, Any]) -> str:
  """The advice to keep decoded pixels, in one sentence; `found` is of `memory`."""
  pixels, encoded = found["pixels"], found["encoded"]
  return (
    f'Memory is better spent on decoded pixels (Cache(form="pixels")), with '
    f"{describe(pixels['mix'])}: {pixels['predicted']:.0f} images/s predicted, "
    f"{encoded['predicted']:.0f} with encoded bytes."
  )


def converting(
  costs: model.Costs, machine: model.Machine, mix: model.Mix
) -> dict[str, float]:
  """The `bytes` and `seconds` that converting the whole set takes."""
  parts = model.shares(mix)
  seconds = sum(share * costs[name].encode_seconds for name, share in parts.items())
  return {
    "bytes": model.mean_bytes(costs, mix) * machine.samples,
    "seconds": seconds * machine.samples,
  }


@dataclasses.dataclass(frozen=True)
class Gain:
  """The speed of a mix, in times that of the best single format.

  Attributes:
    interval: with 95% confidence.
    measured: False where processors or other resources are reserved. Runs know none of
      that, so the gain is then predicted, with the relative interval of the runs.
  """

  interval: noise.Interval
  measured: bool


def gain(
  costs: model.Costs,
  machine: model.Machine,
  choice: planner.Choice,
  single: planner.Choice,
  measured: noise.Interval | None,
) -> Gain | None:
  """The gain of a mix; None where it is the single format itself.

  Args:
    costs: of each format.
    machine: with its reserve and resources.
    choice: the mix.
    single: the best single format.
    measured: the ratio of runs, which have none of these.
  """
  if measured is None:
    return None
  if is_as_run(machine):
    return Gain(measured, True)
  runs = [
    model.predict(costs, machine.of_last_runs, c.mix).throughput
    for c in (choice, single)
  ]
  ratio = choice.prediction.throughput / single.prediction.throughput
  # What the model has wrong of the runs, it will have wrong of the training.
  wrong = measured.mean / (runs[0] / runs[1])
  values = (ratio * wrong * v / measured.mean for v in dataclasses.astuple(measured))
  return Gain(noise.Interval(*values), False)


def error(
  choice: planner.Choice,
  costs: model.Costs,
  machine: model.Machine,
  runs: Sequence[float],
) -> float:
  """The factor that corrects the model by the runs of a choice.

  Args:
    choice: what ran.
    costs: of each format.
    machine: with its cache.
    runs: images per second of the same mix, without reserve and resources.
  """
  modelled = model.predict(costs, machine.of_last_runs, choice.mix).throughput
  return statistics.median(runs) / modelled


def corrected(choice: planner.Choice, wrong: float) -> planner.Choice:
  """Corrects the prediction of a choice by the model's error.

  The best mix keeps disk and processors equally busy. There each waits for the other
  now and then, more often the less steady they are, and the model ignores that.

  Args:
    choice: what is predicted.
    wrong: see `error`.
  """
  found = choice.prediction
  # What something else allows is no matter of disk and processors.
  load, decode = wrong * found.load, wrong * found.decode
  rates = {"load": load, "decode": decode, **found.others}
  limit = min(rates, key=rates.__getitem__)
  prediction = dataclasses.replace(
    found, load=load, decode=decode, throughput=rates[limit], limit=limit
  )
  return dataclasses.replace(choice, prediction=prediction)


def is_as_run(machine: model.Machine) -> bool:
  """Says whether the last runs had exactly the resources of the training."""
  return not machine.reserve and not machine.resources


@dataclasses.dataclass(frozen=True)
class Rate:
  """The images per second of a mix, as all sentences give it.

  Attributes:
    choice: the mix, its prediction corrected by its runs.
    spread: of its runs, relative to their mean.
    measured: whether its runs gave this very rate; else it is derived from theirs.
  """

  choice: planner.Choice
  spread: noise.Interval
  measured: bool

  @property
  def value(self) -> float:
    return self.choice.prediction.throughput

  def __str__(self) -> str:
    low, high = (self.value * end for end in (self.spread.low, self.spread.high))
    how = "measured" if self.measured else "predicted"
    return f"{self.value:.0f} ({low:.0f} to {high:.0f}) images/s {how}"


def verdict(ours: Rate, alone: Rate, found: Gain | None, formats: int) -> str:
  """The advice in one sentence.

  Args:
    ours: of the mix in question.
    alone: of the best single format.
    found: how many times faster the mix is; None where it is the single format.
    formats: that were profiled.
  """
  (name,) = alone.choice.mix
  limit = alone.choice.prediction.limit
  limit = _LIMITS.get(limit, limit)
  if formats == 1:
    return f"{name}, the only format that was profiled: {alone}, with {limit} as limit."
  if found is None:
    return (
      f"{name} alone is best: {alone}, with {limit} as the limit; no mix is predicted "
      f"to be {planner.WORTH - 1:.0%} faster."
    )
  mix, times = describe(ours.choice.mix), found.interval
  how = "measured" if found.measured else "predicted"
  text = f"{times.mean:.2f} times ({times.low:.2f} to {times.high:.2f}, 95%)"
  if times.mean < 1:
    return (
      f"{name} alone is best: {alone}; the mix {mix} was {how} at {text} its speed."
    )
  if len(ours.choice.mix) == 1:
    return f"{mix} alone is best: {ours}; {how} at {text} the speed of {name} alone."
  doubt = ", which may be no gain at all" if times.low < 1 else ""
  return (
    f"Mix {mix}: {how} at {text} the speed of {name}, the best single format{doubt}; "
    f"{ours}."
  )


def another_mix(at_stake: float, rounds: int) -> str:
  """Warns in one sentence that another mix may be faster."""
  return (
    f"Formats cost different times in different rounds, so after {rounds} of them "
    f"another mix may be up to {1 / (1 - at_stake) - 1:.0%} faster (95%)."
  )


def context(
  costs: model.Costs,
  machine: model.Machine,
  final: planner.Choice,
  measured: float | None,
  stock: float | None,
  own_format: str | None,
  own_rate: float | None,
) -> str:
  """States the cache that the advice assumes, and its gain over other pipelines.

  Args:
    costs: of each format.
    machine: with its cache.
    final: the mix.
    measured: images per second of its runs with that cache; None if it was not run.
    stock: images per second of stock tf.data, or None.
    own_format: of the source's images, or None.
    own_rate: images per second of that format alone; None if it was not run.
  """
  compared = []
  hits = final.prediction.hit_ratio
  if measured is not None and stock is not None:
    # What memory holds all of, stock tf.data has in the page cache.
    bare = " without a cache" if 0 < hits < 1 else ""
    compared.append(f"{measured / stock:.1f} times stock tf.data{bare}")
  if own_format in costs and set(final.mix) != {own_format}:
    alone, of = own_rate, ""
    rate = measured
    if rate is None or alone is None:
      # Both from the model, which has the same wrong in both.
      rate, alone = (
        model.predict(costs, machine.of_last_runs, mix).throughput
        for mix in (final.mix, {own_format: 1})
      )
      of = " as predicted"
    compared.append(
      f"{rate / alone:.1f} times {own_format} alone{of}, the format of the source"
    )
  cache = "no cache"
  if hits:
    held = "all" if hits == 1 else f"{math.floor(100 * hits)}%"
    cache = f"that memory holds {held} of the images from the second epoch on"
  with_all = "" if is_as_run(machine) else ", on all processors"
  size = converting(costs, machine, final.mix)["bytes"]
  return (
    f"This assumes {cache}"
    + (f"; it is {', '.join(compared)}{with_all}" if compared else "")
    + f". The dataset takes {amounts.size(size)} on disk."
  )


def surprise(mix: model.Mix, predicted: float, measured: float) -> str | None:
  """Doubt about costs that do not explain the runs behind them, in one sentence.

  Args:
    mix: that ran.
    predicted: images per second of them; see `model.Machine.of_last_runs`.
    measured: what they gave.
  """
  if abs(measured / predicted - 1) <= _EXPECTED:
    return None
  return (
    f"But runs of {describe(mix)} gave {measured:.0f} images/s where {predicted:.0f} "
    "were predicted of them: the machine has changed since the formats were measured, "
    "or the model does not fit it; profile once more."
  )


@dataclasses.dataclass(frozen=True)
class Training:
  """The verdict for a training of known speed.

  Attributes:
    images_per_s: speed of the training by itself.
    matters: whether the best single format or stock tf.data holds the training up.
    mix_matters: whether the best single format holds it up.
    sentence: the verdict in words.
  """

  images_per_s: float
  matters: bool
  mix_matters: bool
  sentence: str


def training(consumer: float, ours: Rate, alone: Rate, stock: float | None) -> Training:
  """Compares the rates with the speed of a training.

  Args:
    consumer: images per second that the training takes by itself.
    ours: of what is advised.
    alone: of the best single format.
    stock: images per second that stock tf.data gives, or None.
  """
  (name,) = alone.choice.mix
  takes = f"the training takes {consumer:.0f} images/s"
  gives = f"{name} alone gives {alone.value:.0f}"
  mixed = ours.choice != alone.choice
  the_mix = "the mix" if len(ours.choice.mix) > 1 else f"{describe(ours.choice.mix)}"
  if ours.choice.cache_form == "pixels":
    the_mix = "keeping pixels in memory"
  matters, mix_matters = True, alone.value < consumer
  if not mix_matters and stock is not None and stock >= consumer:
    matters = False
    sentence = (
      f"None of it matters: {takes}, {gives}, and stock tf.data {stock:.0f}. Faster "
      "data would not help."
    )
  elif not mix_matters:
    held_up = "" if stock is None else f"; stock tf.data's {stock:.0f} would hold it up"
    sentence = f"The mix does not matter: {takes}, and {gives}{held_up}."
  elif mixed and ours.value >= consumer:
    sentence = (
      f"The mix matters: {takes}, {gives} and would hold it up; {the_mix} gives "
      f"{ours.value:.0f}."
    )
  else:
    best = f"{the_mix} gives {ours.value:.0f}, " if mixed else ""
    sentence = (
      f"{takes[0].upper()}{takes[1:]} and is held up in any case: {best}{gives}."
    )
  return Training(consumer, matters, mix_matters, sentence)
