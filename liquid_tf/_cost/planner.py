"""The fastest mix of any number of formats, by linear programming.

Variables are the images per second of each format. With encoded bytes in memory, a
cache of m bytes for each image of the dataset saves m bytes of reading for each image
drawn, whatever the mix; so disk and memory are linear in them too, or nearly, since
records take more in memory than their bytes. Only the bound is not
linear: a format saves no more than all, so a dataset that memory holds and one that it
does not are two programmes.
"""

import dataclasses
import itertools
from collections.abc import Iterable, Iterator

import numpy as np

from liquid_tf._cost import budget, lp, model

# Shares below this are rounding, or not worth a format of their own.
_LEAST_SHARE = 0.01
# Gains below it are not worth a second format.
WORTH = 1.05

# A mix is written with so many parts.
_PARTS = 100

# Hundredths that are moved at once, and how much faster a move has to be.
_STRIDES = (10, 3, 1)
_FASTER = 1.001


@dataclasses.dataclass(frozen=True)
class Choice:
  """A mix and what is to be expected of it.

  Attributes:
    mix: share of each format, summing to 1; hundredths.
    cache_form: what memory should hold: "encoded" bytes or "pixels".
    prediction: how fast it is.
  """

  mix: dict[str, float]
  cache_form: str
  prediction: model.Prediction


def best_mix(costs: model.Costs, machine: model.Machine) -> Choice | None:
  """The mix with the highest predicted throughput; None where no mix has the space.

  A lower scan group loses detail, so it is taken only where it gains as much as is
  worth it.

  Args:
    costs: of the formats to choose from.
    machine: what there is to spend, `cache_form` included.
  """
  return _worth_detail(_best_of(some, machine) for some in _together(costs, machine))


def usable(costs: model.Costs, machine: model.Machine) -> model.Costs:
  """The formats that a mix may have: not a scan group of less than was asked for.

  Where memory holds decoded pixels no progressive format is one.
  """
  pixels = machine.cache_form == "pixels"
  return {
    name: cost
    for name, cost in costs.items()
    if cost.scans is None or (cost.scans.enough and not pixels)
  }


def _together(costs: model.Costs, machine: model.Machine) -> Iterator[model.Costs]:
  """Yields formats that may share a mix: a dataset is read through one scan group.

  Those with the highest come first.
  """
  costs = usable(costs, machine)
  groups = [name for name, cost in costs.items() if cost.scans is not None]
  groups.sort(key=lambda name: costs[name].scans.group, reverse=True)
  for group in groups or [None]:
    others = [name for name in groups if name != group]
    yield {name: cost for name, cost in costs.items() if name not in others}


def _worth_detail(choices: Iterable[Choice | None]) -> Choice | None:
  """The best of choices with ever lower scan groups: each has to be worth it."""
  best = None
  for choice in choices:
    if best is None or (
      choice is not None
      and choice.prediction.throughput > WORTH * best.prediction.throughput
    ):
      best = choice
  return best


def _best_of(costs: model.Costs, machine: model.Machine) -> Choice | None:
  """The best mix of formats that may share one."""
  if not costs:
    return None
  names = list(costs)
  candidates = [model.shares({name: 1}) for name in names]
  for rows, limits in _programmes(costs, machine):
    found = lp.maximise(rows, limits)
    if found is not None and found.sum() > 0:
      candidates.append(_rounded(dict(zip(names, found))))
  candidates = [mix for mix in candidates if fits(costs, machine, mix)]
  if not candidates:
    return None
  choices = [
    Choice(mix, machine.cache_form, model.predict(costs, machine, mix))
    for mix in candidates
  ]
  # The first of equals is a single format.
  best = max(choices, key=lambda choice: choice.prediction.throughput)
  return _climb(costs, machine, best)


def worthwhile(costs: model.Costs, machine: model.Machine) -> Choice | None:
  """The best mix, or the best single format where a mix gains little."""
  mix, single = best_mix(costs, machine), best_single(costs, machine)
  if mix is None or single is None:
    return mix
  gain = mix.prediction.throughput / single.prediction.throughput
  return mix if gain > WORTH else single


def best_single(costs: model.Costs, machine: model.Machine) -> Choice | None:
  """The fastest single format; None where none has the space.

  A lower scan group has to be worth it, as in `best_mix`.
  """
  return _worth_detail(
    _best_single_of(some, machine) for some in _together(costs, machine)
  )


def _best_single_of(costs: model.Costs, machine: model.Machine) -> Choice | None:
  """The fastest single format of those that may share a mix."""
  choices = [
    Choice({name: 1.0}, machine.cache_form, model.predict(costs, machine, {name: 1}))
    for name in costs
    if fits(costs, machine, {name: 1})
  ]
  return max(choices, key=lambda c: c.prediction.throughput, default=None)


def best_pair(
  costs: model.Costs, machine: model.Machine, raw: str
) -> tuple[str, Choice] | None:
  """The format that is fastest when it is mixed with `raw`, and that mix."""
  groups = [name for name, cost in costs.items() if cost.scans is not None]
  apart = groups if raw in groups else [raw]
  pairs = [
    (name, best_mix({name: costs[name], raw: costs[raw]}, machine))
    for name in usable(costs, machine)
    if name not in apart
  ]
  pairs = [(name, choice) for name, choice in pairs if choice is not None]
  return max(pairs, key=lambda p: p[1].prediction.throughput, default=None)


def fits(costs: model.Costs, machine: model.Machine, mix: model.Mix) -> bool:
  """Whether there is room on the disk."""
  if machine.space_bytes is None:
    return True
  return model.mean_bytes(costs, mix) * machine.samples <= machine.space_bytes


def _programmes(
  costs: model.Costs, machine: model.Machine
) -> list[tuple[np.ndarray, np.ndarray]]:
  """Constraints (rows, limits) of each case; see the module."""
  size = np.array([cost.stored_bytes for cost in costs.values()])
  load = np.array([cost.load_seconds for cost in costs.values()])
  load_cpu = np.array([cost.load_cpu_seconds for cost in costs.values()])
  decode = np.array([cost.decode_seconds for cost in costs.values()])
  held = np.array(
    [budget.resident_bytes(cost.read_bytes, 1) for cost in costs.values()]
  )
  each = machine.cache_bytes / machine.samples

  common = []
  if machine.space_bytes is not None:
    common.append((size - machine.space_bytes / machine.samples, 0.0))
  decoded = 0.0
  if machine.cache_form == "pixels" or machine.cache_share is not None:
    # Memory holds as many images whatever the mix.
    hits = model.hit_ratio(costs, machine, dict.fromkeys(costs, 1))
    decoded = hits if machine.cache_form == "pixels" else 0.0
    cases = [(np.full(len(size), 1 - hits), [])]
  else:
    # Memory holds all of it, or else what it holds is not read.
    cases = [(np.zeros(len(size)), [(held - each, 0.0)])]
    cases.append((1 - each / held, [(each - held, 0.0)]))
  for resource in model.others(costs, machine).values():
    seconds = np.array([resource.seconds.get(name, 0.0) for name in costs])
    common.append((seconds * (1 - decoded), resource.share))

  programmes = []
  for read, own in cases:
    cpu = load_cpu * read + decode * (1 - decoded) + machine.copy_seconds * decoded
    rows = [
      (load * read, machine.disk),
      (cpu, machine.processors * (1 - machine.reserve)),
      # Far from any optimum; it is there for the sum to have a bound in every case.
      (np.maximum(decode, np.finfo(float).eps), 1e3 * machine.processors),
      *common,
      *own,
    ]
    programmes.append(
      (np.array([row for row, _ in rows]), np.array([limit for _, limit in rows]))
    )
  return programmes


def _climb(costs: model.Costs, machine: model.Machine, start: Choice) -> Choice:
  """Moves hundredths between formats for as long as that is faster.

  The programmes take a disk for as fast in one format as in another, and hundredths are
  not where their corners are; so the best mix is near to theirs.
  """
  best = start
  for step in _STRIDES:
    moved = True
    while moved:
      moved = False
      for mix in _neighbours(best.mix, list(costs), step):
        if not fits(costs, machine, mix):
          continue
        prediction = model.predict(costs, machine, mix)
        if prediction.throughput > _FASTER * best.prediction.throughput:
          best, moved = Choice(mix, machine.cache_form, prediction), True
  return best


def _neighbours(
  mix: dict[str, float], names: list[str], step: int
) -> list[dict[str, float]]:
  """The mixes with so many hundredths of one format given to another."""
  parts = {name: round(_PARTS * mix.get(name, 0)) for name in names}
  found = []
  for giver, taker in itertools.permutations(names, 2):
    amount = min(step, parts[giver])
    if amount:
      moved = parts | {giver: parts[giver] - amount, taker: parts[taker] + amount}
      found.append({name: part / _PARTS for name, part in moved.items() if part})
  return found


def _rounded(rates: dict[str, float]) -> dict[str, float]:
  """Shares in hundredths; what is too small goes to the largest."""
  parts = model.shares(rates)
  kept = {name: round(s * _PARTS) for name, s in parts.items() if s >= _LEAST_SHARE}
  kept[max(kept, key=kept.__getitem__)] += _PARTS - sum(kept.values())
  return {name: part / _PARTS for name, part in kept.items() if part}
