"""Compares reading and writing RecordIO with fio and dd.

python -m tools.bench recordio --workdir=photos
"""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from liquid_tf import recordio
from liquid_tf._measure import process
from liquid_tf._words import argument
from liquid_tf.errors import WrongArgument
from tools.bench import disk


def bench(
  folder: str,
  *,
  rounds: int,
  size: int,
  record_bytes: int,
  block: int,
  depth: int,
  reader: str,
  say: Callable[[str], None],
) -> dict[str, Any]:
  """Writes a file of random records and reads it: ours, the other, ours, the other.

  Writing ends when the bytes are on the disk, index included: as dd with conv=fsync.
  Reading begins with an empty page cache and goes past it where that works, as fio.
  0.95 of fio's speed and 0.80 of dd's are promised.

  Args:
    folder: where files of twice `size` have room; they are removed.
    rounds: of each.
    size: bytes of the payloads.
    record_bytes: of each payload.
    block: bytes of a read, and of a write of dd.
    depth: most reads under way at once.
    reader: as in `recordio.dataset`.
    say: is told of progress.

  Returns:
    `read` {ours, fio, ratio} and `write` {ours, dd, ratio}: MB/s of each round, and the
    ratio of the medians; `bytes` of the file; `parts` {n: MB/s of reading them one
    after another}; and `skipped`: why fio was left out, or None.

  Raises:
    ValueError: an argument is wrong.
    ChildProcessError: fio or dd failed.
  """
  disk.check(block, depth)
  if size < record_bytes or record_bytes < 1:
    raise WrongArgument(
      "size",
      size,
      f"must be at least {argument('record_bytes', record_bytes)}, which is not 0",
    )
  random = np.random.default_rng(0)
  # A few that differ, since making random bytes is slower than writing them.
  payloads = [random.bytes(record_bytes) for _ in range(16)]
  fio, skipped = disk.find_fio(say)
  dd = shutil.which("dd")
  options = {"block_bytes": block, "depth": depth, "reader": reader}
  with tempfile.TemporaryDirectory(dir=folder) as scratch:
    path = os.path.join(scratch, "ours.rec")
    sides = {"ours": lambda: _write(path, payloads, size // record_bytes)}
    if dd:
      sides["dd"] = lambda: _dd(dd, path, block)
    write = disk.beside(sides, rounds, "writing", say)
    sides = {"ours": lambda: _read(path, **options)}
    if fio:
      sides["fio"] = lambda: disk.fio_speed(fio, [path], block, depth)
    read = disk.beside(sides, rounds, "reading", say)
    parts = {str(n): _read_parts(path, n, options) for n in (1, 2, 8)}
    written = os.path.getsize(path)
  say("in parts: " + ", ".join(f"{n}: {speed:.0f} MB/s" for n, speed in parts.items()))
  result = {"read": read, "write": write, "parts": parts, "bytes": written}
  return result | {"skipped": skipped}


def _write(path: str, payloads: list[bytes], count: int) -> float:
  """MB/s of the file, until it and its index are on the disk."""
  begin = time.perf_counter()
  with recordio.Writer(path) as writer:
    for i in range(count):
      writer.write(payloads[i % len(payloads)])
  return os.path.getsize(path) / (time.perf_counter() - begin) / 1e6


def _dd(dd: str, path: str, block: int) -> float:
  """MB/s of dd for the same bytes, which the page cache still has."""
  copy = path + ".copy"
  begin = time.perf_counter()
  done = subprocess.run(
    [dd, f"if={path}", f"of={copy}", f"bs={block}", "conv=fsync"],
    capture_output=True,
    text=True,
  )
  seconds = time.perf_counter() - begin
  if done.returncode != 0:
    raise ChildProcessError(f"dd ended with code {done.returncode}: {done.stderr}")
  os.unlink(copy)
  return os.path.getsize(path) / seconds / 1e6


def _read(path: str, **options: Any) -> float:
  """MB/s of one run through the file.

  The iterator is made before and goes after it: fio's clock leaves its start and its
  end out, too. tf.data can wait for seconds when an iterator goes.
  """
  process.drop_from_page_cache(os.path.dirname(path))
  iterator = disk.iterate(recordio.dataset(path, **options))
  begin = time.perf_counter()
  disk.run(iterator)
  return os.path.getsize(path) / (time.perf_counter() - begin) / 1e6


def _read_parts(path: str, n: int, options: dict[str, Any]) -> float:
  """MB/s of the parts one after another, the making of their iterators included."""
  process.drop_from_page_cache(os.path.dirname(path))
  iterators = []
  begin = time.perf_counter()
  for i in range(n):
    part = recordio.dataset(path, shard=(i, n), **options)
    iterators.append(disk.iterate(part))
    disk.run(iterators[-1])
  return os.path.getsize(path) / (time.perf_counter() - begin) / 1e6
