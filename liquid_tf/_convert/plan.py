"""Assigns each sample a split, a format and a shard: a pure function.

Nothing here reads a file, a clock or a global; the same table and seed give the same
plan with every version of NumPy, because the only random numbers are words of Philox
and the only order is a stable sort of such words.
"""

import dataclasses
import enum
import math
from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction

import numpy as np

from liquid_tf._store.formats import BY_NAME
from liquid_tf._store.mix import TARGETS, apportion

# Samples that are alike in class and size are shuffled within this many, so that the
# formats' fixed rotation does not meet the order of sizes.
_RUN = 16

# Of the pixels, what an encoder will probably make; only the number of shards uses it.
_COMPRESSED = 0.6
_OVERHEAD = 64


class Purpose(enum.IntEnum):
  """Independent streams of random words. Never renumber: datasets depend on it."""

  SPLIT = 0
  FORMAT = 1
  ORDER = 2
  FIDELITY = 3


@dataclasses.dataclass(frozen=True)
class ShardPlan:
  """One file to write.

  Attributes:
    name: file name.
    target: name of the format as the mix gives it.
    split: position of the split.
    samples: shape [records], sample numbers in stored order.
  """

  name: str
  target: str
  split: int
  samples: np.ndarray


def words(seed: int, purpose: int, count: int) -> np.ndarray:
  """Random words, shape [count], uint64: Philox4x64-10 keyed by seed and purpose."""
  return np.random.Philox(key=seed | int(purpose) << 64).random_raw(count)


def deal(counts: Sequence[int]) -> np.ndarray:
  """Spreads `counts[k]` times k as evenly as whole numbers can.

  Each step gives to the one that is furthest behind its share (error diffusion).

  Returns:
    Shape [sum of counts], int.
  """
  total = sum(counts)
  behind = [0] * len(counts)
  left = list(counts)
  result = np.empty(total, np.int64)
  for step in range(total):
    best = -1
    for k, count in enumerate(counts):
      behind[k] += count
      if left[k] and (best < 0 or behind[k] > behind[best]):
        best = k
    behind[best] -= total
    left[best] -= 1
    result[step] = best
  return result


def _fractions(shares: Mapping[str, float]) -> list[Fraction]:
  # Through text, so that .1 is a tenth and not its nearest binary number.
  return [Fraction(str(weight)) for weight in shares.values()]


def go_on(weights: Sequence[Fraction], dealt: Sequence[int], count: int) -> list[int]:
  """How many more each of some targets gets, so that all that each got is its share.

  Each step gives to a target that is due, the one whose time runs out first (Tijdeman's
  chairman assignment): so however often a dataset grows, each total stays within one of
  its share, where it was before.

  Args:
    weights: positive.
    dealt: what each got so far.
    count: what there is to give.
  """
  total = sum(weights)
  shares = [weight / total for weight in weights]
  scale = math.lcm(*(share.denominator for share in shares))
  steps = [int(share * scale) for share in shares]
  # Of a whole `scale`: how far a target is behind, and what makes it due.
  done = sum(dealt)
  behind = [step * done - got * scale for step, got in zip(steps, dealt)]
  ways = max(1, 2 * len(steps) - 2)
  result = [0] * len(steps)

  def time_left(k: int) -> tuple[Fraction, int]:
    return Fraction(scale * (ways - 1) - ways * behind[k], steps[k]), k

  for _ in range(count):
    for k, step in enumerate(steps):
      behind[k] += step
    due = [k for k, late in enumerate(behind) if late * ways >= scale]
    if due:
      best = min(due, key=time_left)
    else:
      best = max(range(len(steps)), key=lambda k: (behind[k], -k))
    behind[best] -= scale
    result[best] += 1
  return result


def draw_splits(
  labels: np.ndarray,
  shares: Mapping[str, float],
  seed: int,
  first: int | None = None,
) -> np.ndarray:
  """Draws a split for each sample, stratified by class.

  Args:
    labels: shape [n].
    shares: weight of each split.
    seed: of the dataset.
    first: of a dataset that grows, the number of its first new sample: each number is
      one split's, so that small appends have the shares together. None for a new one.

  Returns:
    Shape [n], positions in `shares`.
  """
  order = np.lexsort((words(seed, Purpose.SPLIT, len(labels)), labels))
  splits = np.empty(len(labels), np.int64)
  weights = _fractions(shares)
  if first is None:
    counts = apportion(len(labels), weights)
  else:
    # All shares are whole after so many, and it begins anew.
    period = math.lcm(*((weight / sum(weights)).denominator for weight in weights))
    before = go_on(weights, [0] * len(weights), first % period)
    counts = go_on(weights, before, len(labels))
  splits[order] = deal(counts)
  return splits


def assign_formats(
  splits: np.ndarray,
  labels: np.ndarray,
  pixels: np.ndarray,
  sizes: np.ndarray,
  mix: Mapping[str, float],
  seed: int,
  dealt: Mapping[int, Sequence[int]] | None = None,
) -> np.ndarray:
  """Chooses a format for each sample, stratified by split, class and size.

  Args:
    splits: shape [n].
    labels: shape [n].
    pixels: shape [n], height times width.
    sizes: shape [n], bytes of the source's file.
    mix: weight of each format.
    seed: of the dataset.
    dealt: of a dataset that grows, the samples that each split has in each format
      already; splits that are not there have none.

  Returns:
    Shape [n], positions in `mix`. Of each split, every format gets the floor or the
    ceiling of its share.
  """
  count = len(splits)
  order = np.lexsort((sizes, pixels, labels, splits))
  position = np.arange(count)
  group = np.flatnonzero(
    np.diff(splits[order], prepend=-1) | np.diff(labels[order], prepend=-2)
  )
  begin = np.zeros(count, np.int64)
  begin[group] = group
  begin = np.maximum.accumulate(begin)
  run = begin + (position - begin) // _RUN * _RUN
  order = order[np.lexsort((words(seed, Purpose.FORMAT, count), run))]

  weights = _fractions(mix)
  whole = sum(weights)
  owed = [Fraction(0)] * len(weights)
  formats = np.empty(count, np.int64)
  for split in np.unique(splits):
    members = order[splits[order] == split]
    if dealt is None:
      counts = apportion(len(members), weights, owed)
      for k, weight in enumerate(weights):
        owed[k] += weight * len(members) / whole - counts[k]
    else:
      had = dealt.get(int(split), [0] * len(weights))
      counts = go_on(weights, had, len(members))
    formats[members] = deal(counts)
  return formats


def positions_of(names: np.ndarray, mix: Mapping[str, float]) -> np.ndarray:
  """Positions of formats in a mix, which has all of them."""
  order = np.array(list(mix))
  ascending = order.argsort()
  return ascending[np.searchsorted(order, names, sorter=ascending)]


def estimate_bytes(
  target: str, source_format: np.ndarray, sizes: np.ndarray, pixel_bytes: np.ndarray
) -> np.ndarray:
  """Guesses the size of records, from what the scan knows.

  Args:
    target: name of a format in the mix.
    source_format: shape [n], names of formats.
    sizes: shape [n], bytes of the files.
    pixel_bytes: shape [n], bytes of the decoded images.

  Returns:
    Shape [n], int.
  """
  name = TARGETS[target][0]
  if BY_NAME[name].file_bytes is not None:
    return pixel_bytes + _OVERHEAD
  return (
    np.where(source_format == name, sizes, (pixel_bytes * _COMPRESSED)).astype(np.int64)
    + _OVERHEAD
  )


def shard_name(
  splits: Collection[str], split: str, format_name: str, number: int, count: int
) -> str:
  """Name of one of the shards of a split in a format; of a split alone, without it."""
  prefix = f"{split}-" if len(splits) > 1 else ""
  extension = "pcr" if format_name == "pcr" else "rec"
  return f"{prefix}{format_name}-{number:05}-of-{count:05}.{extension}"


def plan_shards(
  splits: np.ndarray,
  formats: np.ndarray | None,
  estimates: Mapping[str, np.ndarray],
  split_names: Sequence[str],
  shard_size: int,
  seed: int,
  pcr_images: int,
) -> list[ShardPlan]:
  """Cuts the samples of each split and format into files.

  Args:
    splits: shape [n], positions in `split_names`.
    formats: shape [n], positions in `estimates`; None: every sample in every format.
    estimates: per format of the mix, shape [n], bytes of a record.
    split_names: names of the splits.
    shard_size: bytes that a file should not exceed by much.
    seed: of the dataset.
    pcr_images: of a shard of the format pcr, which is one record. The last one of a
      split may have fewer.

  Returns:
    The shards, ascending by split, format and number. Records are in the seed's random
    order, the same for every format.
  """
  order = words(seed, Purpose.ORDER, len(splits)).argsort(kind="stable")
  result = []
  for split, split_name in enumerate(split_names):
    for k, (target, estimate) in enumerate(estimates.items()):
      chosen = splits == split
      if formats is not None:
        chosen &= formats == k
      samples = order[chosen[order]]
      if not len(samples):
        continue
      if target == "pcr":
        parts = np.split(samples, range(pcr_images, len(samples), pcr_images))
      else:
        count = -(-int(estimate[samples].sum()) // shard_size)
        parts = np.array_split(samples, min(max(count, 1), len(samples)))
      for i, part in enumerate(parts):
        name = shard_name(split_names, split_name, TARGETS[target][0], i, len(parts))
        result.append(ShardPlan(name, target, split, part))
  return result
