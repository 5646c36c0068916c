"""Trains with one core as the accelerator, and the loader in a process on the others.

Training has one core and one thread, and takes each batch from a queue that is the same
for all loaders. While it waits there, it is idle. The ideal trains on one batch that it
has in memory. `train`, and of the loader `serve` and `advise`, run in processes of
their own.
"""

import concurrent.futures
import functools
import os
import pathlib
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from liquid_tf._graph.dataset import dataset as open_dataset
from liquid_tf._measure import epochs, stock
from liquid_tf._pipeline.tuning import Tuning
from liquid_tf._store.mix import TARGETS
from liquid_tf.transforms import Resize, Step
from tools.bench import formats, machine, preparation, turns
from tools.bench.papers import networks, shared_queue, trainings
from tools.bench.papers.figure import apart

# From when a loader is at its pace: its buffers are full, and its cache where it has
# one, unless it takes longer than anybody would wait.
_LEAST_WARM_UP, _MOST_WARM_UP = 3.0, 8.0

_TRACE_SECONDS = 0.01
# Of stock tf.data, so that a run never comes to the end.
_EPOCHS = 1 << 20

_Take = Callable[[], tuple[np.ndarray, shared_queue.Counters | None] | None]


def watch(
  take: _Take, learn: Callable[[np.ndarray], object], seconds: float, warm_up: int
) -> dict[str, float] | None:
  """Trains on batches for a time, and keeps how long each was waited for.

  Args:
    take: gives the next batch and its sender's counters, or None at an early end.
    learn: trains on a batch.
    seconds: that count.
    warm_up: images that must have come before anything counts; see _LEAST_WARM_UP.

  Returns:
    None where batches came to an early end. Else `images_per_s`; `idle`, the share of
    the time that batches were waited for; and of a sender `cpu_seconds_per_s` and
    `disk_bytes_per_s`.
  """
  start = asked = time.perf_counter()
  begun, first, last, images, waited = None, None, None, 0, 0.0
  while begun is None or asked - begun < seconds:
    if begun is None and _warm(asked - start, images, seconds, warm_up):
      begun, first, images, waited = asked, last, 0, 0.0
    taken = take()
    if taken is None:
      return None
    batch, last = taken
    images += len(batch)
    waited += time.perf_counter() - asked
    learn(batch)
    asked = time.perf_counter()
  spent = asked - begun
  found = {"images_per_s": images / spent, "idle": waited / spent}
  if first is None or last is None:
    return found
  sent = last.seconds - first.seconds
  return found | {
    "cpu_seconds_per_s": (last.cpu_seconds - first.cpu_seconds) / sent,
    "disk_bytes_per_s": (last.disk_bytes - first.disk_bytes) / sent,
  }


def _warm(spent: float, images: int, seconds: float, warm_up: int) -> bool:
  if seconds < _LEAST_WARM_UP:  # A quick run.
    return images > 0
  enough = images >= warm_up or spent >= _MOST_WARM_UP
  return spent >= _LEAST_WARM_UP and enough


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
    sides: by name what loads, see `serve`.
    size: of the network's images, in pixels.
    batch_size: images in a batch.
    seconds: of each run that count.
    ideal_seconds: the same of those on one batch.
    rounds: runs of each side.
    warm_up: images that come first, and do not count.
    **loader: arguments of `serve`, the same for all.

  Returns:
    `ideal`, images per second before, between and after the rounds; and `sides`, by
    name for each round what `watch` gives.

  Raises:
    ChildProcessError: a loader failed; the message names it.
  """
  core, others = trainings.cores()
  os.sched_setaffinity(0, [core])
  tf.config.threading.set_intra_op_parallelism_threads(1)
  tf.config.threading.set_inter_op_parallelism_threads(1)
  tf.config.set_visible_devices([], "GPU")
  model = networks.compiled(network, size)
  shape = (batch_size, size, size, 3)
  image = np.random.default_rng(0).integers(0, 256, shape, np.uint8)

  def learn(images: np.ndarray) -> None:
    # Not by `fit`, which asks for a batch while it still trains on the last one: what
    # it waits for could not be told from what it does meanwhile.
    model.train_on_batch(*networks.examples(network, images))

  def ideal(seconds: float) -> float:
    return watch(lambda: (image, None), learn, seconds, 0)["images_per_s"]

  def run(side: Mapping[str, Any]) -> dict[str, float]:
    with (
      concurrent.futures.ThreadPoolExecutor(1) as pool,
      shared_queue.Receiver(shape) as queue,
    ):
      answer = pool.submit(
        apart,
        "core_aside:serve",
        folder=queue.folder,
        side=side,
        size=size,
        batch_size=batch_size,
        cores=others,
        **loader,
      )
      try:
        found = queue.connect(answer.done) and watch(
          queue.take, learn, seconds, warm_up
        )
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


def steps(size: int) -> list[Step]:
  """What happens to an image; tf.image.resize gives the same pixels, once rounded."""
  return [Resize((size, size), antialias=False)]


def advise(*, cores: Sequence[int], size: int, **arguments: Any) -> dict[str, Any]:
  """What `profile` advises for a loader on some cores.

  Args:
    cores: where it runs.
    size: of the network's images, in pixels.
    **arguments: of `formats.advise`.
  """
  os.sched_setaffinity(0, cores)
  return formats.advise(threads=len(cores), transforms=steps(size), **arguments)


def serve(
  *,
  folder: str,
  side: Mapping[str, Any],
  size: int,
  batch_size: int,
  cache_bytes: int,
  read_bytes_per_s: int | None,
  cores: Sequence[int],
) -> dict[str, Any]:
  """Loads batches, epoch after epoch, until they are no longer wanted.

  Args:
    folder: of the queue's receiver.
    side: {path, mix} of ours, a replicated dataset and weights of formats; or {files},
      image files for stock tf.data.
    size: of the network's images, in pixels.
    batch_size: images in a batch.
    cache_bytes: of stored bytes that are kept; by stock tf.data in the page cache.
    read_bytes_per_s: what this process may read; None for no such limit.
    cores: where it runs, with a thread on each.

  Returns:
    `batches`, how many were given.
  """
  os.sched_setaffinity(0, cores)
  shape = (batch_size, size, size, 3)

  def give(dataset: tf.data.Dataset) -> dict[str, Any]:
    given = 0
    with shared_queue.Sender(folder, shape) as sender:
      for batch in dataset:
        if not sender.give(tf.nest.flatten(batch)[0].numpy()):
          break
        given += 1
    return {"batches": given}

  if "files" in side:
    dataset = stock.stock_dataset(
      side["files"],
      pathlib.Path(side["files"][0]).suffix[1:],
      batch_size,
      [None, None, 3],
      len(cores),
      transforms=steps(size),
      repeats=_EPOCHS,
    )
    place = os.path.dirname(side["files"][0])
    return preparation.theirs(
      lambda: give(dataset), place, cache_bytes, read_bytes_per_s
    )
  dataset = open_dataset(
    side["path"],
    batch_size,
    mix={TARGETS[name][0]: weight for name, weight in side["mix"].items()},
    features=["image"],
    transforms=steps(size),
    cache=cache_bytes,
    last_batch="drop",
    tuning=Tuning(parallelism=len(cores)),
  )
  with machine.held(side["path"], read_bytes_per_s):
    return give(epochs.with_threads(dataset.repeat(), len(cores)))
