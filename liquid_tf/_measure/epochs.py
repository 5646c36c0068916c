"""Runs epochs of a Liquid dataset, or of one stage of it, and counts what they took."""

import statistics
import time
from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from liquid_tf._graph.dataset import dataset as open_dataset
from liquid_tf._graph.stats import stats as stats_of
from liquid_tf._measure import process
from liquid_tf._pipeline.tuning import Tuning
from liquid_tf._view.mixture import Mixture
from liquid_tf._view.view import View

# Loading alone, decoding alone, and the whole pipeline.
STAGES = ("load", "decode", "both")

# The memory that nothing exceeds: decoding alone wants all of the dataset in it.
UNBOUNDED = 1 << 62

_COUNTS = ("samples", "bytes", "hits", "loads", "memory_hits", "skipped")


def stage_options(stage: str, given: Mapping[str, Any]) -> dict[str, Any]:
  """Arguments of `liquid_tf.dataset` for a stage of a pipeline.

  Loading delivers stored bytes; decoding finds every record in memory, from the second
  epoch on.

  Args:
    stage: of STAGES.
    given: arguments of the whole pipeline.
  """
  if stage == "load":
    return {**given, "features": ["bytes"], "transforms": ()}
  if stage == "decode":
    return {**given, "cache": "100%", "memory": UNBOUNDED}
  return dict(given)


def consume(dataset: tf.data.Dataset) -> tuple[int, float]:
  """Draws every batch and does nothing with it.

  Returns:
    (images, seconds) to the end of the sequence. That the iterator then goes is not in
    it: TensorFlow may wait for its autotuner there, seconds where the epoch has been as
    long, because a cancellation wakes that thread just before it counts as cancelled.
  """
  images = 0
  start = time.perf_counter()
  iterator = iter(dataset)
  for batch in iterator:
    images += int(tf.nest.flatten(batch)[0].shape[0])
  return images, time.perf_counter() - start


def timed(dataset: tf.data.Dataset) -> dict[str, Any]:
  """Draws every batch; returns `seconds`, `cpu_seconds` of the process, `images`."""
  cpu_start = time.process_time()
  images, seconds = consume(dataset)
  cpu_seconds = time.process_time() - cpu_start
  return {"seconds": seconds, "cpu_seconds": cpu_seconds, "images": images}


def with_threads(dataset: tf.data.Dataset, threads: int) -> tf.data.Dataset:
  """Gives a dataset a pool of so many threads of its own."""
  options = tf.data.Options()
  options.threading.private_threadpool_size = threads
  return dataset.with_options(options)


def measure(
  path: str | View | Mixture,
  *,
  epochs: int,
  threads: int,
  cold: bool = False,
  **arguments: Any,
) -> dict[str, Any]:
  """Runs epochs of one dataset object, whose cache is empty at first.

  Args:
    path: a dataset directory, a view or a mixture.
    epochs: to run.
    threads: of tf.data, and decoding tasks per batch.
    cold: whether the files leave the page cache before each epoch.
    **arguments: of `liquid_tf.dataset`.

  Returns:
    `epochs` [{seconds, cpu_seconds of the process, images, images_per_s, disk_bytes by
    the kernel's count, stats_disk_bytes by the reader's, hits, loads, memory_hits,
    by_format}],
    `batches` (see `batch_ranges`), `images_per_s`: the median from the second epoch
    on, `verdict`: what limits it, a sentence, and `max_rss_bytes`.
  """
  dataset = open_dataset(path, tuning=Tuning(parallelism=threads), **arguments)
  stats = stats_of(dataset)
  dataset = with_threads(dataset, threads)
  entries = []
  for _ in range(epochs):
    if cold:
      for folder in _folders(path):
        process.drop_from_page_cache(folder)
    before = process.disk_bytes()
    entry = timed(dataset)
    after = process.disk_bytes()
    entry["images_per_s"] = entry["images"] / entry["seconds"]
    entry["disk_bytes"] = None if before is None or after is None else after - before
    entries.append(entry)
  for entry, counted in zip(entries, stats.epochs):
    entry["stats_disk_bytes"] = counted["disk_bytes"]
    for key in ("hits", "loads", "memory_hits"):
      entry[key] = sum(counted[key].values())
    entry["by_format"] = {
      name: {key: counted[key][name] for key in _COUNTS} for name in counted["samples"]
    }
  return {
    "epochs": entries,
    "batches": batch_ranges(stats.batches),
    "images_per_s": statistics.median(e["images_per_s"] for e in entries[1:]),
    "verdict": str(stats.verdict()),
    "max_rss_bytes": process.max_rss_bytes(),
  }


def _folders(path: str | View | Mixture) -> list[str]:
  if isinstance(path, Mixture):
    return [member.path for member in path.members]
  return [path.path if isinstance(path, View) else path]


def batch_ranges(batches: list[dict[str, Any]]) -> dict[str, Any]:
  """Least and most per batch, over the full batches from the second epoch on.

  Args:
    batches: of `liquid_tf.stats(dataset).batches`.

  Returns:
    `hits` and `loads` {min, max} of whole batches, and by format `composition`,
    `format_hits` and `format_loads` {format: {min, max}}. Empty where there is no
    such batch.
  """
  if not batches:
    return {}
  first = min(batch["epoch"] for batch in batches)
  full = [batch for batch in batches if batch["full"] and batch["epoch"] > first]
  if not full:
    return {}

  def by_format(key: str) -> dict[str, dict[str, int]]:
    return {name: _range([b[key][name] for b in full]) for name in full[0][key]}

  return {
    "hits": _range([sum(batch["hits"].values()) for batch in full]),
    "loads": _range([sum(batch["loads"].values()) for batch in full]),
    "composition": by_format("samples"),
    "format_hits": by_format("hits"),
    "format_loads": by_format("loads"),
  }


def _range(values: list[int]) -> dict[str, int]:
  return {"min": min(values), "max": max(values)}
