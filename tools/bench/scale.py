"""Simulates very many samples and workers: what opening and planning take.

python -m tools.bench scale --samples=100000000 --workers=1024
"""

import functools
import os
import pathlib
import time
from collections.abc import Callable
from typing import Any

from liquid_tf._graph.dataset import dataset
from liquid_tf._graph.interleave import InterleaveDataset
from liquid_tf._graph.stages import find_stage
from liquid_tf._native import ops
from liquid_tf._pipeline.plan import Plan
from liquid_tf._store import manifest
from liquid_tf._view.view import View
from liquid_tf._view.view import open as open_view
from liquid_tf._words import argument
from liquid_tf.errors import WrongArgument
from tools.bench import empty_dataset, machine, page, turns

_BATCH = 256
# Shard files of each format.
_FILES = 1024
# Samples of each format in a dataset that only loads the libraries.
_SMALL = 256
_open = functools.partial(dataset, batch_size=_BATCH, memory="1GiB", cache=0)

# What is chosen of all samples.
VIEWS: dict[str, Callable[[View], View]] = {
  "whole": lambda view: view,
  "where": lambda view: view.where(lambda t: t["label"] % 2 == 0),
  "balanced": lambda view: view.balanced(),
}


def bench(
  folder: str,
  *,
  samples: int,
  workers: int,
  say: Callable[[str], None] = lambda text: None,
) -> dict[str, Any]:
  """Opens a dataset of holes as one worker of many does, and plans its epoch.

  Args:
    folder: gets the dataset, of 112 bytes a sample, and is left with it.
    samples: of each of two formats.
    workers: that train side by side.
    say: receives a line of progress.

  Returns:
    `index_bytes`; `opened`, what `measure` gives of the first and the
    last worker; `views`, what `measure_view` gives of each of `VIEWS`; `balance` over
    all workers.

  Raises:
    ChildProcessError: a process could not measure.
  """
  if workers > 2 * samples:
    raise WrongArgument(
      "workers",
      workers,
      f"must be at most two for each of {argument('samples', samples)}",
    )
  small, path = (pathlib.Path(folder, f"holes_{n}.liquid") for n in (_SMALL, samples))
  for place, count in ((small, _SMALL), (path, samples)):
    if not (place / manifest.MANIFEST).exists():
      say(f"writing the index of {count} samples in two formats")
      place.mkdir(parents=True, exist_ok=True)
      empty_dataset.write(os.fspath(place), count, min(_FILES, count))
  opened = []
  for index in sorted({0, workers - 1}):
    measured = turns.apart(
      measure, path=path, small=small, index=index, workers=workers
    )
    say(
      f"worker {index}: opened in {measured['seconds']:.2f} s, planned "
      f"{measured['draws']} draws in {measured['plan_seconds']:.3f} s"
    )
    opened.append(measured)
  chosen = []
  for view in VIEWS:
    measured = turns.apart(measure_view, path=path, small=small, view=view)
    say(
      f"{view}: chosen in {measured['choose_seconds']:.2f} s, opened in "
      f"{measured['open_seconds']:.2f} s, {measured['held_bytes'] >> 20} MiB held"
    )
    chosen.append(measured)
  return {
    "index_bytes": (path / manifest.INDEX).stat().st_size,
    "opened": opened,
    "views": chosen,
    "balance": balance([samples, samples], workers),
  }


def measure_view(path: str, small: str, view: str) -> dict[str, Any]:
  """Chooses among all samples, and opens what is chosen for training.

  Args:
    path: of the dataset.
    small: one that is opened before, which loads the libraries.
    view: one of `VIEWS`.

  Returns:
    `view`; its `samples`; `choose_seconds` from the path to the view, `open_seconds`
    from there to the dataset, and `held_bytes` of memory that both keep beside mapped
    files.
  """
  choose = VIEWS[view]
  _open(choose(open_view(small)))
  before, begin = machine.anonymous_bytes(), time.perf_counter()
  chosen = choose(open_view(path))
  middle = time.perf_counter()
  opened = _open(chosen)
  end = time.perf_counter()
  held = machine.anonymous_bytes() - before
  del opened
  return {
    "view": view,
    "samples": len(chosen),
    "choose_seconds": middle - begin,
    "open_seconds": end - middle,
    "held_bytes": held,
  }


def measure(path: str, *, small: str, index: int, workers: int) -> dict[str, Any]:
  """Opens the part of one worker and plans its first epoch.

  Args:
    path: of the dataset.
    small: one that is opened before, which loads the libraries.
    index: of the worker.
    workers: that there are.

  Returns:
    `seconds` to open; `held_bytes` of memory that the dataset keeps beside the mapped
    index; `draws` and `plan_seconds` of an epoch of the part, all of it at once.
  """
  _open(small)
  before, begin = machine.anonymous_bytes(), time.perf_counter()
  part = _open(path, shard=(index, workers))
  seconds = time.perf_counter() - begin
  held = machine.anonymous_bytes() - before
  sources = find_stage(part, InterleaveDataset).sources
  begin = time.perf_counter()
  none, fill = [0] * len(sources), [10 * _BATCH] * len(sources)
  given = Plan(sources, none, fill, seed=0, batch_size=_BATCH, shuffle=True).message()
  plan = ops.lib().liquid_plan_epoch(given, 0, 0)
  return {
    "index": index,
    "seconds": seconds,
    "held_bytes": held,
    "draws": int(plan.sample.shape[0]),
    "plan_seconds": time.perf_counter() - begin,
  }


def balance(samples: list[int], workers: int) -> dict[str, Any]:
  """How equal the parts of all workers are.

  Returns:
    `samples` {min, max} of a part, `formats` [{min, max}], `batches` {min, max}, and
    samples `repeated` in all.
  """
  parts = [
    ops.lib().liquid_shard_ranges(
      samples=samples, index=index, count=workers, policy="pad"
    )
    for index in range(workers)
  ]
  lengths = [part.length.numpy().tolist() for part in parts]
  totals = [sum(length) for length in lengths]
  return {
    "samples": _extent(totals),
    "formats": [_extent(list(column)) for column in zip(*lengths)],
    "batches": _extent([-(-total // _BATCH) for total in totals]),
    "repeated": int(parts[0].repeated_in_all),
  }


def _extent(values: list[int]) -> dict[str, int]:
  return {"min": min(values), "max": max(values)}


def text(result: dict[str, Any]) -> str:
  """What opening and planning cost, as a Markdown table."""
  cells = [
    ("worker", lambda each: each["index"]),
    ("opened in", lambda each: f"{each['seconds']:.2f} s"),
    ("memory held", _held),
    ("bytes an encoding", lambda each: _held_each(result, each)),
    ("draws of its epoch", lambda each: each["draws"]),
    ("planned in", lambda each: f"{each['plan_seconds'] * 1e3:.1f} ms"),
    (
      "draws/s",
      lambda each: f"{each['draws'] / each['plan_seconds'] / 1e6:.1f} million",
    ),
  ]
  return page.columns(result["opened"], cells, ())


def _views(result: dict[str, Any]) -> str:
  """What choosing costs, as a Markdown table."""
  cells = [
    (None, lambda each: each["view"]),
    ("samples", lambda each: each["samples"]),
    ("chosen in", lambda each: f"{each['choose_seconds']:.2f} s"),
    ("opened in", lambda each: f"{each['open_seconds']:.2f} s"),
    ("memory held", _held),
    ("bytes a sample", lambda each: _held_each(result, each)),
  ]
  return page.columns(result["views"], cells)


def _held(each: dict[str, Any]) -> str:
  return f"{each['held_bytes'] / 2**20:.1f} MiB"


def _held_each(result: dict[str, Any], each: dict[str, Any]) -> str:
  """Bytes of memory that were held for an encoding."""
  return f"{each['held_bytes'] / (2 * result['samples']):.2f}"


def section(result: dict[str, Any]) -> page.Section:
  """What was measured, how, with what, and the tables."""
  formats = result["balance"]["formats"]
  return page.section(
    "scale",
    result,
    gigabytes=result["index_bytes"] / 1e9,
    table=text(result),
    chosen=_views(result),
    formats="; ".join(f"{each['min']} to {each['max']}" for each in formats),
  )
