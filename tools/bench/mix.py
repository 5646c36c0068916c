"""Loading, decoding and both along the mixes of two formats, on slow and fast disks."""

import os
import pathlib
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from liquid_tf._convert import pipelines
from liquid_tf._convert.source import Source
from liquid_tf._convert.sources.open_source import open_source
from liquid_tf._cost import budget
from liquid_tf._measure import fresh, repeated, throttle
from liquid_tf._measure.stages import STAGES
from liquid_tf._native import encoders
from liquid_tf._profile import sample, search
from liquid_tf._store import manifest as manifests
from tools.bench import photographs

_ENCODED = "png"
# As `convert` encodes by default.
_ENCODING = pipelines.Encoding.of({}, encoders.resolve(None))
# An epoch, which a run should not come to the end of.
_EPOCH_IMAGES = 4096


def measure(
  short: str,
  long: str,
  mixes: Sequence[Mapping[str, float]],
  *,
  batch_size: int,
  threads: int,
  read_bytes_per_s: int | None,
  seconds: float,
  rounds: int,
  stages: Sequence[str] = STAGES,
) -> dict[str, Any]:
  """Runs the stages of mixes in turn, in this process on so many processors.

  Args:
    short: path of a replicated dataset.
    long: path of the same, repeated.
    mixes: weights of formats.
    batch_size: images in a batch.
    threads: processors that this process is held to, and threads that decode.
    read_bytes_per_s: what "load" and "both" may read; None for no such limit.
    seconds: that a run lasts at least.
    rounds: runs of each stage of each mix.
    stages: of STAGES.

  Returns:
    `mixes`: for each, by stage, images per second of each round.
  """
  from liquid_tf._profile.probe import Pipeline, Setting

  os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
  memory = budget.resolve_memory("auto")
  setting = Setting(short, long, batch_size, threads, memory, seconds, {})
  rates: list[dict[str, list[float]]] = [{s: [] for s in stages} for _ in mixes]
  for _ in range(rounds):
    for weights, found in zip(mixes, rates):
      for name in stages:
        pipeline = Pipeline(setting, weights, name)
        with throttle.held(long, None if name == "decode" else read_bytes_per_s):
          found[name].append(pipeline.run().images_per_s)
  return {"mixes": rates}


def make(
  workdir: str | os.PathLike,
  *,
  images: int,
  side: int,
  formats: Sequence[str],
  data: str | None,
  workers: int,
  epoch_images: int = _EPOCH_IMAGES,
  encoded: str = _ENCODED,
) -> tuple[pathlib.Path, dict[str, str]]:
  """Makes photographs and their datasets, unless they are there.

  Args:
    workdir: gets them.
    images: photographs.
    side: of each, in pixels.
    formats: of the datasets.
    data: folder of images to cut photographs from; None for scikit-image's.
    workers: images at a time.
    epoch_images: in the long one, at least.
    encoded: what the photographs are made as, "png" or "jpeg"; other formats get the
      pixels of these files.

  Returns:
    The folder of these files, and the paths of the datasets: `short`, with every
    photograph in every format, and `long`, the same repeated.
  """
  root = pathlib.Path(workdir, f"{images}x{side}")
  photographs.make(root, images, side, data, workers, (encoded,))
  name = "-".join([encoded, *sorted(set(formats) - {encoded})])
  paths = {
    "short": os.fspath(root / f"{name}.short"),
    "long": os.fspath(root / f"{name}.long-{epoch_images}"),
  }
  if not os.path.exists(os.path.join(paths["short"], manifests.MANIFEST)):
    source = open_source(Source(root / encoded), paths["short"], skips=False)
    order = sample.draw(source, 0)
    sample.write(source, order, formats, _ENCODING, workers, paths["short"])
  if not os.path.exists(os.path.join(paths["long"], manifests.MANIFEST)):
    os.makedirs(paths["long"], exist_ok=True)
    manifest = manifests.load(paths["short"])
    repeated.repeat(manifest, -(-epoch_images // images), paths["long"])
  return root / encoded, paths


def bench(
  workdir: str | os.PathLike,
  *,
  images: int,
  side: int,
  others: Sequence[str],
  rates: Sequence[int],
  processors: Sequence[int],
  batch_size: int,
  seconds: float,
  rounds: int,
  data: str | None = None,
  say: Callable[[str], None] = lambda text: None,
) -> dict[str, Any]:
  """Measures a cell for each disk, number of processors and partner of PNG.

  Args:
    workdir: gets the photographs and datasets; those that are there are used.
    images: photographs.
    side: of each, in pixels.
    others: formats that PNG is mixed with.
    rates: bytes per second that the disk gives; 0 for all it has.
    processors: numbers of processors that a process is held to.
    batch_size: images in a batch.
    seconds: that a run lasts at least.
    rounds: runs of everything.
    data: folder of images to cut photographs from; None for scikit-image's.
    say: receives a line of progress.

  Returns:
    The settings, `cells` [{rate, processors, other, mixes: [{share of the other format,
    load, decode, both: medians; rounds}], best: share}], and `skipped`: why throttled
    disks were not measured, or None.

  Raises:
    ChildProcessError: a measurement failed.
    ConvertError: photographs cannot be converted.
  """
  workers = len(os.sched_getaffinity(0))
  formats = (_ENCODED, *others)
  say(f"making {images} photographs of {side}x{side} as {', '.join(formats)}")
  _, paths = make(
    workdir, images=images, side=side, formats=formats, data=data, workers=workers
  )
  skipped = throttle.why_not() if any(rates) else None
  if skipped:
    say(f"throttled disks are left out: {skipped}")
  cells = []
  shares = [tenths / search.STEPS for tenths in range(search.STEPS + 1)]
  for rate in rates:
    for threads in processors:
      for other in others:
        if rate and skipped:
          continue
        found = fresh.run(
          {
            "function": "tools.bench.mix:measure",
            **paths,
            "mixes": [_mix(other, share) for share in shares],
            "batch_size": batch_size,
            "threads": threads,
            "read_bytes_per_s": rate or None,
            "seconds": seconds,
            "rounds": rounds,
          }
        )
        cell = {"rate": rate, "processors": threads, "other": other}
        cells.append(cell | _judge(shares, found["mixes"]))
        say(line(cells[-1]))
  return {
    "images": images,
    "side": side,
    "batch_size": batch_size,
    "seconds": seconds,
    "rounds": rounds,
    "cells": cells,
    "skipped": skipped,
  }


def line(cell: Mapping[str, Any]) -> str:
  """What a cell shows, in words."""
  disk = f"{cell['rate'] / 1e6:g} MB/s" if cell["rate"] else "whole disk"
  rates = {row["share"]: row["both"] for row in cell["mixes"]}
  best = rates[cell["best"]]
  single = max(rates[0.0], rates[1.0])
  return (
    f"{disk}, {cell['processors']} processors, png and {cell['other']}: best at "
    f"{cell['best']:.0%} {cell['other']}, {best:.1f} images/s: {best / rates[0.0]:.2f} "
    f"times png alone, {best / single:.2f} times the better of both"
  )


def _mix(other: str, share: float) -> dict[str, float]:
  weights = {_ENCODED: round(1 - share, 1), other: share}
  return {name: weight for name, weight in weights.items() if weight}


def _judge(shares: Sequence[float], rounds: Sequence[Mapping]) -> dict[str, Any]:
  rows = [
    {
      "share": share,
      **{name: statistics.median(found[name]) for name in STAGES},
      "rounds": found,
    }
    for share, found in zip(shares, rounds)
  ]
  return {"mixes": rows, "best": max(rows, key=lambda row: row["both"])["share"]}
