"""L3, figure 10: what vectors and threads save of the decoder's time."""

import functools
import os
import pathlib
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from PIL import Image

from tools.bench import instructions, page, turns
from tools.bench.papers import show, speeds
from tools.bench.papers.figure import Setting, apart

_PAPERS = "l3 v1"
# By format, the options of its encoder.
FORMATS: dict[str, dict[str, Any]] = {
  _PAPERS: {"version": 1},
  "l3 v2": {},
  "l3-compact": {"profile": "compact"},
}
_SCALAR = "scalar"
# Sets of instructions without code of their own for a format.
_NOTHING_OWN = {(_PAPERS, "avx512")}
# Shares of time that the paper's steps save at HD, FHD and UHD. It has only the average
# of those in the middle.
_PAPER_PATCHES = (0.768, 0.839, 0.865)
_PAPER_ONE_STEP = {"+ pixel-wise base-delta": 0.108, "+ custom Paeth": 0.460}
_PAPER_BOTH = (0.495, 0.567, 0.591)
_SECONDS = 0.4
_ROUNDS = 3


def _measure(
  setting: Setting, folder: pathlib.Path, files: pathlib.Path
) -> dict[str, Any]:
  """All formats and instructions at one resolution, by one and by all threads."""
  encoded = {
    name: os.fspath(speeds.l3_files(files, folder / name, **options))
    for name, options in FORMATS.items()
  }
  rounds, seconds = (1, 0.0) if setting.quick else (_ROUNDS, _SECONDS)
  run = functools.partial(
    apart,
    "l3_10:measure",
    pixels=os.fspath(files),
    encoded=encoded,
    seconds=seconds,
  )
  threads = sorted({1, len(os.sched_getaffinity(0))})
  sides = {n: functools.partial(run, threads=n) for n in threads}
  runs: dict[str, dict[str, list[dict[str, Any]]]] = {}

  def told(threads: int, answers: list[dict[str, Any]]) -> None:
    for name, sets in answers[-1].items():
      for used, times in sets.items():
        cells = runs.setdefault(name, {}).setdefault(used, [])
        cells.append({"threads": threads, **times})

  turns.in_turn(sides, rounds, told)
  return {"seconds": seconds, "rounds": rounds, "runs": runs}


parts = functools.partial(speeds.by_resolution, 4, _measure)


def measure(
  pixels: str, encoded: Mapping[str, str], seconds: float, threads: int
) -> dict[str, dict[str, dict[str, float]]]:
  """Decodes images from memory by each set of instructions, in turn.

  TensorFlow must not have run anything in this process.

  Args:
    pixels: folder of PNG files.
    encoded: by format, a folder of the same images in the same order.
    seconds: that each is run for, at least.
    threads: that TensorFlow gives to the patches of an image.

  Returns:
    By format and instructions, `cpu_ms` and `clock_ms` of an image: milliseconds of all
    threads, and by the clock.

  Raises:
    ValueError: a decoder does not give back the pixels.
  """
  import tensorflow as tf

  from liquid_tf import codecs

  tf.config.threading.set_intra_op_parallelism_threads(threads)
  images = [np.asarray(Image.open(path)) for path in _sorted(pixels)]
  decodes = {
    name: [
      functools.partial(codecs.decode, tf.constant(path.read_bytes()))
      for path in _sorted(folder)
    ]
    for name, folder in encoded.items()
  }
  runnable = instructions.runnable()
  found: dict[str, dict[str, dict[str, float]]] = {name: {} for name in decodes}
  try:
    for name, each in decodes.items():
      for used in (n for n in runnable if (name, n) not in _NOTHING_OWN):
        instructions.use(used)
        # The first time, which sets up memory, is not counted.
        check(f"{name}, {used}", each, images)
        found[name][used] = _times(each, seconds)
  finally:
    instructions.use(runnable[-1])
  return found


def _sorted(folder: str) -> list[pathlib.Path]:
  return sorted(pathlib.Path(folder).iterdir())


def check(
  what: str, decodes: Sequence[Callable[[], Any]], images: Sequence[np.ndarray]
) -> None:
  """Raises ValueError unless each function gives back the pixels of its image."""
  for decode, pixels in zip(decodes, images, strict=True):
    if not np.array_equal(np.asarray(decode()), pixels):
      raise ValueError(f"{what} does not give back the pixels it was given")


def _times(decodes: Sequence[Callable[[], Any]], seconds: float) -> dict[str, float]:
  """Milliseconds of an image, of as many passes over all as take that long."""
  begin, cpu, passes = time.perf_counter(), time.process_time(), 0
  while passes == 0 or time.perf_counter() - begin < seconds:
    for decode in decodes:
      decode()
    passes += 1
  unit = 1000 / (passes * len(decodes))
  return {
    "cpu_ms": unit * (time.process_time() - cpu),
    "clock_ms": unit * (time.perf_counter() - begin),
  }


def _values(
  result: Mapping[str, Any], name: str, used: str, threads: int, key: str
) -> list[float]:
  """Of all rounds."""
  runs = result["runs"][name][used]
  return [run[key] for run in runs if run["threads"] == threads]


def _cpu(result: Mapping[str, Any], name: str, used: str) -> float:
  """Median processor time of one thread."""
  return statistics.median(_values(result, name, used, 1, "cpu_ms"))


def _threads(result: Mapping[str, Any]) -> int:
  """All that there were."""
  return max(run["threads"] for run in result["runs"][_PAPERS][_SCALAR])


def _best(result: Mapping[str, Any]) -> str:
  """The best instructions that the paper's format is decoded with."""
  return list(result["runs"][_PAPERS])[-1]


def saved_by_vectors(result: Mapping[str, Any]) -> float:
  """How much less processor time they take than scalar code, as a share of that."""
  return 1 - _cpu(result, _PAPERS, _best(result)) / _cpu(result, _PAPERS, _SCALAR)


def saved_by_threads(result: Mapping[str, Any]) -> float:
  """How much less time by the clock all threads take than one, in scalar code."""
  one, every = (
    statistics.median(_values(result, _PAPERS, _SCALAR, threads, "clock_ms"))
    for threads in (1, _threads(result))
  )
  return 1 - every / one


def _less(share: float) -> str:
  return f"{-100 * share:+.1f} %".replace("-", "−")


def table(found: Mapping[str, Any]) -> str:
  threads, best = (f(next(iter(found.values()))) for f in (_threads, _best))
  columns = [
    [
      "step",
      f"patches in parallel: {threads} threads for one, by the clock",
      *_PAPER_ONE_STEP,
      f"+ both: {best} for scalar, by processor time",
    ]
  ]
  steps = [f"{_less(share)}, on average" for share in _PAPER_ONE_STEP.values()]
  for (name, result), patches, both in zip(found.items(), _PAPER_PATCHES, _PAPER_BOTH):
    columns.append([f"**{name}**, paper", _less(patches), *steps, _less(both)])
    ours = [_less(saved(result)) for saved in (saved_by_threads, saved_by_vectors)]
    columns.append(["here", ours[0], *["not taken apart"] * len(steps), ours[1]])
  head, *rows = zip(*columns)
  return f"{page.table(head, rows)}\n\n{_every(found)}"


def _every(found: Mapping[str, Any]) -> str:
  """What each set of instructions takes for each format."""
  first = next(iter(found.values()))
  threads = _threads(first)
  kinds = [(name, used) for name, sets in first["runs"].items() for used in sets]
  columns = [["format, instructions", *map(", ".join, kinds)]]
  for label, result in found.items():
    cpu = [_values(result, *kind, 1, "cpu_ms") for kind in kinds]
    clock = [_values(result, *kind, threads, "clock_ms") for kind in kinds]
    faster = [_cpu(result, n, _SCALAR) / _cpu(result, n, used) for n, used in kinds]
    columns += [
      [f"**{label}**, CPU ms of one thread", *(page.span(ms, ".2f") for ms in cpu)],
      ["times as fast as scalar", *(f"{times:.1f}" for times in faster)],
      [f"ms by the clock, {threads} threads", *(page.span(ms, ".2f") for ms in clock)],
    ]
  head, *rows = zip(*columns)
  return page.table(head, rows)


def words(found: Mapping[str, Any]) -> dict[str, Any]:
  last, result = list(found.items())[-1]
  threads = _threads(result)
  return {
    "threads": threads,
    "most": 100 - 100 / threads,
    "best": _best(result),
    "saved": 100 * saved_by_vectors(result),
    "last": last,
  }


def draw(found: Mapping[str, Any], canvas: Any) -> None:
  threads, best = (f(next(iter(found.values()))) for f in (_threads, _best))
  steps = {
    f"patches: {threads} threads for one": saved_by_threads,
    f"both steps: {best} for scalar": saved_by_vectors,
  }
  left = {
    label: [1 - saved(result) for result in found.values()]
    for label, saved in steps.items()
  }
  axes = canvas.subplots()
  show.bars(axes, list(found), left)
  for i, (_, *paper) in enumerate(zip(found, _PAPER_PATCHES, _PAPER_BOTH)):
    theirs, label = [1 - share for share in paper], None if i else "paper, on a GPU"
    places = (i - 0.2, i + 0.2)
    axes.plot(places, theirs, "k_", markersize=24, markeredgewidth=2, label=label)
  axes.axhline(1, color="black", linestyle=":", label="without the step")
  time_left = "decoding time, of that without the step"
  show.style(axes, "y", ylabel=time_left, ylim=(0, 1.5))
  axes.legend(frameon=False, fontsize=8, loc="upper center", ncols=2)
