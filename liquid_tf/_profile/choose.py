"""Finds a mix, by a linear programme or by the paper's search."""

from collections.abc import Callable
from typing import Any

from liquid_tf._cost import model, planner
from liquid_tf._measure.epochs import STAGES
from liquid_tf._profile import names, noise, search
from liquid_tf._profile.probe import Setting, Turns, rate, rates


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
  pair = planner.best_pair(costs, machine, raw)
  if pair is None:
    return planner.best_single(costs, machine), []
  encoded, _ = pair
  rows = []

  def run(tenths: int) -> search.Rates:
    mix = _tenths(encoded, raw, tenths)
    found = _mix_rates(setting, mix, trials)
    predicted = model.predict(costs, machine, mix).throughput
    rows.append({"mix": mix, **found._asdict(), "predicted": predicted})
    say(
      f"{names.describe(mix)}: loads {found.load:.0f} images/s, decodes "
      f"{found.decode:.0f}, both {found.throughput:.0f}"
    )
    return found

  say(f"searching mixes of {encoded} and {raw}")
  best, _ = search.search(run)
  mix = _tenths(encoded, raw, best)
  choice = planner.Choice(mix, machine.cache_form, model.predict(costs, machine, mix))
  return choice, rows


def _tenths(encoded: str, raw: str, tenths: int) -> dict[str, float]:
  parts = {encoded: tenths, raw: search.STEPS - tenths}
  return {name: part / search.STEPS for name, part in parts.items() if part}


def _mix_rates(setting: Setting, mix: model.Mix, trials: int) -> search.Rates:
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
  return search.Rates(rate(runs["load"]), rate(runs["decode"]), rate(runs["both"]))
