"""The profiler's advice while another process keeps a processor busy.

  python tests/bench/busy_study.py --rate=400 --times=5
  python tests/bench/busy_study.py --rate=0 --formats=png,l3,raw

Each time, the profiler chooses by its linear programme; then the eleven mixes in tenths
of the first and the last format run in turn, and the best of them once more in turn
with the advised one, so that its luck in the first runs does not count, and for longer,
as runs of a second differ by a quarter. Asked of it each time: advice within
--most_seconds, and a mix within 7 % of the best, by the mean of the ratios of both in a
round. What the first format takes of a processor, in the profile and after all, tells
whether the machine was still the same.
The exit code is 1 where it misses. With --rate=0 the disk is as it is; other rates need
root.
"""

import contextlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

import apart
from absl import app, flags

from liquid_tf._measure import throttle
from liquid_tf._profile import noise, run, stake
from tools.bench import photographs

_FORMATS = flags.DEFINE_list("formats", ["png", "raw"], "to choose from, png first")
_RATE = flags.DEFINE_float("rate", 400, "MB/s of the disk; 0: all that it gives", 0)
_BUSY = flags.DEFINE_integer("busy", 1, "processes that compute all the time", 0)
_TIMES = flags.DEFINE_integer("times", 5, "profiles", 1)
_IMAGES = flags.DEFINE_integer("images", 64, "photographs", 8)
_SIDE = flags.DEFINE_integer("side", 1024, "of a photograph, in pixels", 16)
_BATCH_SIZE = flags.DEFINE_integer("batch_size", 8, "images in a batch", 1)
_TRIALS = flags.DEFINE_integer("trials", 3, "rounds of a profile, at least", 2)
_ROUNDS = flags.DEFINE_integer("rounds", 5, "runs of each of the eleven mixes", 1)
_SECONDS = flags.DEFINE_float("seconds", 1.0, "that a run lasts at least", 0.01)
_MUCH = flags.DEFINE_float(
  "much",
  stake.MUCH,
  "share of the speed that advice may lose to one format alone; above it nothing is "
  "advised",
)
_MOST_SECONDS = flags.DEFINE_float(
  "most_seconds", run.MOST_SECONDS, "that a profile may take", 0
)
_WITHIN = flags.DEFINE_float("within", 0.07, "of the best mix's speed", 0)
_WORKDIR = flags.DEFINE_string("workdir", None, "keep what is made here")
_OUTPUT = flags.DEFINE_string("output", None, "write the JSON object here")

# The best mix and the advised one run so many times as long, and as often, against each
# other.
_LONGER = 4
_AGAIN = 2


@contextlib.contextmanager
def _busy(count: int) -> Iterator[None]:
  """Other processes that compute."""
  command = [sys.executable, "-c", "while True: pass"]
  others = [subprocess.Popen(command) for _ in range(count)]
  try:
    yield
  finally:
    for other in others:
      other.kill()
      other.wait()


def _once(
  source: pathlib.Path, paths: dict[str, str], rate: int | None
) -> dict[str, Any]:
  threads = len(os.sched_getaffinity(0))
  options = {
    "formats": _FORMATS.value,
    "cache": 0,
    "directory": os.fspath(source.parent),
    "batch_size": _BATCH_SIZE.value,
    "runs": (_TRIALS.value, _SECONDS.value),
    "threads": threads,
  }
  limits = _MUCH.value, _MOST_SECONDS.value
  found = apart.run(apart.profile, os.fspath(source), options, rate, *limits)
  if isinstance(found, str):
    return {"refused": found}
  first, last = _FORMATS.value[0], _FORMATS.value[-1]
  tenths = [{first: 1 - n / 10, last: n / 10} for n in range(11)]
  mixes = [{name: share for name, share in m.items() if share} for m in tenths]
  request = {
    "batch_size": _BATCH_SIZE.value,
    "threads": threads,
    "read_bytes_per_s": rate,
    "seconds": _SECONDS.value,
    "rounds": _ROUNDS.value,
  }
  runs = apart.run(apart.mixes, paths, mixes, request)
  rates = [statistics.median(run) for run in runs]
  best = mixes[max(range(11), key=rates.__getitem__)]
  again = {
    "rounds": _AGAIN * max(2, _ROUNDS.value),
    "seconds": _LONGER * _SECONDS.value,
  }
  ours, others = apart.run(apart.mixes, paths, [found["mix"], best], request | again)
  after = apart.run(apart.decoding, paths, first, _BATCH_SIZE.value)
  return {
    "decoding": [found["formats"][first]["decode_cpu_seconds"], after],
    "advised": found["mix"],
    "predicted": found["predicted"],
    "interval": found["predicted_interval"],
    "at_stake": found["at_stake"],
    "gain": found["gain"],
    "seconds": found["seconds"],
    "verdict": found["verdict"],
    "mixes": [{"mix": m, "rate": r} for m, r in zip(mixes, rates)],
    "best": best,
    "measured": statistics.median(ours),
    "of_best": vars(noise.ratio(ours, others)),
    "again": [ours, others],
  }


def _failures(found: dict[str, Any]) -> list[str]:
  if "refused" in found:
    return [found["refused"]]
  failures = []
  if found["seconds"] > _MOST_SECONDS.value:
    failures.append(f"advice took {found['seconds']:.0f} s")
  loss = 1 - found["of_best"]["mean"]
  if loss > _WITHIN.value:
    failures.append(f"{found['advised']} is {loss:.0%} slower than {found['best']}")
  return failures


def main(argv: list[str]) -> None:
  if len(argv) > 1:
    raise app.UsageError(f"unexpected argument: {argv[1]}")
  rate = int(_RATE.value * 1e6) or None
  reason = throttle.why_not() if rate else None
  if reason:
    sys.exit(f"cannot throttle: {reason}")
  results, missed = [], 0
  with tempfile.TemporaryDirectory(prefix="liquid_study_") as temporary:
    source, paths = photographs.replicated(
      _WORKDIR.value or temporary,
      images=_IMAGES.value,
      side=_SIDE.value,
      formats=_FORMATS.value,
      data=None,
      workers=len(os.sched_getaffinity(0)),
    )
    with _busy(_BUSY.value):
      for number in range(1, _TIMES.value + 1):
        found = _once(source, paths, rate)
        results.append(found)
        if "refused" not in found:
          ends = found["of_best"]
          print(
            f"{number}: advised {found['advised']} in {found['seconds']:.0f} s, "
            f"{found['measured']:.1f} images/s; best {found['best']}; of its speed "
            f"{ends['mean']:.2f} ({ends['low']:.2f} to {ends['high']:.2f})"
          )
          print("  " + found["verdict"])
          during, after = (1e3 * seconds for seconds in found["decoding"])
          print(
            f"  {_FORMATS.value[0]} took {during:.2f} ms of a processor in the "
            f"profile, and {after:.2f} ms after all"
          )
        for sentence in _failures(found):
          missed += 1
          print(f"  MISSED: {sentence}")
        sys.stdout.flush()
  if _OUTPUT.value:
    pathlib.Path(_OUTPUT.value).write_text(json.dumps(results, indent=1) + "\n")
  sys.exit(1 if missed else 0)


if __name__ == "__main__":
  app.run(main)
