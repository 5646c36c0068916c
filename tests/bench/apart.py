"""Profiles and runs of mixes, each in a process of its own."""

import multiprocessing
import os
import statistics
from collections.abc import Callable
from typing import Any

from liquid_tf._cost import budget
from liquid_tf._profile import stake
from tools.bench import machine, stages

# Of `decoding`.
_RUNS, _SECONDS = 5, 1.0


def run(function: Callable, *arguments: Any) -> Any:
  """What a function of this module answers.

  Raises:
    RuntimeError: its process ended without an answer.
  """
  context = multiprocessing.get_context("spawn")
  queue = context.Queue()
  process = context.Process(target=function, args=(queue, *arguments))
  process.start()
  while process.is_alive() and queue.empty():
    process.join(0.2)
  if queue.empty():
    raise RuntimeError(f"{function.__name__} ended with code {process.exitcode}")
  answer = queue.get()
  process.join()
  return answer


def profile(
  queue: multiprocessing.Queue,
  source: str,
  options: dict[str, Any],
  rate: int | None,
  much: float,
  most_seconds: float,
) -> None:
  """Answers a profile's data, or why there is none.

  Args:
    queue: gets the answer.
    source: images.
    options: of `liquid_tf.profile`, and `threads`, processors to hold this process to.
    rate: bytes per second that the disk is held to, or None.
    much: as `stake.MUCH`.
    most_seconds: as `run.MOST_SECONDS` of profiles.
  """
  processors = sorted(os.sched_getaffinity(0))[: options.pop("threads")]
  os.sched_setaffinity(0, processors)
  from liquid_tf._profile import profile as profiles
  from liquid_tf._profile import run as runs
  from liquid_tf.errors import TooNoisyError

  stake.MUCH, runs.MOST_SECONDS = much, most_seconds
  try:
    with machine.held(source, rate):
      queue.put(profiles.profile(source, threads=len(processors), **options).data)
  except TooNoisyError as error:
    queue.put(str(error))


def mixes(
  queue: multiprocessing.Queue,
  paths: dict[str, Any],
  mixes: list[dict[str, float]],
  options: dict[str, Any],
) -> None:
  """Answers images per second of the rounds of mixes.

  Args:
    queue: gets the answer.
    paths: of datasets, as `photographs.replicate` makes them.
    mixes: weights of formats.
    options: of `stages.pipelines`.
  """
  cells = {f"{i}": paths | {"mix": mix} for i, mix in enumerate(mixes)}
  found = stages.pipelines(cells, **options)
  queue.put([entry["both"]["images_per_s"] for entry in found.values()])


def decoding(
  queue: multiprocessing.Queue, paths: dict[str, str], name: str, batch_size: int
) -> None:
  """Answers seconds of a processor to decode an image, the median of some runs."""
  from liquid_tf._profile.probe import Pipeline, Setting

  threads = len(os.sched_getaffinity(0))
  memory = budget.resolve_memory("auto")
  setting = Setting(
    paths["short"], paths["long"], batch_size, threads, memory, _SECONDS, ()
  )
  pipeline = Pipeline(setting, {name: 1}, "decode")
  queue.put(statistics.median(pipeline.run().cpu_seconds for _ in range(_RUNS)))
