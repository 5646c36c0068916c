"""How much memory a pipeline may use, and what of it is cache."""

import dataclasses
import math
import re

import numpy as np

from liquid_tf._native import free_memory
from liquid_tf._words import Shown
from liquid_tf.errors import WrongArgument

_UNITS = {
  "": 1,
  "b": 1,
  "kb": 10**3,
  "mb": 10**6,
  "gb": 10**9,
  "tb": 10**12,
  "kib": 2**10,
  "mib": 2**20,
  "gib": 2**30,
  "tib": 2**40,
}
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]*)\s*\Z")
_NUMBER = re.compile(r"\s*\d+\s*\Z")
_SHARE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*%\s*\Z")

# Of what the machine has free, how much "auto" takes: the rest is for the model,
# and for what starts later.
_AUTO_SHARE = 0.75

# What other pipelines may take is not all taken: so much of it counts as free.
_LEAST_FREE = 0.1


def parse_bytes(value: int | str, name: str) -> int:
  """Reads a number of bytes: 1000, "1000", "64MiB", "1.5GB".

  Raises:
    ValueError: it is none; the message names the argument `name`.
  """
  if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
    return value
  if isinstance(value, str):
    match = _SIZE.match(value)
    unit = _UNITS.get(match.group(2).lower()) if match else None
    # A fraction of a byte is a share without its per cent, most likely.
    if unit is not None and (unit > 1 or "." not in match.group(1)):
      return int(float(match.group(1)) * unit)
  raise WrongArgument(name, value, 'must be bytes (8589934592, "8GiB") or "auto"')


def resolve_memory(memory: int | str, promised: int = 0) -> int:
  """Bytes of `memory=`; "auto" takes three quarters of what is free.

  Args:
    memory: as `dataset` takes it.
    promised: bytes that count as taken, although they are still free; they leave a
      tenth of these.
  """
  if memory == "auto":
    free = free_memory.free_memory()
    return int(_AUTO_SHARE * max(free - promised, _LEAST_FREE * free))
  return parse_bytes(memory, "memory")


# Most bytes that a source reads ahead, and parts of the budget that look-ahead and
# the regions' slack may take at most.
_LOOKAHEAD_MOST = 64 << 20
_REMOTE_LOOKAHEAD_MOST = 512 << 20
_LOOKAHEAD_PART = 8
_SLACK_PART = 4


# Free memory that is kept for later: a part of the budget, and at most so much.
_SPARE_PART = 16
_SPARE_MOST = 512 << 20

# Likewise, of records that wait to be written to a tier on a disk.
_TIER_QUEUE_PART = 32
_TIER_QUEUE_MOST = 64 << 20

# What the counters of `stats` come to, and the part of the budget that is set aside
# for them at most: few pipelines so small run for so many batches.
_COUNTERS_MOST = 3 << 20
_COUNTERS_PART = 16

# What a record in memory takes beside its bytes: blocks of memory come in sizes
# that are up to 1/16 apart, and each record has a description and a place in a map.
_ROUNDING = 1 + 1 / 16
_DESCRIPTION = 640

# What a record on a GPU takes there beside its bytes, at most: places begin at
# multiples, and some bytes behind an image are read, too. And the part of its bytes
# that stays in the host's memory: headers and tables.
_GPU_RECORD = 512
_GPU_HOST_PART = 64

# Where records come and go, the part of a GPU's memory that is free: those that left
# are still decoded when others come, and places differ in size.
_GPU_SLACK_PART = 16

# Most batches that are decoded ahead of their use, and the part of the budget that
# they may take at most.
_DECODED_BATCHES = 16
_DECODED_PART = 8


def decoded_batches(memory: int, batch_bytes: float, samples: int) -> int:
  """Most batches of so many bytes, and samples, that may be decoded ahead.

  Raises:
    ValueError: there is no memory for one.
  """
  if memory < batch_bytes:
    raise WrongArgument(
      "memory",
      Shown(f"{memory} bytes"),
      f"must be at least {math.ceil(batch_bytes)} bytes, what a batch of {samples} "
      "takes with its stored records: give more, or make batches of fewer or smaller "
      "images",
    )
  fitting = int(memory // _DECODED_PART // max(1, batch_bytes))
  return max(1, min(_DECODED_BATCHES, fitting))


def decoded_bytes(memory: int, batch_bytes: float) -> int:
  """Bytes for the batches that may be decoded ahead, of so many bytes or fewer."""
  most = min(memory // _DECODED_PART, _DECODED_BATCHES * batch_bytes)
  return int(max(batch_bytes, most))


def tier_queue_bytes(memory: int) -> int:
  """Bytes of records that wait to be written to a tier, at most."""
  return min(_TIER_QUEUE_MOST, memory // _TIER_QUEUE_PART)


def spare_bytes(memory: int) -> int:
  """Bytes of free memory that are kept for later use rather than given back."""
  return min(_SPARE_MOST, memory // _SPARE_PART)


def resident_bytes(size: float, records: int) -> int:
  """Bytes that records of `size` bytes together take in memory."""
  return int(size * _ROUNDING) + records * _DESCRIPTION


def resident_bytes_each(size: np.ndarray) -> np.ndarray:
  """Likewise, of records of these bytes each."""
  return size * _ROUNDING + _DESCRIPTION


def lookahead_bytes(memory: int, formats: int, remote: bool = False) -> int:
  """Bytes that each of `formats` sources may read ahead; `remote`: of a network."""
  most = _REMOTE_LOOKAHEAD_MOST if remote else _LOOKAHEAD_MOST
  return min(most, memory // _LOOKAHEAD_PART // max(1, formats))


@dataclasses.dataclass(frozen=True)
class Division:
  """Division of a budget by format; it changes reads, never the order.

  Attributes:
    spare_bytes: most free memory that is kept for later use.
    cache_bytes: most bytes kept between epochs.
    cached: samples that the plan keeps between epochs.
    kept: those of them that there is memory for.
    resident: samples that there is memory for at once, kept or not yet drawn.
    samples: that there are.
    whole_bytes: that all of them would take, as they are kept.
    gpu_bytes: of a GPU's memory, for what is kept.
    gpu_share: of the bytes that are kept, those that are to lie there.
    spared_bytes: of memory, which what lies there does not take.
  """

  spare_bytes: int
  cache_bytes: int
  cached: list[int]
  kept: list[int]
  resident: list[int]
  samples: list[int]
  whole_bytes: int
  gpu_bytes: int = 0
  gpu_share: float = 0.0
  spared_bytes: int = 0

  @property
  def held(self) -> float:
    """The share of the samples that there is memory for between epochs."""
    total = sum(self.samples)
    return sum(self.kept) / total if total else 1.0


def divide(
  memory: int,
  lookahead: int,
  cache: int | str,
  samples: list[int],
  size: list[int],
  kept_size: list[int],
  slack: list[int],
  gpu: int = 0,
) -> Division:
  """Divides a budget into look-ahead, slack of the regions, free memory, and cache.

  Args:
    memory: the whole budget in bytes.
    lookahead: bytes of it for what is read, or decoded, ahead of its use.
    cache: as in `cached_samples`.
    samples: of each format.
    size: bytes that each format would take in memory as it is read; see
      `resident_bytes`.
    kept_size: likewise, as it is kept between epochs.
    slack: samples that each region would hold beside the cached ones.
    gpu: most bytes of a GPU's memory, beside the budget, for what is kept.
  """
  mean = [s / n if n else 0.0 for s, n in zip(size, samples)]
  spare = spare_bytes(memory)
  wanted = sum(m * n for m, n in zip(mean, slack))
  slack_bytes = min(wanted, memory / _SLACK_PART)
  fitting = [int(n * slack_bytes / wanted) if wanted else 0 for n in slack]
  counters = min(_COUNTERS_MOST, memory // _COUNTERS_PART)
  room = max(0, memory - lookahead - int(slack_bytes) - spare - counters)
  whole = sum(kept_size)
  of_whole = _on_gpu(whole, sum(samples))
  # Of all, nothing leaves.
  there = gpu if gpu >= of_whole else gpu - gpu // _GPU_SLACK_PART
  part = _gpu_part(whole, sum(samples), room, there)
  more = part * (whole - _here_of_gpu(whole, sum(samples)))
  cached = cached_samples(cache, samples, kept_size, room + int(more))
  needed = sum(s / n * c for s, n, c in zip(kept_size, samples, cached) if n)
  # The GPU comes first; what is there has a part here.
  on_gpu = _gpu_part(needed, sum(cached), room, there)
  here_of_gpu = on_gpu * _here_of_gpu(needed, sum(cached))
  share = 1.0
  if needed:
    share = on_gpu + min(1 - on_gpu, (room - here_of_gpu) / needed)
  kept = [int(n * share) for n in cached]
  gpu_bytes = 0.0
  if on_gpu:
    # With what left and is still decoded, which is as much as the slack or less.
    gpu_bytes = on_gpu * _on_gpu(needed, sum(cached)) * (1 + 2 / _GPU_SLACK_PART)
    gpu_bytes = min(gpu, of_whole, gpu_bytes + wanted)
  return Division(
    spare_bytes=spare,
    cache_bytes=room,
    cached=cached,
    kept=kept,
    resident=[k + f for k, f in zip(kept, fitting)],
    samples=list(samples),
    whole_bytes=whole,
    gpu_bytes=math.ceil(gpu_bytes),
    gpu_share=on_gpu / share if share else 0.0,
    spared_bytes=max(0, int(on_gpu * needed - here_of_gpu)),
  )


def _gpu_part(size: float, records: float, room: float, there: float) -> float:
  """The part of such records that a GPU has room for, and memory for what stays here.

  Args:
    size: bytes that all would take in memory.
    records: how many they are.
    room: bytes of memory.
    there: bytes of the GPU's memory.
  """
  if not size or not there:
    return 0.0
  return min(1.0, there / _on_gpu(size, records), room / _here_of_gpu(size, records))


def _on_gpu(size: float, records: float) -> float:
  """Bytes of a GPU's memory for records that would take `size` bytes in memory."""
  return max(0.0, size - records * _DESCRIPTION) / _ROUNDING + records * _GPU_RECORD


def _here_of_gpu(size: float, records: float) -> float:
  """Bytes of the host's memory that such records take beside."""
  return size / _GPU_HOST_PART + records * _DESCRIPTION


def cached_samples(
  cache: int | str, samples: list[int], size: list[int], room: int
) -> list[int]:
  """How many samples of each format stay in memory between epochs.

  Args:
    cache: a share of the dataset ("30%"), bytes (0, "2GiB"), or "auto".
    samples: of each format.
    size: bytes that each format would take in memory.
    room: bytes that "auto" may take.

  Returns:
    Whole samples per format, the same share of each.

  Raises:
    ValueError: `cache` is none of these.
  """
  total = sum(size)
  share = _SHARE.match(cache) if isinstance(cache, str) else None
  if share:
    fraction = float(share.group(1)) / 100
    if fraction > 1:
      raise WrongArgument("cache", cache, "must be at most 100%")
  elif cache == "auto":
    fraction = min(1.0, room / total) if total else 0.0
  elif isinstance(cache, str) and _NUMBER.match(cache) and int(cache):
    number = cache.strip()
    raise WrongArgument(
      "cache", cache, f'must have a unit: "{number}%" of the data, or "{number}MiB"'
    )
  else:
    try:
      wanted = parse_bytes(cache, "cache")
    except ValueError:
      raise WrongArgument(
        "cache", cache, 'must be a share ("30%"), bytes (0, "2GiB"), or "auto"'
      ) from None
    fraction = min(1.0, wanted / total) if total else 0.0
  return [min(n, int(fraction * n + 1e-9)) for n in samples]
