"""Compares our reads with fio's, over the files of a dataset.

python -m tools.bench disk --dataset=photos.liquid
"""

import functools
import json
import os
import shutil
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import tensorflow as tf

from liquid_tf._graph.format_dataset import format_dataset
from liquid_tf._measure import process
from liquid_tf._store import manifest as manifests
from liquid_tf._view import view
from liquid_tf._words import argument
from liquid_tf.errors import WrongArgument
from tools.bench import turns

# A source's reads are a sixteenth of its look-ahead.
_READS_AHEAD = 16
# More elements than any source here has; tf.data loses what is above 31 bits.
_ALL = (1 << 31) - 1


def bench(
  path: str,
  *,
  rounds: int,
  block: int,
  depth: int,
  reader: str,
  say: Callable[[str], None],
) -> dict[str, Any]:
  """Reads each format's files in stored order: ours, fio, ours, fio.

  Both read those of the split that a training reads by default. Ours checks every
  record's CRC-32C; fio drops what it reads. 0.95 of its speed is promised.

  Args:
    path: a dataset directory.
    rounds: of ours and fio.
    block: bytes of a read.
    depth: most reads under way at once.
    reader: as in `format_dataset`.
    say: is told of progress.

  Returns:
    `formats` {name: {bytes, ours, fio: MB/s, of each round; ratio: of the medians}},
    where fio is installed, of those that the split has; `split`, and `skipped`: why fio
    was left out, or None.

  Raises:
    ValueError: an argument is wrong.
    ChildProcessError: fio failed.
  """
  check(block, depth)
  manifest = manifests.load(path)
  split = view.default_split(manifest)
  files = {name: [] for name in manifest["formats"]}
  for shard in manifest.shards:
    if shard.split == split:
      files[shard.format].append(manifest.path(shard.path))
  fio, skipped = find_fio(say)
  formats = {}
  for name, paths in files.items():
    if not paths:
      continue
    sides = {"ours": functools.partial(_ours, path, name, block, depth, reader)}
    if fio:
      sides["fio"] = functools.partial(fio_speed, fio, paths, block, depth)
    size = sum(map(os.path.getsize, paths))
    formats[name] = {"bytes": size} | beside(
      sides, rounds, f"{name}, {size / 1e6:.0f} MB", say
    )
  return {"formats": formats, "split": split, "skipped": skipped}


def find_fio(say: Callable[[str], None]) -> tuple[str | None, str | None]:
  """The program fio, and why there is nothing to compare with, or None."""
  fio = shutil.which("fio")
  skipped = None if fio else "fio is not installed"
  if skipped:
    say(f"nothing to compare with: {skipped}")
  return fio, skipped


def beside(
  sides: Mapping[str, Callable[[], float]],
  rounds: int,
  what: str,
  say: Callable[[str], None],
) -> dict[str, Any]:
  """Measures MB/s of ours and perhaps of another, in turn.

  Args:
    sides: ours first.
    rounds: of each.
    what: is measured.
    say: is told the medians.

  Returns:
    The figures of each side, and the `ratio` of their medians where there are two.
  """
  found: dict[str, Any] = turns.in_turn(sides, rounds)
  medians = {name: statistics.median(speeds) for name, speeds in found.items()}
  said = "; ".join(f"{name} {speed:.0f} MB/s" for name, speed in medians.items())
  if len(found) > 1:
    ours, other = medians.values()
    found["ratio"] = ours / other
    said += f": {found['ratio']:.2f} of it"
  say(f"{what}: {said}")
  return found


def check(block: int, depth: int) -> None:
  """Checks what reads are made of.

  Raises:
    ValueError: it cannot be.
  """
  if depth < 1 or block % 4096 or not 1 << 17 <= block <= 8 << 20:
    raise WrongArgument(
      "block",
      block,
      "must be a multiple of 4096 from 128 KiB to 8 MiB, and "
      f"{argument('depth', depth)} at least 1",
    )


def _ours(path: str, name: str, block: int, depth: int, reader: str) -> float:
  """MB/s of one run through a source, which has the default split."""
  source = format_dataset(
    path, name, threads=depth, lookahead_bytes=_READS_AHEAD * block, reader=reader
  )
  size = int(source.rows["length"].sum())
  process.drop_from_page_cache(path)
  iterator = iterate(source)
  begin = time.perf_counter()
  run(iterator)
  return size / (time.perf_counter() - begin) / 1e6


def iterate(source: tf.data.Dataset) -> Iterator:
  """An iterator for `run`: elements are made and dropped with no step through Python.

  That takes some 40 µs each, and much more where the readers want the processors.
  """
  return iter(source.skip(_ALL))


def run(iterator: Iterator) -> None:
  """Reads to the end.

  Raises:
    RuntimeError: tf.data gave out an element, so it has not skipped all of them.
  """
  for _ in iterator:
    raise RuntimeError(f"skip({_ALL}) left an element: use a smaller size")


def fio_speed(fio: str, files: list[str], block: int, depth: int) -> float:
  """MB/s of one run of fio, whose own clock leaves its start out."""
  # It takes no block that is larger than a file.
  block = min(block, *(os.path.getsize(name) // 4096 * 4096 for name in files))
  read = run_fio(
    fio, files, "--rw=read", "--file_service_type=sequential", f"--bs={block}",
    f"--iodepth={depth}", "--ioengine=io_uring", "--fixedbufs",
  )  # fmt: skip
  # In milliseconds, and less than one for very little.
  return read["io_bytes"] / max(1, read["runtime"]) / 1e3


def run_fio(fio: str, files: Sequence[str], *options: str) -> dict[str, Any]:
  """Reads files by fio past the page cache; returns what it says of its reads.

  Raises:
    ChildProcessError: it failed.
  """
  names = ":".join(name.replace(":", r"\:") for name in files)
  command = [fio, "--name=read", f"--filename={names}", "--readonly", "--direct=1"]
  done = subprocess.run(
    [*command, "--output-format=json", *options], capture_output=True, text=True
  )
  if done.returncode != 0:
    raise ChildProcessError(f"fio ended with code {done.returncode}: {done.stderr}")
  return json.loads(done.stdout)["jobs"][0]["read"]
