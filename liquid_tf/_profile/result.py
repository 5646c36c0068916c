"""The JSON object of a profile."""

import dataclasses
import math
import statistics
from typing import Any

import numpy as np

from liquid_tf._cost import model, planner
from liquid_tf._profile import advice, names, noise, outcome, probe
from liquid_tf._profile.search import STEPS

# 2 since a mix may have pcr, with the `fidelity` that it is read at.
SCHEMA = 2


def build(findings: outcome.Findings) -> dict[str, Any]:
  """Builds the JSON object of measurements and of the advice that follows.

  Rates are images per second, times seconds of one processor for an image, sizes bytes;
  `at_stake` is the share of the best mix's speed that the advised one may lack.
  """
  found = outcome.find(findings)
  costs, encoded, blocks = findings.costs, findings.encoded, findings.blocks
  verified, options, setting = findings.verified, findings.options, findings.setting
  machine, final, said = found.machine, found.final, found.said
  (name,) = findings.single.mix
  return {
    "schema": SCHEMA,
    "samples": machine.samples,
    "sampled": encoded.images,
    "pixel_bytes": machine.pixel_bytes,
    "formats": {name: _format(name, findings, machine, found.wrong) for name in costs},
    "disk": None if blocks is None else {str(k): v for k, v in blocks.items()},
    "strategy": options.strategy,
    "measured": [dict(row) for row in findings.measured],
    "mix": names.convertible(final.mix),
    "fidelity": names.fidelity(final.mix),
    "cache_form": machine.cache_form,
    "predicted": said.value,
    "predicted_interval": [
      said.value * end for end in (said.spread.low, said.spread.high)
    ],
    "at_stake": findings.at_stake,
    "limit": said.choice.prediction.limit,
    "hit_ratio": final.prediction.hit_ratio,
    "best_single": {"format": name, "predicted": found.alone.value},
    "verified": {
      "advised": dict(findings.advised.mix),
      "mix": verified.mix or verified.single,
      "predicted": found.expected,
      "single": verified.single,
      "stock": verified.stock,
      "stock_format": verified.stock_format,
      "stock_skipped": verified.stock_skipped,
    },
    "gain": None
    if found.gain is None
    else {**dataclasses.asdict(found.gain.interval), "measured": found.gain.measured},
    "verdict": found.verdict,
    "curve": _curve(costs, machine, final),
    "utilisation": _utilisation(costs, machine, final),
    "what_if": advice.what_if(costs, machine, final, said.value),
    "memory": found.memory,
    "convert": advice.converting(costs, machine, final.mix),
    "training": found.training and dataclasses.asdict(found.training),
    "cache": {"bytes": machine.cache_bytes, "share": machine.cache_share},
    "setting": {
      "batch_size": setting.batch_size,
      "threads": setting.threads,
      "trials": options.trials,
      "seconds": options.seconds,
      "reserve": options.reserve,
      "transforms": [str(step) for step in setting.transforms],
      "decode": setting.decode,
      "encoding": options.encoding.record,
      "pcr": options.pcr,
      "least_mssim": options.least_mssim,
    },
    "written_bytes": findings.written,
  }


def _format(
  name: str, findings: outcome.Findings, machine: model.Machine, wrong: float
) -> dict[str, Any]:
  costs, runs = findings.costs, findings.runs[name]
  cost = costs[name]
  # As wrong as of the best format, which ran: so its figure is the one of its runs.
  alone = planner.Choice(
    {name: 1.0}, machine.cache_form, model.predict(costs, machine, {name: 1})
  )
  size = noise.interval(findings.encoded.stored_bytes[name])
  return {
    "bytes": cost.stored_bytes,
    "bytes_interval": None if math.isinf(size.low) else [size.low, size.high],
    "load": 1 / cost.load_seconds,
    "load_runs": probe.rates(runs["load"]),
    "load_cpu_seconds": cost.load_cpu_seconds * findings.setting.threads,
    "decode": probe.rate(runs["decode"]),
    "decode_runs": probe.rates(runs["decode"]),
    "decode_cpu_seconds": statistics.median(r.cpu_seconds for r in runs["decode"]),
    "encode_seconds": cost.encode_seconds,
    "dataset_bytes": cost.stored_bytes * machine.samples,
    "predicted": advice.corrected(alone, wrong).prediction.throughput,
    "lossless": cost.lossless,
    "devices": dict(cost.devices),
    "scans": cost.scans and dataclasses.asdict(cost.scans),
  }


def _curve(
  costs: model.Costs, machine: model.Machine, choice: planner.Choice
) -> dict[str, Any]:
  """Predicted rates along the mixes of two formats.

  Returns:
    `encoded` and `raw`, the smaller and the larger format, and `points`: `share` of
    raw, `load`, `decode`, `throughput`. No points where there is one format only.
  """
  pair = _pair(costs, choice)
  if len(pair) < 2:
    return {"encoded": pair[0], "raw": None, "points": []}
  encoded, raw = pair
  points = []
  for tenths in range(STEPS + 1):
    share = tenths / STEPS
    found = model.predict(costs, machine, {encoded: 1 - share, raw: share})
    points.append(
      {
        "share": share,
        "load": _finite(found.load),
        "decode": _finite(found.decode),
        "throughput": found.throughput,
      }
    )
  return {"encoded": encoded, "raw": raw, "points": points}


def _utilisation(
  costs: model.Costs, machine: model.Machine, choice: planner.Choice
) -> list[dict[str, Any]]:
  """Use of the machine by each format and the mix (Liquid, APSys '23, figure 2).

  Returns:
    `mix`, and shares from 0 to 1: `disk` and `processors` that are busy, `throughput`
    of the best mix's.
  """
  mixes = [{name: 1.0} for name in costs]
  if choice.mix not in mixes:
    mixes.append(dict(choice.mix))
  found = [model.predict(costs, machine, mix) for mix in mixes]
  best = max(prediction.throughput for prediction in found)
  return [
    {
      "mix": mix,
      "disk": prediction.throughput / prediction.load,
      "processors": prediction.throughput / prediction.decode,
      "throughput": prediction.throughput / best,
    }
    for mix, prediction in zip(mixes, found)
  ]


def _pair(costs: model.Costs, choice: planner.Choice) -> list[str]:
  """The mix's two main formats, or its only one and what is least like it; by size."""
  size = {name: cost.stored_bytes for name, cost in costs.items()}
  pair = sorted(choice.mix, key=choice.mix.__getitem__)[-2:]
  if len(pair) == 1:
    group = costs[pair[0]].scans
    others = [
      name
      for name, cost in costs.items()
      if name not in pair
      and (cost.scans is None or (group is None and cost.scans.enough))
    ]
    pair += sorted(others, key=lambda name: abs(size[name] - size[pair[0]]))[-1:]
  return sorted(pair, key=size.__getitem__)


def _finite(rate: float) -> float | None:
  """JSON knows no infinity."""
  return rate if np.isfinite(rate) else None
