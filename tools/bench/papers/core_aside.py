"""Trains with one core as the accelerator, and the loader in a process on the others.

Training has one core and one thread, and takes each batch from a queue that is the same
for all loaders. While it waits there, it is idle. The ideal trains on one batch that it
has in memory.
"""

import concurrent.futures
import functools
import os
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from liquid_tf._measure import fresh
from tools.bench import preparation, turns
from tools.bench.papers import shared_queue, tasks

# From when a loader is at its pace: its buffers are full, and its cache where it has
# one, unless it takes longer than anybody would wait.
_LEAST_WARM_UP, _MOST_WARM_UP = 3.0, 8.0

_TRACE_SECONDS = 0.01

_Take = Callable[[], tuple[np.ndarray, shared_queue.Counters | None] | None]


def why_not() -> str | None:
  """Why this cannot be measured here, or None where it can."""
  if len(os.sched_getaffinity(0)) < 2:
    return "it takes two processors, of which one is the accelerator"
  return preparation.why_not()


def cores() -> tuple[int, list[int]]:
  """The core that is the accelerator, and those of the loader."""
  *others, last = sorted(os.sched_getaffinity(0))
  return last, others


class Watch:
  """Gives batches for a time, and keeps when each was asked for and when it came.

  Args:
    take: gives the next batch and its sender's counters, or None at an early end.
    seconds: that count.
    warm_up: images that must have come before anything counts; see _LEAST_WARM_UP.
  """

  def __init__(self, take: _Take, seconds: float, warm_up: int):
    self._take = take
    self._seconds = seconds
    self._warm_up = warm_up
    self._images = 0
    self._waited = 0.0
    self._counted: float | None = None
    # Of the last batch that does not count, and of those that do.
    self._sent: list[shared_queue.Counters | None] = []

  def batches(self) -> Iterator[np.ndarray]:
    """What a network trains on."""
    start = begun = None
    images = 0
    while True:
      asked = time.perf_counter()
      start = asked if start is None else start
      if begun is None and self._warm(asked - start, images):
        begun = asked
      if begun is not None and asked - begun >= self._seconds:
        self._counted = asked - begun
        return
      taken = self._take()
      if taken is None:
        return
      batch, counters = taken
      images += len(batch)
      if begun is not None:
        self._images += len(batch)
        self._waited += time.perf_counter() - asked
      self._sent.append(counters)
      if begun is None:
        del self._sent[:-1]
      yield batch

  def _warm(self, seconds: float, images: int) -> bool:
    if self._seconds < _LEAST_WARM_UP:  # A quick run.
      return images > 0
    enough = images >= self._warm_up or seconds >= _MOST_WARM_UP
    return seconds >= _LEAST_WARM_UP and enough

  def result(self) -> dict[str, float] | None:
    """What was seen; None where batches came to an early end.

    Returns:
      `images_per_s`; `idle`, the share of the time that batches were waited for; and of
      a sender `cpu_seconds_per_s` and `disk_bytes_per_s`.
    """
    if self._counted is None:
      return None
    found = {
      "images_per_s": self._images / self._counted,
      "idle": self._waited / self._counted,
    }
    first, last = self._sent[0], self._sent[-1]
    if first is None or last is None:
      return found
    spent = last.seconds - first.seconds
    return found | {
      "cpu_seconds_per_s": (last.cpu_seconds - first.cpu_seconds) / spent,
      "disk_bytes_per_s": (last.disk_bytes - first.disk_bytes) / spent,
    }


def train(
  *,
  network: str,
  sides: Mapping[str, Mapping[str, Any]],
  size: int,
  batch_size: int,
  seconds: float,
  ideal_seconds: float,
  rounds: int,
  warm_up: int,
  **loader: Any,
) -> dict[str, Any]:
  """Trains on what each loader gives, in turn, and on one batch before and after all.

  This process is held to the core set aside.

  Args:
    network: of `networks.NETWORKS`.
    sides: by name what loads, see `loaders.serve`.
    size: of the network's images, in pixels.
    batch_size: images in a batch.
    seconds: of each run that count.
    ideal_seconds: the same of those on one batch.
    rounds: runs of each side.
    warm_up: images that come first, and do not count.
    **loader: arguments of `loaders.serve`, the same for all.

  Returns:
    `ideal`, images per second before, between and after the rounds; and `sides`, by
    name for each round what `Watch.result` gives.

  Raises:
    ChildProcessError: a loader failed; the message names it.
  """
  core, others = cores()
  os.sched_setaffinity(0, [core])
  tf.config.threading.set_intra_op_parallelism_threads(1)
  tf.config.threading.set_inter_op_parallelism_threads(1)
  tf.config.set_visible_devices([], "GPU")
  model = tasks.compiled(network, size)
  shape = (batch_size, size, size, 3)
  image = np.random.default_rng(0).integers(0, 256, shape, np.uint8)

  def learn(take: _Take, seconds: float, warm_up: int) -> dict[str, float] | None:
    watch = Watch(take, seconds, warm_up)
    # Not by `fit`, which asks for a batch while it still trains on the last one: what
    # it waits for could not be told from what it does meanwhile.
    for images in watch.batches():
      model.train_on_batch(*tasks.examples(network, images))
    return watch.result()

  def ideal(seconds: float) -> float:
    return learn(lambda: (image, None), seconds, 0)["images_per_s"]

  def run(side: Mapping[str, Any]) -> dict[str, float]:
    request = {
      "function": "tools.bench.papers.loaders:serve",
      "side": dict(side),
      "cores": others,
    }
    request |= {"size": size, "batch_size": batch_size, **loader}
    with (
      concurrent.futures.ThreadPoolExecutor(1) as pool,
      shared_queue.Receiver(shape) as queue,
    ):
      answer = pool.submit(fresh.run, request | {"folder": queue.folder})
      try:
        found = queue.connect(answer.done) and learn(queue.take, seconds, warm_up)
      finally:
        queue.close()
      answer.result()  # Raises what was wrong with it.
    if not found:
      raise ChildProcessError("the loader came to an early end")
    return found

  ideal(_TRACE_SECONDS)  # Traces the step.
  ideals = [ideal(ideal_seconds)]
  *_, last = sides

  def told(name: str, answers: list[dict[str, float]]) -> None:
    if name == last:
      ideals.append(ideal(ideal_seconds))

  runs = {name: functools.partial(run, side) for name, side in sides.items()}
  return {"sides": turns.in_turn(runs, rounds, told), "ideal": ideals}


def in_turn(sides: Mapping[str, Mapping[str, Any]], **arguments: Any) -> dict[str, Any]:
  """Runs `train` in a fresh process, and gives what it gives."""
  return fresh.run(
    {
      "function": "tools.bench.papers.core_aside:train",
      "sides": dict(sides),
      **arguments,
    }
  )
