"""Speeds of formats in the real pipeline, in turn, for figures that compare them."""

import contextlib
import os
import pathlib
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from PIL import Image, ImageOps

from tools.bench.codec_sets import ImageSet

# Height and width of the L3 paper's resolutions.
RESOLUTIONS = {"HD": (720, 1080), "FHD": (1080, 1920), "UHD": (2160, 3840)}
QUICK_RESOLUTIONS = {"HD": (48, 72), "FHD": (72, 128)}

# An epoch, which a run should not come to the end of.
_EPOCH_IMAGES = 1024


def scaled(
  images: ImageSet, height: int, width: int, most: int, folder: pathlib.Path
) -> pathlib.Path:
  """Makes PNG files of one size of a set, scaled by Pillow's Lanczos as in L3's paper.

  Images are turned to lie, and cut to the size's ratio around their middle.

  Args:
    images: a set of photographs.
    height: of each file, in pixels.
    width: likewise.
    most: files.
    folder: gets the folder of them.

  Returns:
    That folder.
  """
  from tools.bench import codec_sets

  made = folder / f"{width}x{height}.png"
  made.mkdir(parents=True, exist_ok=True)
  for i, pixels in enumerate(codec_sets.load(images)[:most]):
    if pixels.shape[0] > pixels.shape[1]:
      pixels = np.rot90(pixels)
    image = Image.fromarray(np.ascontiguousarray(pixels))
    fitted = ImageOps.fit(image, (width, height), Image.Resampling.LANCZOS)
    fitted.save(made / f"{i:03}.png")
  return made


def version_1(files: pathlib.Path) -> pathlib.Path:
  """Makes L3 files of version 1 of a folder of PNG files, in a folder beside it.

  `dataset` stores them byte for byte.
  """
  from liquid_tf import codecs

  made = files.with_suffix(".l3")
  made.mkdir(exist_ok=True)
  for file in sorted(files.iterdir()):
    pixels = np.asarray(Image.open(file))
    contents = codecs.encode_l3(pixels, version=1).numpy()
    (made / f"{file.stem}.l3").write_bytes(contents)
  return made


def dataset(
  files: pathlib.Path,
  formats: Sequence[str],
  folder: pathlib.Path,
  encoders: Mapping[str, Mapping[str, Any]] | None = None,
) -> dict[str, Any]:
  """Makes a dataset with each image in each format, and a long one of links to it.

  Args:
    files: folder of images.
    formats: as in a mix.
    folder: gets both; must not hold them.
    encoders: options, as `liquid_tf.convert` takes them.

  Returns:
    `short` and `long`, their paths, and `image_bytes`, the mean stored bytes by format.

  Raises:
    ConvertError: they cannot be converted.
  """
  from liquid_tf._convert import pipelines
  from liquid_tf._convert.source import Source
  from liquid_tf._convert.sources.open_source import open_source
  from liquid_tf._measure import repeated
  from liquid_tf._native import encoders as options
  from liquid_tf._profile import sample
  from liquid_tf._store.mix import TARGETS

  short, long = os.fspath(folder / "short"), os.fspath(folder / "long")
  source = open_source(Source(files), short, skips=False)
  encoding = pipelines.Encoding.of({}, options.resolve(encoders))
  workers = len(os.sched_getaffinity(0))
  manifest = sample.write(
    source, np.arange(len(source)), formats, encoding, workers, short
  )
  os.makedirs(long)
  repeated.repeat(manifest, -(-_EPOCH_IMAGES // len(source)), long)
  stored = {name: manifest["formats"][TARGETS[name][0]] for name in formats}
  return {
    "short": short,
    "long": long,
    "image_bytes": {
      n: entry["bytes"] / entry["samples"] for n, entry in stored.items()
    },
  }


def cell(made: Mapping[str, Any], name: str) -> dict[str, Any]:
  """One format of what `dataset` made, for `in_turn`."""
  return {"short": made["short"], "long": made["long"], "mix": {name: 1}}


def in_turn(
  cells: Mapping[str, Mapping[str, Any]],
  *,
  batch_size: int,
  seconds: float,
  rounds: int,
  stages: Sequence[str] = ("both",),
  read_bytes_per_s: int | None = None,
) -> dict[str, Any]:
  """Runs pipelines in turn in one fresh process: A, B, .., A, B, ..

  Args:
    cells: by name, what runs: {short, long, mix} of datasets that `dataset` made and
      weights of formats, or {files, shape}, PNG files of [height, width, 3] for stock
      tf.data.
    batch_size: images in a batch.
    seconds: that a run lasts at least.
    rounds: runs of each.
    stages: "load", "decode" and "both" of `liquid_tf`; files have "both" only.
    read_bytes_per_s: what the disk gives to "load" and "both"; None for all it has.

  Returns:
    By cell and stage, for each round, `images_per_s`, and `cpu_ms` of an image: of all
    threads of the process, which a busy neighbour changes less.

  Raises:
    ChildProcessError: a measurement failed.
  """
  from liquid_tf._measure import fresh

  return fresh.run(
    {
      "function": "tools.bench.papers.speeds:measure",
      "cells": dict(cells),
      "batch_size": batch_size,
      "seconds": seconds,
      "rounds": rounds,
      "stages": list(stages),
      "read_bytes_per_s": read_bytes_per_s,
    }
  )


def measure(
  cells: Mapping[str, Mapping[str, Any]],
  batch_size: int,
  seconds: float,
  rounds: int,
  stages: Sequence[str],
  read_bytes_per_s: int | None,
) -> dict[str, Any]:
  """What `in_turn` runs in the fresh process."""
  from liquid_tf._cost import budget
  from liquid_tf._measure import throttle
  from liquid_tf._profile.probe import Pipeline, Setting

  threads = len(os.sched_getaffinity(0))
  memory = budget.resolve_memory("auto")
  found: dict[str, Any] = {
    name: {s: {"images_per_s": [], "cpu_ms": []} for s in _stages(cell, stages)}
    for name, cell in cells.items()
  }
  for _ in range(rounds):
    for name, cell in cells.items():
      for stage, entry in found[name].items():
        if "files" in cell:
          rate, cpu = _stock(cell, batch_size, threads, seconds)
        else:
          setting = Setting(
            cell["short"], cell["long"], batch_size, threads, memory, seconds, ()
          )
          pipeline = Pipeline(setting, cell["mix"], stage)
          with contextlib.ExitStack() as stack:
            if read_bytes_per_s is not None and stage != "decode":
              stack.enter_context(throttle.Throttle(cell["long"], read_bytes_per_s))
            run = pipeline.run()
          rate, cpu = run.images_per_s, run.cpu_seconds
        entry["images_per_s"].append(rate)
        entry["cpu_ms"].append(1000 * cpu)
  return found


def _stages(cell: Mapping[str, Any], stages: Iterable[str]) -> list[str]:
  return ["both"] if "files" in cell else list(stages)


def _stock(
  cell: Mapping[str, Any], batch_size: int, threads: int, seconds: float
) -> tuple[float, float]:
  """Images per second of stock tf.data, and processor seconds of an image."""
  from liquid_tf._measure import stock

  data = stock.stock_dataset(
    cell["files"], "png", batch_size, cell["shape"], threads, repeats=1 << 20
  )
  batches = iter(data)
  for _ in range(2):  # Warms up.
    next(batches)
  begin, cpu, images = time.perf_counter(), time.process_time(), 0
  while time.perf_counter() - begin < seconds:
    images += int(next(batches).shape[0])
  spent = time.perf_counter() - begin
  return images / spent, (time.process_time() - cpu) / images
