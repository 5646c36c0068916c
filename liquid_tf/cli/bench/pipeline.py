"""How fast a dataset's pipeline is, beside the limits of its two stages."""

import dataclasses
import statistics
from collections.abc import Callable
from typing import Any

from liquid_tf._measure import stages
from liquid_tf.cli.bench import fresh


def bench(
  path: str,
  choice: dict[str, Any] | None = None,
  *,
  epochs: int,
  threads: int,
  cold: bool = False,
  rounds: int = 1,
  limits: bool = True,
  say: Callable[[str], None] = lambda text: None,
  **arguments: Any,
) -> dict[str, Any]:
  """Measures a dataset's pipeline and its limits, each in fresh processes.

  The limits are measured by the same code with the other stage switched off: load
  delivers stored bytes (`decode="none"`) at the same cache; decode finds everything in
  memory (`cache="100%"`, from the second epoch on).

  Args:
    path: a dataset directory.
    choice: arguments of `chosen`; None for the dataset as it is.
    epochs: of each process, at least 2: the first one fills the cache.
    threads: of tf.data.
    cold: whether the files leave the page cache before each epoch.
    rounds: how often each stage is measured, in turn.
    limits: whether to measure the limits.
    say: receives a line of progress.
    **arguments: of `liquid_tf.dataset`.

  Returns:
    What `epochs.measure` gives, of the last round, with `images_per_s` the median over
    rounds, `limits` {load, decode} in images per second, and `efficiency`: the share of
    the lower limit that is reached. Limits that were not measured are None.

  Raises:
    ValueError: an argument is wrong.
    ChildProcessError: the dataset is not sound, or a process died.
  """
  if "transforms" in arguments:
    arguments["transforms"] = [
      {"step": type(step).__name__, **dataclasses.asdict(step)}
      for step in arguments["transforms"]
    ]
  common = {
    "stage": "liquid",
    "path": path,
    "choice": choice,
    "epochs": epochs,
    "threads": threads,
    "cold": cold,
    **arguments,
  }
  wanted = ["both"]
  if limits and arguments.get("decode", "cpu") != "none":
    wanted += ["load", "decode"]
  requests = {stage: stages.options(stage, common) for stage in wanted}
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
