"""Random access to single samples: from memory, and from the disk beside fio."""

import json
import os
import random
import shutil
import statistics
import subprocess
import time
from collections.abc import Callable, Sequence
from typing import Any

from liquid_tf._measure import process
from liquid_tf._view.view import View
from liquid_tf._view.view import open as open_view

# Of fio's speed, what reading from the disk is to reach.
PROMISED = 0.8
# What O_DIRECT asks of sizes and places, on any disk.
_SECTOR = 4096


def bench(
  path: str, *, rounds: int, reads: int, say: Callable[[str], None]
) -> dict[str, Any]:
  """Reads samples by position, each once a round, in an order of its own.

  `memory`: all were read before, so the page cache has them. `disk`: the files were
  dropped from it. Beside that, fio reads blocks of the mean record's size, rounded up
  to 4096 bytes, past the page cache, one at a time.

  Args:
    path: a dataset directory.
    rounds: of each.
    reads: samples a round; at most those of the dataset.
    say: is told of progress.

  Returns:
    `reads`, `record_bytes` (the mean), `memory`, `memory_cpu_us`, `disk` and `fio`
    (reads a second, of each round; processor µs a read), `ratio` of the medians of
    disk and fio, and `skipped`: why fio was left out, or None.

  Raises:
    ValueError: the dataset is not local.
    ChildProcessError: fio failed.
  """
  if "://" in path:
    raise ValueError(f"dataset ({path}) must be a local folder")
  view = open_view(path)
  reads = min(reads, len(view))
  fio = shutil.which("fio")
  lengths = view.index["length"][view.places]
  block = -(-int(lengths.mean()) // _SECTOR) * _SECTOR
  result = {
    "reads": reads,
    "record_bytes": float(lengths.mean()),
    "memory": [],
    "memory_cpu_us": [],
    "disk": [],
    "fio": [],
    "fio_block": block,
    "skipped": None if fio else "fio is not installed",
  }
  files = sorted({view.manifest.shards[i].path for i in view.index["shard"]})
  files = [view.manifest.path(name) for name in files]
  for number in range(rounds):
    order = random.Random(number).sample(range(len(view)), reads)
    process.drop_from_page_cache(path)
    result["disk"].append(_speed(view, order)[0])
    # Before fio, which drops the files from the page cache too.
    speed, processor = _speed(view, random.Random(-number).sample(order, reads))
    result["memory"].append(speed)
    result["memory_cpu_us"].append(1e6 * processor / reads)
    if fio:
      result["fio"].append(_fio_speed(fio, files, block, reads, number))
  if fio:
    medians = [statistics.median(result[key]) for key in ("disk", "fio")]
    result["ratio"] = medians[0] / medians[1]
  for text in _lines(result):
    say(text)
  return result


def _lines(result: dict[str, Any]) -> list[str]:
  """A result in words."""
  memory, disk = (statistics.median(result[key]) for key in ("memory", "disk"))
  processor = statistics.median(result["memory_cpu_us"])
  lines = [
    f"{result['reads']} reads of {result['record_bytes']:.0f} bytes each",
    f"from memory: {memory:.0f} reads/s, {processor:.1f} µs of processor time each",
    f"from the disk: {disk:.0f} reads/s",
  ]
  if result["fio"]:
    other = statistics.median(result["fio"])
    lines[-1] += (
      f"; fio, blocks of {result['fio_block']} bytes: {other:.0f} reads/s: "
      f"{result['ratio']:.2f} of it"
    )
  return lines


def _speed(view: View, order: Sequence[int]) -> tuple[float, float]:
  """Reads a second, and processor seconds of all."""
  processor, begin = time.process_time(), time.perf_counter()
  for position in order:
    view[position]
  seconds = time.perf_counter() - begin
  return len(order) / seconds, time.process_time() - processor


def _fio_speed(
  fio: str, files: Sequence[str], block: int, reads: int, seed: int
) -> float:
  """Reads a second of one run of fio, whose own clock leaves its start out."""
  whole = [name for name in files if os.path.getsize(name) >= block]
  names = ":".join(name.replace(":", r"\:") for name in whole)
  command = [
    fio, "--name=read", f"--filename={names}", "--readonly", "--rw=randread",
    "--file_service_type=random", f"--bs={block}", f"--number_ios={reads}",
    f"--randseed={seed + 1}", "--iodepth=1", "--ioengine=psync", "--direct=1",
    "--output-format=json",
  ]  # fmt: skip
  done = subprocess.run(command, capture_output=True, text=True)
  if done.returncode != 0:
    raise ChildProcessError(f"fio ended with code {done.returncode}: {done.stderr}")
  read = json.loads(done.stdout)["jobs"][0]["read"]
  return read["total_ios"] / max(1, read["runtime"]) * 1e3
