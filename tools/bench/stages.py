"""A pipeline and its two stages by themselves, turn about in one process."""

import os
import statistics
import time
from typing import Any

import tensorflow as tf

from liquid_tf._measure import epochs, process, throttle
from liquid_tf._measure.stages import STAGES, options
from liquid_tf._pipeline.dataset import dataset as open_dataset
from liquid_tf._pipeline.tuning import Tuning

_KEYS = ("images_per_s", "disk_bytes_per_s", "busy")


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
  """Runs an epoch of each stage, `rounds` times, after one that does not count.

  `load` delivers stored bytes (`decode="none"`), `both` pixels, both with `cache`.
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
    By stage `images_per_s`, `disk_bytes_per_s` by the kernel's count and `busy`, the
    share of all processors that the process used: medians over rounds; and `rounds`,
    [{stage: {images_per_s, disk_bytes_per_s, busy}}].
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
    dataset = open_dataset(place, **options(stage, given))
    datasets[stage] = epochs.with_threads(dataset, threads)
  for dataset in datasets.values():
    epochs.consume(dataset)
  measured = []
  for _ in range(rounds):
    entry = {}
    for name, dataset in datasets.items():
      with throttle.held(path, None if name == "decode" else read_bytes_per_s):
        entry[name] = epoch(dataset)
    measured.append(entry)
  result = {
    name: {key: statistics.median(r[name][key] for r in measured) for key in _KEYS}
    for name in datasets
  }
  return {**result, "rounds": measured}


def epoch(dataset: tf.data.Dataset) -> dict[str, float]:
  """Runs an epoch.

  Returns:
    `images_per_s`, `disk_bytes_per_s` by the kernel's count and `busy`, the share of
    all processors that the process used.
  """
  disk, busy = process.disk_bytes() or 0, time.process_time()
  images, seconds = epochs.consume(dataset)
  busy = time.process_time() - busy
  disk = (process.disk_bytes() or 0) - disk
  return {
    "images_per_s": images / seconds,
    "disk_bytes_per_s": disk / seconds,
    "busy": busy / seconds / len(os.sched_getaffinity(0)),
  }
