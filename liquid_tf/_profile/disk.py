"""The speed of the disk, by the size of a read."""

import time

import tensorflow as tf

from liquid_tf._graph.format_dataset import format_dataset
from liquid_tf._measure import process

BLOCKS = (128 << 10, 512 << 10, 2 << 20, 8 << 20)

# A source's reads are a sixteenth of its look-ahead.
_READS_AHEAD = 16
_THREADS = 8
_WARM_UP_SECONDS = 0.1

# A step of Python's loop passes so many bytes of small records, lest the loop is what
# is measured, and no more, since a slow disk would then be read for too long.
_STEP_BYTES = 4 << 20
# Most records of a source's element.
_BLOCK_RECORDS = 64


def sweep(path: str, format_name: str, seconds: float) -> dict[int, float] | None:
  """Reads records in stored order, past the page cache where the file system allows.

  Args:
    path: a dataset that is long enough, on the disk in question.
    format_name: of the records to read.
    seconds: that each size is read for.

  Returns:
    Bytes per second by the size of a read, as the kernel counts them; None where it
    does not count, as for a file system in memory.
  """
  rates = {}
  for block in BLOCKS:
    rate = _read(path, format_name, block, seconds)
    if rate is None:
      return None
    rates[block] = rate
  return rates


def _read(path: str, format_name: str, block: int, seconds: float) -> float | None:
  source = format_dataset(
    path, format_name, threads=_THREADS, lookahead_bytes=_READS_AHEAD * block
  )
  iterator = iter(_steps(source.repeat(), source.rows["length"].mean()))
  _draw(iterator, _WARM_UP_SECONDS)
  before = process.disk_bytes()
  spent = _draw(iterator, seconds)
  after = process.disk_bytes()
  if before is None or after == before:
    return None
  return (after - before) / spent


def _steps(blocks: tf.data.Dataset, record_bytes: float) -> tf.data.Dataset:
  """One of so many elements that they have `_STEP_BYTES`; tf.data drops the others."""
  count = max(1, int(_STEP_BYTES / (_BLOCK_RECORDS * record_bytes)))
  return blocks.shard(count, count - 1)


def _draw(iterator, seconds: float) -> float:
  begin = time.perf_counter()
  while (spent := time.perf_counter() - begin) < seconds:
    next(iterator)
  return spent
