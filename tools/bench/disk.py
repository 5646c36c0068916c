"""Our reader beside fio, over the same files with the same blocks and depth."""

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

from liquid_tf._measure import process
from liquid_tf._pipeline.format_dataset import format_dataset
from liquid_tf._store import manifest as manifests
from liquid_tf._view import view
from liquid_tf._words import argument
from liquid_tf.errors import WrongArgument
from tools.bench import turns

# Of fio's speed, what the reader is to reach.
PROMISED = 0.95
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
  record's CRC-32C; fio drops what it reads.

  Args:
    path: a dataset directory.
    rounds: of ours and fio.
    block: bytes of a read.
    depth: most reads under way at once.
    reader: as in `format_dataset`.
    say: is told of progress.

  Returns:
    `formats` {name: {bytes, ours, fio: MB/s, of each round; ratio: of the medians}},
    where fio is installed, of those that the split has; `split`, `block`, `depth`,
    `reader`, and `skipped`: why fio was left out, or None.

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
  fio = shutil.which("fio")
  formats = {}
  for name, paths in files.items():
    if not paths:
      continue
    sides = {"ours": functools.partial(_ours, path, name, block, depth, reader)}
    if fio is not None:
      sides["fio"] = functools.partial(fio_speed, fio, paths, block, depth)
    entry = {"bytes": sum(map(os.path.getsize, paths))} | beside(sides, rounds)
    formats[name] = entry
    say(line(name, entry))
  return {
    "formats": formats,
    "split": split,
    "block": block,
    "depth": depth,
    "reader": reader,
    "skipped": None if fio is not None else "fio is not installed",
  }


def beside(
  sides: Mapping[str, Callable[[], float]], rounds: int
) -> dict[str, list[float] | float]:
  """Measures ours and perhaps another in turn: both, and the ratio of their medians."""
  found: dict[str, Any] = turns.in_turn(sides, rounds)
  if len(found) > 1:
    ours, other = map(statistics.median, found.values())
    found["ratio"] = ours / other
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


def line(name: str, entry: dict[str, Any]) -> str:
  """One format's result in words."""
  ours = statistics.median(entry["ours"])
  text = f"{name}: {ours:.0f} MB/s of {entry['bytes'] / 1e6:.0f} MB"
  if "fio" not in entry:
    return text
  other = statistics.median(entry["fio"])
  return f"{text}; fio {other:.0f} MB/s: {entry['ratio']:.2f} of it"


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


def text(result: dict[str, Any]) -> str:
  """Says what was missing."""
  missing = result["skipped"]
  return f"nothing to compare with: {missing}" if missing else ""
