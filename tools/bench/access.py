"""Measures reading single samples by position, beside fio's random reads.

python -m tools.bench access --dataset=photos.liquid
"""

import os
import random
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from liquid_tf._measure import process
from liquid_tf._view.sample_reader import SampleReader
from liquid_tf._view.view import open as open_view
from liquid_tf._words import Shown
from liquid_tf.errors import WrongArgument
from tools.bench import disk

# What O_DIRECT asks of sizes and places, on any disk.
_SECTOR = 4096


def bench(
  path: str, *, rounds: int, reads: int, say: Callable[[str], None]
) -> dict[str, Any]:
  """Reads samples by position, each once a round, in an order of its own.

  `memory`: all were read before, so the page cache has them. `filling`: the files were
  dropped from it, and it fills, as with a dataset that fits into memory. `disk`: past
  the page cache, as a larger one is read. Beside that, fio reads blocks of the mean
  record's size, rounded up to 4096 bytes, past it too, one at a time.

  Args:
    path: a dataset directory.
    rounds: of each.
    reads: samples a round; at most those of the dataset.
    say: is told of progress.

  Returns:
    `reads`, `record_bytes` (the mean), `memory`, `memory_cpu_us`, `filling`, `disk` and
    `fio` (reads a second, of each round; processor µs a read), `ratios` of the medians
    of filling and disk to fio's, and `skipped`: why fio was left out, or None.

  Raises:
    ValueError: the dataset is not local.
    ChildProcessError: fio failed.
  """
  if "://" in path:
    raise WrongArgument("dataset", Shown(path), "must be a local folder")
  view = open_view(path)
  reads = min(reads, len(view))
  fio, skipped = disk.find_fio(say)
  lengths = view.index["length"][view.places]
  block = -(-int(lengths.mean()) // _SECTOR) * _SECTOR
  series = ("memory", "memory_cpu_us", "filling", "disk", "fio")
  result: dict[str, Any] = {name: [] for name in series}
  result |= {"reads": reads, "record_bytes": float(lengths.mean())}
  result |= {"fio_block": block, "skipped": skipped}
  files = sorted({view.manifest.shards[i].path for i in view.index["shard"]})
  files = [view.manifest.path(name) for name in files]
  for number in range(rounds):
    order = random.Random(number).sample(range(len(view)), reads)
    for name, past in (("disk", True), ("filling", False)):
      reader = SampleReader(view.manifest, view.index, past_cache=past)
      process.drop_from_page_cache(path)
      result[name].append(_speed(reader.sample, view.places[order])[0])
    # Before fio, which drops the files from the page cache too.
    again = random.Random(-number).sample(order, reads)
    speed, processor = _speed(view.__getitem__, again)
    result["memory"].append(speed)
    result["memory_cpu_us"].append(1e6 * processor / reads)
    if fio:
      result["fio"].append(_fio_speed(fio, files, block, reads, number))
  said = ""
  if fio:
    other = statistics.median(result["fio"])
    result["ratios"] = {
      name: statistics.median(result[name]) / other for name in ("filling", "disk")
    }
    ratios = "{disk:.2f} and {filling:.2f} of it".format(**result["ratios"])
    said = f"; fio, blocks of {block} bytes: {other:.0f} reads/s: {ratios}"
  memory, processor, filling, past = (
    statistics.median(result[name]) for name in series[:4]
  )
  say(f"{reads} reads of {result['record_bytes']:.0f} bytes each")
  say(f"from memory: {memory:.0f} reads/s, {processor:.1f} µs of processor time each")
  say(
    f"from the disk: {past:.0f} reads/s, and {filling:.0f} where the page cache fills"
    f"{said}"
  )
  return result


def _speed(read: Callable[[int], Any], order: Iterable[int]) -> tuple[float, float]:
  """Reads a second, and processor seconds of all."""
  order = [int(position) for position in order]
  processor, begin = time.process_time(), time.perf_counter()
  for position in order:
    read(position)
  seconds = time.perf_counter() - begin
  return len(order) / seconds, time.process_time() - processor


def _fio_speed(
  fio: str, files: Sequence[str], block: int, reads: int, seed: int
) -> float:
  """Reads a second of one run of fio, whose own clock leaves its start out."""
  read = disk.run_fio(
    fio, [name for name in files if os.path.getsize(name) >= block],
    "--rw=randread", "--file_service_type=random", f"--bs={block}",
    f"--number_ios={reads}", f"--randseed={seed + 1}", "--iodepth=1",
    "--ioengine=psync",
  )  # fmt: skip
  return read["total_ios"] / max(1, read["runtime"]) * 1e3
