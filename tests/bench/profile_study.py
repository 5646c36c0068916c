"""The profiler's advice beside all mixes measured, on throttled disks.

  python tests/bench/profile_study.py --rates=60,150,400 --processors=1,2
  python tests/bench/profile_study.py --formats=png,webp,raw,jpeg,l3 --rates=150

Runs as root: a blkio cgroup holds the disk to so many MB/s. With two formats, for each
disk and number of processors, the profiler's binary search runs, then all eleven mixes.
Asked of it: the search's mix is within one step of the best of the eleven, or as fast
as that within 5 %; what it predicts is within 15 % of what the same mix is measured at,
and what costs alone predict within 8 % of the profile's own last runs; the best share
of the larger format does not fall as the disk gets faster; and in one cell the best mix
is twice as fast as the first format and 1.15 times the better one.
With more formats, the linear programme's mix is to be within 10 % of the best of all
pairs in tenths. The exit code is 1 where something asked for is missed.
"""

import itertools
import json
import os
import pathlib
import statistics
import sys
import tempfile
from typing import Any

import apart
from absl import app, flags

from liquid_tf._measure import throttle
from liquid_tf._profile import run, stake
from tools.bench import photographs

_FORMATS = flags.DEFINE_list("formats", ["png", "raw"], "to choose from, png first")
_RATES = flags.DEFINE_list("rates", ["60", "150", "400"], "MB/s of the disk")
_PROCESSORS = flags.DEFINE_list("processors", ["1", "2"], "that a process is held to")
_IMAGES = flags.DEFINE_integer("images", 64, "photographs", 8)
_SIDE = flags.DEFINE_integer("side", 1024, "of a photograph, in pixels", 16)
_BATCH_SIZE = flags.DEFINE_integer("batch_size", 8, "images in a batch", 1)
_TRIALS = flags.DEFINE_integer("trials", 3, "runs of everything in a profile", 2)
_ROUNDS = flags.DEFINE_integer(
  "rounds", 3, "runs of each mix that the advice is compared with", 1
)
_SECONDS = flags.DEFINE_float("seconds", 1.0, "that a run lasts at least", 0.01)
_MUCH = flags.DEFINE_float(
  "much",
  stake.MUCH,
  "share of the speed that advice may lose to one format alone; above it nothing is "
  "advised",
)
_WORKDIR = flags.DEFINE_string("workdir", None, "keep what is made here")
_OUTPUT = flags.DEFINE_string("output", None, "write the JSON object here")

_PREDICTED, _BY_COSTS, _AS_FAST, _BEST_PAIR = 0.15, 0.08, 0.05, 0.10
_OF_FIRST, _OF_SINGLE = 2.0, 1.15


def _candidates(formats: list[str]) -> list[dict[str, float]]:
  """All pairs in tenths, with what is single once."""
  mixes = [{name: 1.0} for name in formats]
  for one, other in itertools.combinations(formats, 2):
    mixes += [{one: (10 - n) / 10, other: n / 10} for n in range(1, 10)]
  return mixes


def _cell(
  source: pathlib.Path, paths: dict[str, str], rate: int, processors: int
) -> dict[str, Any]:
  formats = _FORMATS.value
  strategy = "search" if len(formats) == 2 else "lp"
  common = {"batch_size": _BATCH_SIZE.value, "threads": processors}
  common |= {"seconds": _SECONDS.value}
  options = {"formats": formats, "strategy": strategy, "cache": 0}
  options |= {"directory": os.fspath(source.parent), "batch_size": _BATCH_SIZE.value}
  options |= {"runs": (_TRIALS.value, _SECONDS.value)}
  options |= {"threads": processors}
  limits = _MUCH.value, run.MOST_SECONDS
  found = apart.run(apart.profile, os.fspath(source), options, rate, *limits)
  cell = {"rate": rate, "processors": processors}
  if isinstance(found, str):
    return cell | {"noise": found}
  advised = found["mix"]
  mixes = _candidates(formats)
  # The advised mix in the same rounds as those that it is compared with.
  request = common | {"read_bytes_per_s": rate, "rounds": _ROUNDS.value}
  runs = apart.run(apart.mixes, paths, [*mixes, advised], request)
  rates = [statistics.median(run) for run in runs]
  return cell | {
    "advised": advised,
    "predicted": found["predicted"],
    "measured": rates[-1],
    # What the profile ran last, and refuses where it came out slower than one format.
    "candidate": {
      "mix": found["verified"]["advised"],
      "rate": statistics.median(found["verified"]["mix"]),
      # By what formats cost alone; "predicted" is corrected by these runs.
      "modelled": found["verified"]["predicted"],
    },
    "mixes": [{"mix": m, "rate": r} for m, r in zip(mixes, rates)],
    "seconds": found["seconds"],
    "written_bytes": found["written_bytes"],
    "verdict": found["verdict"],
  }


def _failures(cell: dict[str, Any]) -> list[str]:
  """What a cell misses."""
  if "noise" in cell:
    return [cell["noise"]]
  best = max(cell["mixes"], key=lambda entry: entry["rate"])
  failures = []
  error = cell["predicted"] / cell["measured"] - 1
  if abs(error) > _PREDICTED:
    failures.append(f"predicted {error:+.0%} beside what was measured")
  candidate = cell["candidate"]
  error = candidate["modelled"] / candidate["rate"] - 1
  if abs(error) > _BY_COSTS:
    failures.append(f"costs alone predicted {error:+.0%} beside the last runs")
  loss = 1 - cell["measured"] / best["rate"]
  if len(_FORMATS.value) > 2:
    if loss > _BEST_PAIR:
      failures.append(f"{loss:.0%} slower than {best['mix']}")
  else:
    last = _FORMATS.value[1]
    steps = 10 * abs(cell["advised"].get(last, 0) - best["mix"].get(last, 0))
    if round(steps) > 1 and loss > _AS_FAST:
      failures.append(f"{steps:.0f} steps and {loss:.0%} away from {best['mix']}")
  return failures


def _over_cells(cells: list[dict[str, Any]]) -> list[str]:
  """What all cells of two formats together miss."""
  first, last = _FORMATS.value
  failures, gains = [], []
  for processors in sorted({cell["processors"] for cell in cells}):
    shares = []
    for cell in sorted(cells, key=lambda c: c["rate"]):
      if cell["processors"] != processors or "noise" in cell:
        continue
      rates = {e["mix"].get(last, 0.0): e["rate"] for e in cell["mixes"]}
      best = max(rates, key=rates.__getitem__)
      shares.append(best)
      gains.append((rates[best] / rates[0.0], rates[best] / max(rates[0], rates[1])))
    # Neighbours are about as fast, so noise may move it by a step.
    if any(b < a - 0.15 for a, b in itertools.pairwise(shares)):
      failures.append(f"{processors} processors: best shares of {last} are {shares}")
  if not any(a >= _OF_FIRST and b > _OF_SINGLE for a, b in gains):
    listed = ", ".join(f"{a:.2f} and {b:.2f}" for a, b in gains)
    failures.append(f"gains over {first} and over the better single: {listed}")
  return failures


def main(argv: list[str]) -> None:
  if len(argv) > 1:
    raise app.UsageError(f"unexpected argument: {argv[1]}")
  reason = throttle.why_not()
  if reason:
    sys.exit(f"cannot throttle: {reason}")
  cells, failures = [], []
  with tempfile.TemporaryDirectory(prefix="liquid_study_") as temporary:
    source, paths = photographs.replicated(
      _WORKDIR.value or temporary,
      images=_IMAGES.value,
      side=_SIDE.value,
      formats=_FORMATS.value,
      data=None,
      workers=len(os.sched_getaffinity(0)),
    )
    for rate, processors in itertools.product(_RATES.value, _PROCESSORS.value):
      cell = _cell(source, paths, int(float(rate) * 1e6), int(processors))
      cells.append(cell)
      missed = _failures(cell)
      failures += missed
      title = f"{rate} MB/s, {processors} processors"
      if "noise" not in cell:
        best = max(cell["mixes"], key=lambda entry: entry["rate"])
        candidate = cell["candidate"]
        print(
          f"{title}: advised {cell['advised']}, {cell['predicted']:.1f} images/s "
          f"predicted, {cell['measured']:.1f} measured; best {best['mix']}, "
          f"{best['rate']:.1f}; {candidate['modelled']:.1f} predicted by costs alone "
          f"of {candidate['mix']}; profiled in {cell['seconds']:.0f} s, "
          f"{cell['written_bytes'] / 1e6:.0f} MB written"
        )
        print("  " + cell["verdict"])
      for sentence in missed:
        print(f"  MISSED: {sentence}", flush=True)
  if len(_FORMATS.value) == 2:
    for sentence in _over_cells(cells):
      print(f"MISSED: {sentence}")
      failures.append(sentence)
  if _OUTPUT.value:
    pathlib.Path(_OUTPUT.value).write_text(json.dumps(cells, indent=1) + "\n")
  sys.exit(1 if failures else 0)


if __name__ == "__main__":
  app.run(main)
