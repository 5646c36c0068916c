"""What very many samples and workers cost: opening, planning, balance; no pixels."""

import os
import pathlib
import tempfile
import time
from collections.abc import Callable
from typing import Any

from liquid_tf._measure import fresh, process
from liquid_tf._native import ops
from liquid_tf._pipeline.dataset import dataset
from liquid_tf._pipeline.interleave import InterleaveDataset
from liquid_tf._pipeline.plan import Plan
from liquid_tf._pipeline.stages import find_stage
from liquid_tf._store import manifest
from liquid_tf._view.view import View
from liquid_tf._view.view import open as open_view
from tools.bench import empty_dataset, page

_BATCH = 256
# Shard files of each format.
_FILES = 1024
_MEMORY = "1GiB"

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
    The arguments; `index_bytes`; `opened`, what `measure` gives of the first and the
    last worker; `views`, what `measure_view` gives of each of `VIEWS`; `balance` over
    all workers.

  Raises:
    ChildProcessError: a process could not measure.
  """
  if workers > 2 * samples:
    raise ValueError(
      f"workers ({workers}) must be at most two for each of samples ({samples})"
    )
  path = pathlib.Path(folder, f"holes_{samples}.liquid")
  if not (path / manifest.MANIFEST).exists():
    say(f"writing the index of {samples} samples in two formats")
    path.mkdir(parents=True, exist_ok=True)
    empty_dataset.write(os.fspath(path), samples, min(_FILES, samples))
  opened = []
  for index in sorted({0, workers - 1}):
    measured = fresh.run(
      {
        "function": "tools.bench.scale:measure",
        "path": str(path),
        "index": index,
        "workers": workers,
      }
    )
    say(
      f"worker {index}: opened in {measured['seconds']:.2f} s, planned "
      f"{measured['draws']} draws in {measured['plan_seconds']:.3f} s"
    )
    opened.append(measured)
  chosen = []
  for view in VIEWS:
    measured = fresh.run(
      {"function": "tools.bench.scale:measure_view", "path": str(path), "view": view}
    )
    say(
      f"{view}: chosen in {measured['choose_seconds']:.2f} s, opened in "
      f"{measured['open_seconds']:.2f} s, {measured['held_bytes'] >> 20} MiB held"
    )
    chosen.append(measured)
  return {
    "samples": samples,
    "workers": workers,
    "index_bytes": (path / manifest.INDEX).stat().st_size,
    "opened": opened,
    "views": chosen,
    "balance": balance([samples, samples], workers),
  }


def measure_view(path: str, view: str) -> dict[str, Any]:
  """Chooses among all samples, and opens what is chosen for training.

  Args:
    path: of the dataset.
    view: one of `VIEWS`.

  Returns:
    `view`; its `samples`; `choose_seconds` from the path to the view, `open_seconds`
    from there to the dataset, when a first, small one has loaded the libraries; and
    `held_bytes` of memory that both keep beside mapped files.
  """
  choose = VIEWS[view]
  with tempfile.TemporaryDirectory() as folder:
    empty_dataset.write(folder, 1024, 4)
    dataset(choose(open_view(folder)), _BATCH, memory=_MEMORY, cache=0)
    before = process.anonymous_bytes()
    begin = time.perf_counter()
    chosen = choose(open_view(path))
    middle = time.perf_counter()
    opened = dataset(chosen, _BATCH, memory=_MEMORY, cache=0)
    end = time.perf_counter()
    held = process.anonymous_bytes() - before
    del opened
  return {
    "view": view,
    "samples": len(chosen),
    "choose_seconds": middle - begin,
    "open_seconds": end - middle,
    "held_bytes": held,
  }


def measure(path: str, *, index: int, workers: int) -> dict[str, Any]:
  """Opens the part of one worker and plans its first epoch.

  Returns:
    `seconds` to open, when a first, small dataset has loaded the libraries;
    `held_bytes` of memory that the dataset keeps beside the mapped index; `draws` and
    `plan_seconds` of an epoch of the part, all of it at once.
  """
  with tempfile.TemporaryDirectory() as folder:
    empty_dataset.write(folder, 1024, 4)
    dataset(folder, _BATCH, memory=_MEMORY, cache=0)
    before = process.anonymous_bytes()
    begin = time.perf_counter()
    part = dataset(path, _BATCH, memory=_MEMORY, cache=0, shard=(index, workers))
    seconds = time.perf_counter() - begin
    held = process.anonymous_bytes() - before
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
  rows = [
    [
      each["index"],
      f"{each['seconds']:.2f} s",
      *_held(result, each),
      each["draws"],
      f"{each['plan_seconds'] * 1e3:.1f} ms",
      f"{each['draws'] / each['plan_seconds'] / 1e6:.1f} million",
    ]
    for each in result["opened"]
  ]
  head = ["worker", "opened in", "memory held", "bytes an encoding"]
  head += ["draws of its epoch", "planned in", "draws/s"]
  return page.table(head, rows, ())


def _views(result: dict[str, Any]) -> str:
  """What choosing costs, as a Markdown table."""
  rows = [
    [
      each["view"],
      each["samples"],
      f"{each['choose_seconds']:.2f} s",
      f"{each['open_seconds']:.2f} s",
      *_held(result, each),
    ]
    for each in result["views"]
  ]
  head = [None, "samples", "chosen in", "opened in", "memory held", "bytes a sample"]
  return page.table(head, rows)


def _held(result: dict[str, Any], each: dict[str, Any]) -> list[str]:
  """Memory that was held, and that of an encoding."""
  held = each["held_bytes"]
  return [f"{held / 2**20:.1f} MiB", f"{held / (2 * result['samples']):.2f}"]


def section(result: dict[str, Any]) -> page.Section:
  """What was measured, how, with what, and the tables."""
  parts, batches = result["balance"]["samples"], result["balance"]["batches"]
  formats = "; ".join(
    f"{each['min']} to {each['max']}" for each in result["balance"]["formats"]
  )
  return page.section(
    "Very many samples and workers",
    result,
    f"""
A simulation: two formats of {result["samples"]} samples each, in an index of
{result["index_bytes"] / 1e9:.2f} GB as a conversion would write it; the shard files
are holes. The first and the last of {result["workers"]} workers each open their part
in a fresh process. The whole index is checked by its CRC-32C and row by row, and
stays mapped. Then the part's epoch is planned.""",
    text(result),
    """
Then one worker opens all samples, those of every second class, and all with 1,000
classes in equal shares, each in a fresh process.""",
    _views(result),
    f"""
Over all workers, a part has {parts["min"]} to {parts["max"]} encodings in
{batches["min"]} to {batches["max"]} batches. By format these are {formats}.
{result["balance"]["repeated"]} samples are repeated in all.""",
  )
