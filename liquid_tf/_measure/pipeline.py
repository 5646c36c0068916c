"""The speed of a dataset's pipeline, beside the limits of its two stages."""

import dataclasses
import statistics
from collections.abc import Callable, Mapping
from typing import Any

from liquid_tf._measure import epochs as runs
from liquid_tf._measure import fresh
from liquid_tf._view.mixture import mixture
from liquid_tf._view.view import as_view


def bench(
  path: str,
  *,
  rounds: int = 1,
  limits: bool = True,
  say: Callable[[str], None] = lambda text: None,
  **arguments: Any,
) -> dict[str, Any]:
  """Measures a dataset's pipeline and its limits, each in fresh processes.

  The limits are measured by the same code with the other stage switched off: load
  delivers stored bytes (`features=["bytes"]`) at the same cache; decode finds
  everything in memory (`cache="100%"`, from the second epoch on).

  Args:
    path: a dataset directory.
    rounds: how often each stage is measured, in turn.
    limits: whether to measure the limits.
    say: receives a line of progress.
    **arguments: of `measure`, with at least 2 `epochs`: the first one fills the cache.

  Returns:
    The result of `epochs.measure`, of the last round, with `images_per_s` the median
    over rounds, `limits` {load, decode} in images per second, and `efficiency`: the
    share of the lower limit that is reached. Limits that were not measured are None.

  Raises:
    ValueError: an argument is wrong.
    ChildProcessError: the dataset is not sound, or a process died.
  """
  if "transforms" in arguments:
    arguments["transforms"] = [
      {"step": type(step).__name__, **dataclasses.asdict(step)}
      for step in arguments["transforms"]
    ]
  common = {"function": fresh.OURS, "path": path, **arguments}
  wanted = ["both"]
  if limits:
    wanted += ["load", "decode"]
  requests = {stage: runs.stage_options(stage, common) for stage in wanted}
  rates: dict[str, list[float]] = {name: [] for name in requests}
  for number in range(1, rounds + 1):
    for name, request in requests.items():
      measured = fresh.run(request)
      rates[name].append(measured["images_per_s"])
      say(f"{name}, {number} of {rounds}: {measured['images_per_s']:.1f} images/s")
      if name == "both":
        result = measured
  rate = {name: statistics.median(values) for name, values in rates.items()}
  result["images_per_s"] = rate["both"]
  result["limits"] = {"load": rate.get("load"), "decode": rate.get("decode")}
  lower = min(rate.get("load", 0), rate.get("decode", 0))
  result["efficiency"] = rate["both"] / lower if lower else None
  return result


def measure(
  path: str,
  *,
  split: str | None = None,
  where: str | None = None,
  balanced: bool = False,
  mixed: Mapping[str, float] | None = None,
  **arguments: Any,
) -> dict[str, Any]:
  """Runs epochs of samples of a dataset, and of others that are mixed with it.

  Args:
    path: of the dataset, whose weight is 1.
    split: of each dataset, as `View.split` takes it.
    where: a condition on the samples of each; None for all.
    balanced: whether classes have equal shares of each.
    mixed: weight of every other dataset, by path.
    **arguments: of `epochs.measure`.

  Raises:
    ValueError: an argument is wrong, or chooses nothing.
    ManifestError: a directory is no sound dataset.
  """
  if not (where or balanced or mixed):
    return runs.measure(path, split=split, **arguments)
  views = []
  for one in (path, *(mixed or {})):
    view = as_view(one, split)
    if where is not None:
      view = view.where(where)
    views.append(view.balanced() if balanced else view)
  samples = mixture(list(zip(views, (1, *mixed.values())))) if mixed else views[0]
  return runs.measure(samples, **arguments)
