"""Formats, and the mix that a profile advises, on disks of several speeds."""

import os
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from liquid_tf._measure import epochs, fresh, throttle
from liquid_tf._pipeline.dataset import dataset as open_dataset
from liquid_tf._pipeline.tuning import Tuning
from liquid_tf._profile import measure as profiled
from liquid_tf._profile.profile import profile
from liquid_tf._store import manifest as manifests
from liquid_tf._store.mix import TARGETS
from liquid_tf.transforms import Step
from tools.bench import mix, stages

_TRIALS = 3
# Batches of each contestant before anything counts.
_WARM_UP = 2


def advise(
  source: str,
  directory: str,
  *,
  formats: Sequence[str],
  batch_size: int,
  threads: int,
  read_bytes_per_s: int | None,
  seconds: float,
  cache: int | str = 0,
  transforms: Sequence[Step] = (),
) -> dict[str, Any]:
  """Profiles images on a disk that is held to a rate.

  Args:
    source: a folder of images.
    directory: on the disk.
    formats: to choose from.
    batch_size: images in a batch.
    threads: that decode at once.
    read_bytes_per_s: what this process may read; None for no such limit.
    seconds: that a run of the profile lasts at least.
    cache: what memory keeps between epochs, as `profile` takes it.
    transforms: of the training, as `profile` takes them.

  Returns:
    `mix`, the advised shares, and `verdict`.
  """
  with throttle.held(directory, read_bytes_per_s):
    found = profile(
      source,
      formats,
      directory=directory,
      runs=(_TRIALS, seconds),
      batch_size=batch_size,
      cache=cache,
      transforms=transforms,
      threads=threads,
      say=None,
    )
  return {"mix": found.mix, "verdict": found.verdict}


def measure(
  path: str,
  mixes: Sequence[Mapping[str, float]],
  *,
  batch_size: int,
  threads: int,
  read_bytes_per_s: int | None,
  rounds: int,
) -> dict[str, Any]:
  """Runs whole epochs of `liquid_tf.dataset` of mixes in turn, with no cache.

  Args:
    path: a replicated dataset.
    mixes: weights of formats.
    batch_size: images in a batch.
    threads: of tf.data, and decoding tasks per batch.
    read_bytes_per_s: what this process may read; None for no such limit.
    rounds: epochs of each mix.

  Returns:
    `mixes`: for each, a list of what `stages.epoch` gives.
  """
  datasets = []
  for weights in mixes:
    dataset = open_dataset(
      path,
      batch_size,
      mix={TARGETS[name][0]: weight for name, weight in weights.items()},
      # No buffer has to be filled first, as it need not in the middle of a long epoch.
      shuffle=False,
      cache=0,
      tuning=Tuning(parallelism=threads),
    )
    datasets.append(epochs.with_threads(dataset, threads))
  for dataset in datasets:
    epochs.consume(dataset.take(_WARM_UP))
  found: list[list[dict[str, float]]] = [[] for _ in mixes]
  with throttle.held(path, read_bytes_per_s):
    for _ in range(rounds):
      for entry, dataset in zip(found, datasets):
        entry.append(stages.epoch(dataset))
  return {"mixes": found}


def bench(
  workdir: str | os.PathLike,
  *,
  images: int,
  side: int,
  epoch_images: int,
  formats: Sequence[str],
  rates: Sequence[int],
  batch_size: int,
  threads: int,
  seconds: float,
  rounds: int,
  data: str | None = None,
  say: Callable[[str], None] = lambda text: None,
) -> dict[str, Any]:
  """Measures every format and the advised mix for each disk.

  Args:
    workdir: gets the photographs and datasets; those that are there are used.
    images: photographs.
    side: of each, in pixels.
    epoch_images: in an epoch, at least; the photographs come again until there are as
      many.
    formats: of the dataset.
    rates: bytes per second that the disk gives; 0 for all it has.
    batch_size: images in a batch.
    threads: of tf.data.
    seconds: that a run of the profile lasts at least.
    rounds: epochs of everything, in turn.
    data: folder of images to cut photographs from; None for scikit-image's.
    say: receives a line of progress.

  Returns:
    The settings, `image_bytes` {format: mean stored bytes}, `cells` [{rate, advised
    {format: share}, verdict, rows [{name, mix, image_bytes, images_per_s,
    disk_bytes_per_s, busy: medians; rounds}]}], and `skipped`: why throttled disks were
    not measured, or None.

  Raises:
    ChildProcessError: a measurement failed, or is too noisy for advice.
    ConvertError: photographs cannot be converted.
  """
  say(f"making {images} photographs of {side}x{side} as {', '.join(formats)}")
  source, paths = mix.make(
    workdir,
    images=images,
    side=side,
    formats=formats,
    data=data,
    workers=threads,
    epoch_images=epoch_images,
  )
  stored = manifests.load(paths["short"])["formats"]
  image_bytes = {
    name: stored[TARGETS[name][0]]["bytes"] / stored[TARGETS[name][0]]["samples"]
    for name in formats
  }
  skipped = throttle.why_not() if any(rates) else None
  if skipped:
    say(f"throttled disks are left out: {skipped}")
  cells = []
  for rate in rates:
    if rate and skipped:
      continue
    how = {
      "batch_size": batch_size,
      "threads": threads,
      "read_bytes_per_s": rate or None,
    }
    say(f"{disk_name(rate)}: profiling")
    advice = fresh.run(
      {
        "function": "tools.bench.formats:advise",
        "source": os.fspath(source),
        "directory": os.fspath(source.parent),
        "formats": list(formats),
        "seconds": seconds,
        **how,
      }
    )
    mixes = [{name: 1} for name in formats]
    if len(advice["mix"]) > 1:
      mixes.append(advice["mix"])
    found = fresh.run(
      {
        "function": "tools.bench.formats:measure",
        "path": paths["long"],
        "mixes": mixes,
        "rounds": rounds,
        **how,
      }
    )
    rows = [
      _row(weights, image_bytes, measured)
      for weights, measured in zip(mixes, found["mixes"])
    ]
    cell = {"rate": rate, "advised": advice["mix"], "verdict": advice["verdict"]}
    cells.append(cell | {"rows": rows})
    for row in rows:
      say(f"{disk_name(rate)}, {row['name']}: {row['images_per_s']:.0f} images/s")
  return {
    "images": images,
    "side": side,
    "epoch_images": manifests.load(paths["long"])["samples"],
    "batch_size": batch_size,
    "threads": threads,
    "seconds": seconds,
    "rounds": rounds,
    "image_bytes": image_bytes,
    "cells": cells,
    "skipped": skipped,
  }


def disk_name(rate: int) -> str:
  """What a disk is called."""
  return f"{rate / 1e6:g} MB/s" if rate else "whole disk"


def _row(
  weights: Mapping[str, float],
  image_bytes: Mapping[str, float],
  measured: list[dict[str, float]],
) -> dict[str, Any]:
  total = sum(weights.values())
  size = sum(image_bytes[name] * weight / total for name, weight in weights.items())
  return {
    "name": profiled.describe(weights),
    "mix": dict(weights),
    "image_bytes": size,
    **{key: statistics.median(one[key] for one in measured) for key in measured[0]},
    "rounds": measured,
  }
