"""Pipelines, and their two stages by themselves, turn about in one process."""

import contextlib
import functools
import os
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import tensorflow as tf

from liquid_tf._cost import budget
from liquid_tf._graph.dataset import dataset as open_dataset
from liquid_tf._measure import epochs, process, stock
from liquid_tf._measure.epochs import STAGES, stage_options
from liquid_tf._pipeline.tuning import Tuning
from liquid_tf._profile.probe import Pipeline, Setting
from tools.bench import machine, turns

_KEYS = ("images_per_s", "disk_bytes_per_s", "busy")


def pipelines(
  cells: Mapping[str, Mapping[str, Any]],
  *,
  batch_size: int,
  seconds: float,
  rounds: int,
  stages: Sequence[str] = ("both",),
  read_bytes_per_s: int | None = None,
  threads: int | None = None,
) -> dict[str, dict[str, dict[str, list[float]]]]:
  """Runs pipelines for a time each.

  Args:
    cells: by name, what runs: {short, long, mix}, of datasets that
      `photographs.replicate` made and weights of formats, or {files, shape}, PNG files
      of [height, width, 3] for stock tf.data.
    batch_size: images in a batch.
    seconds: that a run lasts at least.
    rounds: runs of each.
    stages: of STAGES; files have "both" only.
    read_bytes_per_s: what "load" and "both" may read; None for no such limit.
    threads: processors that this process is held to, and threads that decode; None for
      all.

  Returns:
    By cell and stage, for each round, `images_per_s`, and `cpu_ms` of an image: of all
    threads of the process, which a busy neighbour changes less.
  """
  cores = sorted(os.sched_getaffinity(0))[:threads]
  os.sched_setaffinity(0, cores)
  memory = budget.resolve_memory("auto")

  def run(cell: Mapping[str, Any], stage: str) -> tuple[float, float]:
    if "files" in cell:
      return _stock(cell, batch_size, len(cores), seconds)
    setting = Setting(
      cell["short"], cell["long"], batch_size, len(cores), memory, seconds, ()
    )
    pipeline = Pipeline(setting, cell["mix"], stage)
    with machine.held(cell["long"], None if stage == "decode" else read_bytes_per_s):
      found = pipeline.run()
    return found.images_per_s, found.cpu_seconds

  found = turns.in_turn(
    {
      (name, stage): functools.partial(run, cell, stage)
      for name, cell in cells.items()
      for stage in (("both",) if "files" in cell else stages)
    },
    rounds,
  )
  result: dict[str, Any] = {name: {} for name in cells}
  for (name, stage), runs in found.items():
    result[name][stage] = {
      "images_per_s": [rate for rate, _ in runs],
      "cpu_ms": [1000 * cpu for _, cpu in runs],
    }
  return result


def _stock(
  cell: Mapping[str, Any], batch_size: int, threads: int, seconds: float
) -> tuple[float, float]:
  """Images per second of stock tf.data, and processor seconds of an image."""
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


def measure(
  path: str,
  *,
  short: str | None = None,
  rounds: int,
  threads: int,
  cache: int | str,
  batch_size: int,
  read_bytes_per_s: int | None,
  **arguments: Any,
) -> dict[str, Any]:
  """Runs whole epochs of each stage, after one that does not count.

  `load` delivers stored bytes (`features=["bytes"]`), `both` pixels, both with `cache`.
  `decode` delivers pixels of records that are all in memory, where the epoch that does
  not count has put them, at the disk's own speed.

  Args:
    path: a dataset directory.
    short: a part of it for `decode`, that fits in memory; None for all of it.
    rounds: counted epochs of each stage.
    threads: of tf.data, and decoding tasks per batch.
    cache: of `load` and `both`, as `liquid_tf.dataset` takes it.
    batch_size: images in a batch.
    read_bytes_per_s: what `load` and `both` may read; None for no such limit.
    **arguments: of `liquid_tf.dataset`.

  Returns:
    By stage the medians of what `epoch` gives; and `rounds`, [{stage: the same}].
  """
  given = {
    "batch_size": batch_size,
    "cache": cache,
    "tuning": Tuning(parallelism=threads),
    **arguments,
  }
  datasets = {}
  for stage in STAGES:
    place = short or path if stage == "decode" else path
    dataset = open_dataset(place, **stage_options(stage, given))
    datasets[stage] = epochs.with_threads(dataset, threads)
  for dataset in datasets.values():
    epochs.consume(dataset)
  found = epochs_in_turn(
    datasets,
    rounds,
    lambda name: machine.held(path, None if name == "decode" else read_bytes_per_s),
  )
  result = {
    name: {key: statistics.median(one[key] for one in runs) for key in _KEYS}
    for name, runs in found.items()
  }
  return {**result, "rounds": [dict(zip(found, runs)) for runs in zip(*found.values())]}


def epochs_in_turn(
  datasets: Mapping[str, tf.data.Dataset],
  rounds: int,
  held: Callable[[Any], contextlib.AbstractContextManager] = contextlib.nullcontext,
) -> dict[str, list[dict[str, float]]]:
  """Runs whole epochs, each while `held(name)` holds the disk.

  Returns:
    By name, for each round, what `epoch` gives.
  """

  def run(name: str) -> dict[str, float]:
    with held(name):
      return epoch(datasets[name])

  return turns.in_turn(
    {name: functools.partial(run, name) for name in datasets}, rounds
  )


def epoch(dataset: tf.data.Dataset) -> dict[str, float]:
  """Runs an epoch.

  Returns:
    `images_per_s`, `disk_bytes_per_s` by the kernel's count and `busy`, the share of
    all processors that the process used.
  """
  found = timed(dataset)
  seconds, processors = found["seconds"], len(os.sched_getaffinity(0))
  return {
    "images_per_s": found["images"] / seconds,
    "disk_bytes_per_s": found["disk_bytes"] / seconds,
    "busy": found["cpu_seconds"] / seconds / processors,
  }


def timed(dataset: tf.data.Dataset) -> dict[str, Any]:
  """Runs an epoch; gives what `epochs.timed` does, and `disk_bytes` by the kernel."""
  before = process.disk_bytes() or 0
  found = epochs.timed(dataset)
  return found | {"disk_bytes": (process.disk_bytes() or 0) - before}
