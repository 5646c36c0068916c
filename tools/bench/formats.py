"""Puts formats, and the mix that a profile advises, side by side on slow disks.

  python -m tools.bench formats --rates=100,300 --data=photos --workdir=work

Only root may hold the disk back (--rates).
"""

import os
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from liquid_tf._graph.dataset import dataset as open_dataset
from liquid_tf._measure import epochs
from liquid_tf._pipeline.tuning import Tuning
from liquid_tf._profile import names
from liquid_tf._profile.profile import profile
from liquid_tf._store import manifest as manifests
from liquid_tf._store.mix import TARGETS, parse_mix
from liquid_tf.transforms import Step
from tools.bench import machine, page, photographs, stages, turns

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
  with machine.held(directory, read_bytes_per_s):
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
  datasets = {}
  for number, weights in enumerate(mixes):
    dataset = open_dataset(
      path,
      batch_size,
      mix={TARGETS[name][0]: weight for name, weight in weights.items()},
      # No buffer has to be filled first, as it need not in the middle of a long epoch.
      shuffle=False,
      cache=0,
      tuning=Tuning(parallelism=threads),
    )
    datasets[number] = epochs.with_threads(dataset, threads)
  for dataset in datasets.values():
    epochs.consume(dataset.take(_WARM_UP))
  with machine.held(path, read_bytes_per_s):
    found = stages.epochs_in_turn(datasets, rounds)
  return {"mixes": list(found.values())}


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
    `epoch_images`, as many as there are, `image_bytes` {format: mean stored bytes},
    `cells` [{rate, advised {format: share}, verdict, rows [{name, mix, image_bytes,
    images_per_s, disk_bytes_per_s, busy: medians; rounds}]}], and `skipped`: why
    throttled disks were not measured, or None.

  Raises:
    ValueError: a format cannot be compared here.
    ChildProcessError: a measurement failed, or is too noisy for advice.
    ConvertError: photographs cannot be converted.
  """
  parse_mix(dict.fromkeys(formats, 1))
  if "pcr" in formats:
    raise ValueError(
      "pcr is not compared here; `liquid-tf profile` measures its groups"
    )
  say(f"making {images} photographs of {side}x{side} as {', '.join(formats)}")
  source, made = photographs.replicated(
    workdir,
    images=images,
    side=side,
    formats=formats,
    data=data,
    workers=threads,
    epoch_images=epoch_images,
  )
  image_bytes = made["image_bytes"]
  usable, skipped = turns.disks(rates, say)
  cells = []
  for rate in usable:
    disk = turns.disk_name(rate, "whole disk")
    how = {"batch_size": batch_size, "threads": threads}
    how["read_bytes_per_s"] = rate or None
    say(f"{disk}: profiling")
    advice = turns.apart(
      advise,
      source=source,
      directory=source.parent,
      formats=list(formats),
      seconds=seconds,
      **how,
    )
    mixes = [{name: 1} for name in formats]
    if len(advice["mix"]) > 1:
      mixes.append(advice["mix"])
    found = turns.apart(measure, path=made["long"], mixes=mixes, rounds=rounds, **how)
    rows = [
      _row(weights, image_bytes, measured)
      for weights, measured in zip(mixes, found["mixes"])
    ]
    cell = {"rate": rate, "advised": advice["mix"], "verdict": advice["verdict"]}
    cells.append(cell | {"rows": rows})
    for row in rows:
      say(f"{disk}, {row['name']}: {row['images_per_s']:.0f} images/s")
  return {
    "epoch_images": manifests.load(made["long"])["samples"],
    "image_bytes": image_bytes,
    "cells": cells,
    "skipped": skipped,
  }


def _row(
  weights: Mapping[str, float],
  image_bytes: Mapping[str, float],
  measured: list[dict[str, float]],
) -> dict[str, Any]:
  total = sum(weights.values())
  size = sum(image_bytes[name] * weight / total for name, weight in weights.items())
  return {
    "name": names.describe(weights),
    "mix": dict(weights),
    "image_bytes": size,
    **{key: statistics.median(one[key] for one in measured) for key in measured[0]},
    "rounds": measured,
  }


def text(result: dict[str, Any]) -> str:
  """A line of Markdown for each format and advised mix of each disk."""
  rows = []
  for cell in sorted(result["cells"], key=lambda cell: cell["rate"] or float("inf")):
    singles = [row["images_per_s"] for row in cell["rows"] if len(row["mix"]) == 1]
    for row in cell["rows"]:
      rates = [one["images_per_s"] for one in row["rounds"]]
      mark = " (advised)" if row["mix"].keys() == cell["advised"].keys() else ""
      rows.append(
        [
          turns.disk_name(cell["rate"], "whole disk"),
          f"{row['name']}{mark}",
          f"{row['image_bytes'] / 1e3:.0f}",
          page.span(rates),
          f"{row['images_per_s'] / max(singles):.2f}",
          f"{row['disk_bytes_per_s'] / 1e6:.0f}",
          f"{row['busy']:.0%}",
        ]
      )
  head = ["disk", "stored as", "KB an image", "images/s (least to most)"]
  return page.table([*head, "to the best single", "read MB/s", "busy"], rows, (0, 1))


def section(result: dict[str, Any]) -> page.Section:
  """What was measured, how, with what, and the table."""
  left_out = turns.left_out([result])
  return page.section("formats", result, left_out=left_out, table=text(result))
