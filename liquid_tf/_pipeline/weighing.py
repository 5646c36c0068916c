"""Weighted samples, and mixtures of datasets, as the planner counts them."""

import dataclasses
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from liquid_tf._pipeline import replicas
from liquid_tf._pipeline.parts import Part
from liquid_tf._pipeline.source import Source
from liquid_tf._store.mix import apportion
from liquid_tf._view.mixture import MOST_SOURCES, Mixture
from liquid_tf._view.view import View
from liquid_tf._words import Shown
from liquid_tf.errors import WrongArgument

# The planner counts shares in whole parts of at most this many. A share that is none is
# rounded: by less than a draw in as many.
_MOST_PARTS = 1 << 62

# Parts of a draw that sums of draws are rounded to.
_FINE = 1 << 20

_NO_PLACES = np.zeros(0, np.uint16)


@dataclasses.dataclass(frozen=True)
class Member:
  """One dataset of those that are drawn from.

  Attributes:
    view: its samples.
    prefix: of the names of its formats.
    first: number of its first group.
    places: by sample number, the group counted from the first; None where there is one.
  """

  view: View
  prefix: str
  first: int
  places: np.ndarray | None


@dataclasses.dataclass(frozen=True)
class Weighing:
  """How often samples are drawn.

  Attributes:
    members: the datasets.
    shares: of each group, of an epoch, in whole parts.
    sizes: samples of each group.
    samples_per_epoch: draws of an epoch, of all workers.
    fingerprint: of all this.
    worker: (index, count).
    policy: how workers come to equal numbers of batches.
  """

  members: list[Member]
  shares: np.ndarray
  sizes: np.ndarray
  samples_per_epoch: int
  fingerprint: str
  worker: tuple[int, int] = (0, 1)
  policy: str = "pad"

  @property
  def samples(self) -> int:
    """Draws of an epoch of this worker."""
    index, count = self.worker
    whole, more = divmod(self.samples_per_epoch, count)
    return whole + {"pad": more > 0, "drop": 0, "uneven": index < more}[self.policy]

  @property
  def repeated(self) -> int:
    """Draws of this worker beside its part of the epoch."""
    index, count = self.worker
    more = self.samples_per_epoch % count
    return int(self.policy == "pad" and 0 < more <= index)

  @property
  def dropped(self) -> int:
    """Draws of its part that this worker leaves out."""
    index, count = self.worker
    return int(self.policy == "drop" and index < self.samples_per_epoch % count)

  def groups(self, member: int, samples: np.ndarray) -> np.ndarray:
    """Group of each sample, counted from the member's first one; uint16.

    Empty where the member has one group.

    Args:
      member: its position.
      samples: sample numbers.
    """
    places = self.members[member].places
    return _NO_PLACES if places is None else places[samples]

  def draws(self, source: Source) -> int:
    """About how many draws of an epoch a source gives this worker; exact integers."""
    sizes, groups = self._sizes(source)
    total = int(self.shares.sum())
    parts = sum(
      (share * size * self.samples * _FINE) // (total * count)
      for share, size, count in zip(
        self.shares[groups].tolist(), sizes.tolist(), self.sizes[groups].tolist()
      )
      if count
    )
    return min(self.samples, -(-parts // _FINE))

  def fitting(self, source: Source, kept: int, record_bytes: np.ndarray) -> int:
    """How many of its most frequent samples a source may keep, of `kept`.

    These take no more memory than `kept` samples of the source's mean size.

    Args:
      source: a `Source`.
      kept: samples.
      record_bytes: of each sample of the source.
    """
    sizes, groups = self._sizes(source)
    each = self.shares[groups] / np.maximum(self.sizes[groups], 1)
    if len(source.groups):
      of_groups = np.bincount(source.groups, record_bytes, len(sizes))
    else:
      of_groups = np.array([record_bytes.sum()])
    budget = kept * float(record_bytes.sum()) / max(1, len(record_bytes))
    order = np.argsort(-each, kind="stable")
    mean = (of_groups / np.maximum(sizes, 1))[order]
    left, fitting = budget, 0
    for count, size in zip(sizes[order].tolist(), mean.tolist()):
      if size * count > left:
        fitting += int(left / size)
        break
      left -= size * count
      fitting += count
    return min(kept, fitting)

  def _sizes(self, source: Source) -> tuple[np.ndarray, slice]:
    """Samples of a source in each of its groups, and which of all groups these are."""
    sizes = np.array([len(source.rows)])
    if len(source.groups):
      sizes = np.bincount(source.groups)
    return sizes, slice(source.first_group, source.first_group + len(sizes))


def of(source: View | Mixture, worker: tuple[int, int], policy: str) -> Weighing | None:
  """How often samples are drawn; None where each is, once an epoch.

  Args:
    source: samples of one dataset or of several.
    worker: (index, count).
    policy: how workers come to equal numbers of batches.

  Raises:
    ValueError: groups or sources are too many.
  """
  if isinstance(source, View) and source.weights is None:
    return None
  if isinstance(source, View):
    views, parts, prefixes = [source], [Fraction(1)], [""]
    draws = source.weights.samples_per_epoch
  else:
    views, parts = source.members, source.shares
    prefixes = [f"{name}/" for name in source.names]
    draws = source.samples_per_epoch
  members, shares, sizes = [], [], []
  for view, part, prefix in zip(views, parts, prefixes):
    places = None if view.weights is None else view.weights.places
    palette = [Fraction(1)] if view.weights is None else view.weights.palette
    counts = [len(view)]
    if len(palette) > 1:
      counts = np.bincount(places[view.numbers], minlength=len(palette)).tolist()
    else:
      places = None
    members.append(Member(view, prefix, len(shares), places))
    of_member = [weight * count for weight, count in zip(palette, counts)]
    total = sum(of_member)
    shares += [part * share / total for share in of_member]
    sizes += counts
  return Weighing(
    members,
    np.array(_whole_parts(shares), np.int64),
    np.array(sizes, np.int64),
    draws,
    source.fingerprint,
    worker,
    policy,
  )


def _whole_parts(shares: Sequence[Fraction]) -> list[int]:
  """Numbers in proportion to shares that sum to 1; all above 0 as the shares are."""
  common = math.lcm(*(share.denominator for share in shares))
  if common <= _MOST_PARTS:
    return [int(share * common) for share in shares]
  return apportion(_MOST_PARTS, shares)


@dataclasses.dataclass(frozen=True)
class Read:
  """Reads of one source.

  Attributes:
    view: samples of a dataset.
    format: of these.
    name: of the source.
    part: (start, length) in stored order; None where a `Part` says so.
    member: position of the dataset.
  """

  view: View
  format: str
  name: str
  part: tuple[int, int] | None = None
  member: int = 0


def reads(weighing: Weighing, mix: Any) -> list[Read]:
  """Reads of the sources of weighted samples: all of each format.

  Args:
    weighing: of the samples.
    mix: as `dataset` takes it.

  Raises:
    ManifestError: a replicated dataset is none.
    ValueError: `mix` is none of a dataset's, or formats are of no use here.
  """
  found = []
  for i, member in enumerate(weighing.members):
    first, counts = replicas.sections(member.view, mix)
    if counts.get("pcr"):
      raise ValueError(
        f"a format of {member.view.path} is pcr, whose records hold many samples that "
        "are read together, so none of them can be drawn by its weight: convert to "
        "another format"
      )
    found += [
      Read(member.view, name, member.prefix + name, (first[name], count), i)
      for name, count in counts.items()
      if count > 0
    ]
  if len(found) > MOST_SOURCES:
    raise WrongArgument(
      "members",
      Shown(f"{len(weighing.members)} datasets"),
      f"must have at most {MOST_SOURCES} formats together, not {len(found)}",
    )
  return found


def part(weighing: Weighing, of_sources: Sequence[Read]) -> Part:
  """Part of this worker: every one reads all samples, and draws its part of them."""
  ranges = {read.name: read.part for read in of_sources}
  return Part(ranges, weighing.repeated, weighing.dropped)


def tell(
  weighing: Weighing, of_sources: Sequence[Read], sources: Sequence[Source]
) -> None:
  """Tells sources the groups of their samples."""
  for read, source in zip(of_sources, sources):
    groups = weighing.groups(read.member, source.rows["sample"])
    source.weigh(read.name, weighing.members[read.member].first, groups)


def check(weighing: Weighing, shuffle: bool, mix: Any, cache_policy: str) -> None:
  """Checks what goes with weights.

  Args:
    weighing: of the samples.
    shuffle: of the dataset, as `dataset` takes it, like the others.
    mix: likewise.
    cache_policy: likewise.

  Raises:
    ValueError: something does not; the message says what.
  """
  what = "with weights" if len(weighing.members) == 1 else "with a mixture"
  if not shuffle:
    raise WrongArgument(
      "shuffle", False, f"must be True {what}: the stored order has each sample once"
    )
  if isinstance(mix, list | tuple) or mix == "auto":
    raise WrongArgument(
      "mix",
      mix,
      f"must be one mix {what}: which samples are drawn often would change its "
      "format between epochs",
    )
  if mix is not None and len(weighing.members) > 1:
    raise WrongArgument(
      "mix",
      mix,
      f"must be None {what}: each member is read in the mix of its conversion",
    )
  if cache_policy != "liquid":
    raise WrongArgument("cache_policy", cache_policy, f'must be "liquid" {what}')
