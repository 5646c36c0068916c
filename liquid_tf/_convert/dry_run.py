"""A look at a conversion before it: what it would make, from encodings of a sample."""

import collections
import dataclasses
import math
import os
import time
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from liquid_tf._convert import choose, pipelines
from liquid_tf._convert import scan as scans
from liquid_tf._convert.pipelines import Encoding
from liquid_tf._convert.sources.samples import SampleSource
from liquid_tf._native import ops
from liquid_tf._store.manifest import FORMATS
from liquid_tf._store.mix import TARGETS, apportion
from liquid_tf.errors import ConvertError

# Images that are encoded: at most, in how many seconds, and at least.
_IMAGES, _SECONDS, _LEAST = 400, 6.0, 20
# Images that tell how long one takes.
_FIRST = 8
# Header of a record, and of a sample in it.
_FRAME, _SAMPLE = 8, 24
# Bad images that are named.
_MOST_BAD = 20


@dataclasses.dataclass(frozen=True)
class Estimate:
  """Bytes of records, with the ends of their interval of 95 %.

  Attributes:
    samples: how many there are.
    bytes: on disk; exact where `low` and `high` are the same.
    low: the least that is likely.
    high: the most.
  """

  samples: int
  bytes: int
  low: int
  high: int


@dataclasses.dataclass(frozen=True)
class DryRun:
  """Report of a conversion that was not made.

  Attributes:
    samples: that the source has, the bad ones too.
    splits: samples by split, as they would be.
    classes: samples by class, where folders say it; by name alone, without their
      number, where only the scan would.
    skipped: `path` and `reason` of what is in no sample.
    checked: samples that were read and encoded.
    bad: `path` and `reason` of those of them that cannot be stored, 20 at most.
    bad_count: how many of them cannot.
    kinds: how many of them have which channels and bits, as "3 channels, 8 bits".
    formats: an `Estimate` of each format of the mix.
    total: of all of them.
    seconds: that the conversion would take, with as many workers.
  """

  samples: int
  splits: dict[str, int]
  classes: dict[str, int | None]
  skipped: list[dict[str, str]]
  checked: int
  bad: list[dict[str, str]]
  bad_count: int
  kinds: dict[str, int]
  formats: dict[str, Estimate]
  total: Estimate
  seconds: float

  def to_dict(self) -> dict[str, Any]:
    """The report as plain values, for JSON."""
    return dataclasses.asdict(self)


@dataclasses.dataclass(frozen=True)
class _Looked:
  """Some samples, read and encoded.

  Attributes:
    rows: shape [n], SCAN_DTYPE.
    good: shape [n], whether each can be stored.
    errors: why others cannot, by position.
    stored: bytes of each record, float64 [n], by name of the format in the mix; 0 of
      one that cannot be stored, or not in this format.
    copied: bytes of records that are copies of files, likewise.
    seconds: that each takes in the whole conversion.
  """

  rows: np.ndarray
  good: np.ndarray
  errors: dict[int, str]
  stored: dict[str, np.ndarray]
  copied: dict[str, np.ndarray]
  seconds: float


def look(
  source: SampleSource,
  arguments: Mapping[str, Any],
  encoding: Encoding,
  workers: int,
) -> DryRun:
  """Estimates a conversion; writes nothing.

  Args:
    source: the samples.
    arguments: of the conversion, as `run.arguments_of` gives them.
    encoding: what encoders are given.
    workers: images at a time.

  Raises:
    ConvertError: there is no sample, or none that was read can be stored.
  """
  if not len(source):
    raise ConvertError(f"{source.named} has no samples")
  mix = _shares(arguments, encoding)
  random = np.random.Generator(np.random.Philox(arguments["seed"]))
  first = random.permutation(len(source))[:_FIRST]
  taken = []
  # Once for what is loaded, once for what a pipeline's start takes.
  for some in (first[:1], first[:1], first):
    begin = time.monotonic()
    _look(source, some, mix, arguments, encoding, workers)
    taken.append(time.monotonic() - begin)
  each = max(taken[2] - taken[1], 1e-3) / len(first)
  wanted = int(np.clip(_SECONDS / each, _LEAST, _IMAGES))
  parts = _strata(source, wanted)
  chosen = [random.permutation(part)[: _of_each(len(source), wanted)] for part in parts]
  looked = _look(source, np.concatenate(chosen), mix, arguments, encoding, workers)
  if not looked.good.any():
    position, reason = min(looked.errors.items())
    raise ConvertError(
      f"none of {len(looked.good)} samples of {source.named} can be stored; the first, "
      f"{source.path(position)}: {reason}"
    )
  rows = looked.rows[looked.good]
  kinds = collections.Counter(
    f"{row['channels']} channels, {row['bits']} bits" for row in rows
  )
  bad = [
    {"path": source.path(position), "reason": reason}
    for position, reason in sorted(looked.errors.items())
  ]
  formats, total = _estimates(source, parts, chosen, looked, mix)
  return DryRun(
    samples=len(source),
    splits=_splits(source, arguments["splits"]),
    classes=_classes(source),
    skipped=[{"path": path, "reason": reason} for path, reason in source.reasons],
    checked=len(looked.good),
    bad=bad[:_MOST_BAD],
    bad_count=len(bad),
    kinds=dict(kinds.most_common()),
    formats=formats,
    total=total,
    seconds=round(len(source) * looked.seconds, 1),
  )


def _shares(arguments: Mapping[str, Any], encoding: Encoding) -> dict[str, float]:
  """The share of the samples that each format gets; 1 where a file decides."""
  mix = arguments["mix"]
  if arguments["replicate"] or encoding.check == "headers":
    return dict.fromkeys(mix, 1.0)
  return {name: weight / sum(mix.values()) for name, weight in mix.items()}


def _splits(source: SampleSource, shares: Mapping[str, float] | None) -> dict[str, int]:
  if shares is None:
    counts = np.bincount(source.split_of, minlength=len(source.splits)).tolist()
    return dict(zip(source.splits, counts))
  weights = [Fraction(str(share)) for share in shares.values()]
  return dict(zip(shares, apportion(len(source), weights)))


def _classes(source: SampleSource) -> dict[str, int | None]:
  if source.classes is None:
    return {}
  labels = getattr(source, "labels", None)
  if labels is None:
    return dict.fromkeys(source.classes)
  counts = np.bincount(labels, minlength=len(source.classes)).tolist()
  return dict(zip(source.classes, counts))


def _of_each(count: int, wanted: int) -> int:
  """Samples of each stratum that are looked at: two, or all."""
  return count if count <= wanted else 2


def _strata(source: SampleSource, wanted: int) -> list[np.ndarray]:
  """Positions of samples that are alike in format, by their names, and in size."""
  count = len(source)
  if count <= wanted:
    return [np.arange(count)]
  ends = [os.path.splitext(source.path(i))[1].lower() for i in range(count)]
  order = np.lexsort((source.sizes, np.unique(ends, return_inverse=True)[1]))
  return np.array_split(order, wanted // 2)


def _timed(elements: Iterable[Any]) -> tuple[list[Any], float]:
  """All elements, and the seconds that one takes once a pipeline runs."""
  begin = time.monotonic()
  found, times = [], []
  for element in elements:
    found.append(element)
    times.append(time.monotonic())
  # What comes with the first one is there as soon, and how long it took is not known.
  later = [i for i, when in enumerate(times) if when > times[0] + 1e-3]
  if later and len(times) - later[0] >= _FIRST:
    return found, (times[-1] - times[0]) / (len(times) - later[0])
  return found, (times[-1] - begin) / len(times) if times else 0.0


def _look(
  source: SampleSource,
  positions: np.ndarray,
  mix: Mapping[str, float],
  arguments: Mapping[str, Any],
  encoding: Encoding,
  workers: int,
) -> _Looked:
  """Reads and encodes samples, in each format that they may get."""
  scanned, seconds = _timed(scans.scan_samples(source, positions, encoding, workers))
  rows = np.array([row for _, row, _ in scanned])
  errors = {position: error for position, _, error in scanned if error}
  unfit = choose.too_large(mix, rows)
  if encoding.check == "headers":
    unfit |= choose.of_other_formats(mix, rows)
  errors = {int(positions[i]): why for i, why in unfit.items()} | errors
  stored, copied = ({name: np.zeros(len(rows)) for name in mix} for _ in range(2))
  for name, share in mix.items():
    wanted = ~np.isin(positions, list(errors))
    if encoding.check == "headers":
      wanted &= np.array(FORMATS)[rows["format"]] == name
    which = np.flatnonzero(wanted)
    if not len(which):
      continue
    targets, ids = [name] * len(which), np.zeros(len(which), np.int64)
    made, each = _timed(
      pipelines.encode(
        source, positions[which], targets, ids, encoding, workers, rows[which]
      )
    )
    seconds += share * each * len(which) / len(rows)
    for i, element in zip(which.tolist(), made):
      if element["error"]:
        errors[int(positions[i])] = element["error"].decode(errors="replace")
      else:
        stored[name][i] = len(element["stored"])
    if name == "pcr":
      stored[name] *= _pcr_factor(made, arguments["pcr"])
    may = pipelines.copies(rows[which], targets, encoding)["may"]
    copied[name][which] = np.where(may, stored[name][which], 0)
  good = ~np.isin(positions, list(errors))
  for sizes in (*stored.values(), *copied.values()):
    sizes[~good] = 0
  return _Looked(rows, good, errors, stored, copied, seconds)


def _pcr_factor(made: list[dict[str, Any]], options: Mapping[str, Any]) -> float:
  """Bytes of records of pcr, of those of the JPEG files in them."""
  images = [one["stored"] for one in made if not one["error"]][: options["images"]]
  if not images:
    return 1.0
  written = ops.lib().liquid_write_pcr(
    images=images,
    labels=np.zeros(len(images), np.int32),
    examples=[b""] * len(images),
    groups=list(options["groups"] or []),
  )
  return len(written.record.numpy()) / sum(map(len, images))


def _estimates(
  source: SampleSource,
  parts: list[np.ndarray],
  chosen: list[np.ndarray],
  looked: _Looked,
  mix: Mapping[str, float],
) -> tuple[dict[str, Estimate], Estimate]:
  """Estimates the bytes of each format, and of all, by the sizes of the files.

  The bytes of a record, or where all files are copied, those beside the file, are a
  ratio of the file's: the ratio estimator of a stratified sample. Which samples a
  format gets varies as well, within the strata.
  """
  positions = np.concatenate(chosen)
  # Of a dataset they are those of records.
  framed = source.sizes if source.kind == "liquid" else _framed(source.sizes)
  everything, framed = float(framed.sum()), framed[positions]
  counts = np.array([len(part) for part in parts])
  of = np.repeat(np.arange(len(parts)), [len(one) for one in chosen])
  strata = _Sample(source.sizes[positions].astype(np.float64), of, counts)
  size = float(source.sizes.sum())
  formats = {}
  together, known, spread = np.zeros(len(of)), 0.0, 0.0
  for name, share in mix.items():
    stored = looked.stored[name]
    # All files of the sample are copied: so are all others, whose sizes are known.
    is_copy = bool((looked.copied[name] > 0).all())
    unknown = share * (stored - framed if is_copy else stored)
    sure = share * everything if is_copy else 0.0
    dealt = share * (1 - share) * strata.within(stored)
    variance = dealt + strata.variance(unknown, size)
    whole = sure + strata.total(unknown, size)
    samples = share * len(source) * np.average(stored > 0, weights=strata.weights)
    formats[name] = _estimate(samples, whole, variance, len(of) - len(parts))
    together += unknown
    known += sure
    spread += dealt
  whole = known + strata.total(together, size)
  variance = strata.variance(together, size) + spread
  stored_once = sum(one.samples for one in formats.values())
  total = _estimate(stored_once, whole, variance, len(of) - len(parts))
  return {TARGETS[name][0]: one for name, one in formats.items()}, total


def _framed(sizes: np.ndarray) -> np.ndarray:
  """Bytes of the records of files of these sizes, with a label or none."""
  return _FRAME + (_SAMPLE + sizes.astype(np.int64) + 3) // 4 * 4


def _estimate(samples: float, size: float, variance: float, freedom: int) -> Estimate:
  # Student's t, nearly.
  reach = (1.96 + 2.4 / max(freedom, 1)) * math.sqrt(variance)
  low, high = max(0, math.floor(size - reach)), math.ceil(size + reach)
  if not variance:
    low = high = round(size)
  return Estimate(round(samples), round(size), low, high)


@dataclasses.dataclass(frozen=True)
class _Sample:
  """A stratified sample.

  Attributes:
    sizes: shape [n], bytes of files.
    of: shape [n], the stratum of each; ascending.
    counts: shape [strata], how many files there are of each.
  """

  sizes: np.ndarray
  of: np.ndarray
  counts: np.ndarray

  @property
  def weights(self) -> np.ndarray:
    """Shape [n], the files that each stands for."""
    return (self.counts / np.bincount(self.of))[self.of]

  def _ratio(self, values: np.ndarray) -> float:
    return (self.weights * values).sum() / (self.weights * self.sizes).sum()

  def total(self, values: np.ndarray, size: float) -> float:
    """Estimates the sum of a value over files that have `size` bytes together."""
    return self._ratio(values) * size

  def _spread(self, values: np.ndarray) -> np.ndarray:
    """Shape [strata], the variance of values of each."""
    taken = np.bincount(self.of)
    means = np.bincount(self.of, values) / taken
    squares = np.bincount(self.of, (values - means[self.of]) ** 2)
    return squares / np.maximum(taken - 1, 1)

  def variance(self, values: np.ndarray, size: float) -> float:
    """The variance of `total`."""
    taken = np.bincount(self.of)
    spread = self._spread(values - self._ratio(values) * self.sizes)
    scale = size / (self.weights * self.sizes).sum()
    left = self.counts * (self.counts - taken)
    return float(scale**2 * (left * spread / taken).sum())

  def within(self, values: np.ndarray) -> float:
    """The variance of the sum over files of which each is drawn, by its share."""
    return float((self.counts * self._spread(values)).sum())
