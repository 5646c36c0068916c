"""`mix="auto"` beside all mixes, on a disk whose speed changes while it runs.

  python tests/bench/auto_mix_study.py --rates=250,80,250

Runs as root: a blkio cgroup holds the disk to so many MB/s, and to the next of the
rates in the middle of an epoch. At each rate all eleven mixes of two formats are
measured, an epoch each. Asked of `mix="auto"`: from the fourth whole epoch behind a
change on, the median of three epochs is within 15 % of the best of the eleven, and in
these three its mix does not go to and fro: shares of the second format are within a
tenth. The exit code is 1 where something asked for is missed.
"""

import json
import os
import pathlib
import statistics
import sys
import tempfile
from typing import Any

from absl import app, flags

from liquid_tf._measure import repeated, throttle
from liquid_tf._store import manifest as manifests
from tools.bench import photographs

_FORMATS = flags.DEFINE_list("formats", ["png", "raw"], "to choose from, png first")
_RATES = flags.DEFINE_list("rates", ["250", "80", "250"], "MB/s of the disk, in turn")
_PROCESSORS = flags.DEFINE_integer("processors", 2, "that decode", 1)
_IMAGES = flags.DEFINE_integer("images", 64, "photographs", 8)
_SIDE = flags.DEFINE_integer("side", 256, "of a photograph, in pixels", 16)
_EPOCH = flags.DEFINE_integer("epoch", 3840, "images in an epoch", 64)
_BATCH_SIZE = flags.DEFINE_integer("batch_size", 32, "images in a batch", 1)
_CACHE = flags.DEFINE_string("cache", "0", "memory that lasts between epochs")
_ROUNDS = flags.DEFINE_integer("rounds", 1, "epochs of every mix at every rate", 1)
_WORKDIR = flags.DEFINE_string("workdir", None, "keep what is made here")
_OUTPUT = flags.DEFINE_string("output", None, "write the JSON object here")

# Epochs behind a change until it has to be found, and epochs then that are looked at.
_FIND, _LOOK = 3, 3
_WITHIN, _TO_AND_FRO = 0.15, 0.1


def _datasets(workdir: str) -> str:
  """A replicated dataset of an epoch's length; made where it is not there."""
  _, paths = photographs.replicated(
    workdir,
    images=_IMAGES.value,
    side=_SIDE.value,
    formats=_FORMATS.value,
    data=None,
    workers=len(os.sched_getaffinity(0)),
  )
  path = f"{paths['short']}.{_EPOCH.value}"
  if not os.path.exists(os.path.join(path, manifests.MANIFEST)):
    os.makedirs(path, exist_ok=True)
    repeats = -(-_EPOCH.value // _IMAGES.value)
    repeated.repeat(manifests.load(paths["short"]), repeats, path)
  return path


def _open(path: str, weights: Any):
  import liquid_tf

  return liquid_tf.dataset(
    path,
    _BATCH_SIZE.value,
    mix=weights,
    cache=_CACHE.value,
    tuning=liquid_tf.graph.Tuning(parallelism=_PROCESSORS.value),
  )


def _epoch(dataset, halfway=lambda: None) -> dict[str, float]:
  """Runs an epoch; `halfway` is called in its middle. Images per second."""
  import liquid_tf

  half = int(dataset.cardinality()) // 2
  for number, _ in enumerate(dataset):
    if number == half:
      halfway()
  entry = liquid_tf.stats(dataset).epochs[-1]
  samples = entry["samples"]
  images = sum(samples.values())
  return {
    "share": samples.get(_FORMATS.value[1], 0) / images,
    "rate": images / entry["seconds"]["step"],
    "records_waited": entry["seconds"]["read"] / entry["seconds"]["step"],
    "disk": entry["disk_bytes"] / entry["seconds"]["step"] / 1e6,
    "fill": entry["fill"]["bytes"] / max(1e-9, entry["fill"]["seconds"]) / 1e6,
    "decoders": sum(entry["decode_seconds"].values()) / entry["seconds"]["step"],
  }


def _static(path: str, limit: throttle.Throttle, rates: list[int]) -> dict[int, list]:
  """Images per second of every mix, in tenths of the second format, by rate."""
  first, second = _FORMATS.value
  found = {}
  for rate in sorted(set(rates)):
    limit.set_rate(rate)
    found[rate] = []
    for tenths in range(11):
      weights = {first: 10 - tenths, second: tenths}
      dataset = _open(path, {name: n for name, n in weights.items() if n})
      if _CACHE.value != "0":
        _epoch(dataset)  # fills the cache
      measured = [_epoch(dataset)["rate"] for _ in range(_ROUNDS.value)]
      found[rate].append(statistics.median(measured))
    print(f"{rate / 1e6:g} MB/s:", *(f"{value:.0f}" for value in found[rate]))
  return found


def _auto(path: str, limit: throttle.Throttle, rates: list[int]) -> list[list[dict]]:
  """The epochs at each rate; the last of them meets the next rate in its middle."""
  dataset = _open(path, "auto")
  limit.set_rate(rates[0])
  phases = []
  for following in [*rates[1:], None]:
    epochs = [_epoch(dataset) for _ in range(_FIND + _LOOK)]
    phases.append(epochs)
    for entry in epochs:
      print("  " + ", ".join(f"{key} {value:.3g}" for key, value in entry.items()))
    if following is not None:
      _epoch(dataset, lambda rate=following: limit.set_rate(rate))
      print(f"  changed to {following / 1e6:g} MB/s", flush=True)
  return phases


def _failures(rate: int, static: list[float], epochs: list[dict]) -> list[str]:
  best = max(static)
  looked = epochs[_FIND:]
  median = statistics.median(entry["rate"] for entry in looked)
  shares = [entry["share"] for entry in looked]
  print(
    f"{rate / 1e6:g} MB/s: {median:.1f} images/s at {statistics.mean(shares):.0%} "
    f"{_FORMATS.value[1]}; best of all {best:.1f} at {static.index(best)} tenths"
  )
  failures = []
  if median < (1 - _WITHIN) * best:
    failures.append(f"{1 - median / best:.0%} slower than the best mix")
  if max(shares) - min(shares) > _TO_AND_FRO:
    failures.append(f"the mix went to and fro: {shares}")
  return failures


def main(argv: list[str]) -> None:
  if len(argv) > 1:
    raise app.UsageError(f"unexpected argument: {argv[1]}")
  reason = throttle.why_not()
  if reason:
    sys.exit(f"cannot throttle: {reason}")
  rates = [int(float(rate) * 1e6) for rate in _RATES.value]
  failures = []
  with tempfile.TemporaryDirectory(prefix="liquid_study_") as temporary:
    path = _datasets(_WORKDIR.value or temporary)
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: _PROCESSORS.value])
    with throttle.Throttle(path, rates[0]) as limit:
      static = _static(path, limit, rates)
      phases = _auto(path, limit, rates)
  for rate, epochs in zip(rates, phases):
    for sentence in _failures(rate, static[rate], epochs):
      print(f"  MISSED: {sentence}")
      failures.append(sentence)
  if _OUTPUT.value:
    found = {"static": static, "auto": phases, "rates": rates}
    pathlib.Path(_OUTPUT.value).write_text(json.dumps(found, indent=1) + "\n")
  sys.exit(1 if failures else 0)


if __name__ == "__main__":
  app.run(main)
