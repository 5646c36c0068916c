"""The work of a conversion: its job, what engines make of it, and what they are.

An engine is this process, or a cluster (`workers`).

The engine scans samples and writes shards, each a pure function of the job. All else,
the journal, the plan and the files that close the dataset, is the converting process's
own, so the bytes of a dataset do not depend on the engine.
"""

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from liquid_tf._convert.pipelines import Encoding
from liquid_tf._convert.plan import ShardPlan
from liquid_tf._convert.sources.samples import SampleSource


class ShardResult(NamedTuple):
  """Description of a shard that is in its place.

  Attributes:
    bytes: size of the file.
    crc32c: of the whole file.
    indexed: records in which a JPEG has an index of entry points.
    index_bytes: of these indices.
    rows: shape [records], INDEX_DTYPE.
    labels: shape [records, k], float32; k is 0 where samples have none, or unequal
      numbers of them.
    parts: shape [2, parts], int64, lengths and checksums of the parts of a pcr.
  """

  bytes: int
  crc32c: int
  indexed: int
  index_bytes: int
  rows: np.ndarray
  labels: np.ndarray
  parts: np.ndarray


@dataclasses.dataclass(frozen=True)
class WriteJob:
  """All that the shards of a dataset are made of.

  Attributes:
    directory: the output.
    source: what is converted.
    scan: shape [positions], SCAN_DTYPE.
    good: shape [samples], each sample's position in the source.
    plans: every shard of the dataset.
    encoding: what the encoders are given.
    pcr_groups: the last scan of each scan group of a pcr, or None.
    labels: of each sample; 0 where samples have unequal numbers of them.
    first: number of the first sample.
  """

  directory: str
  source: SampleSource
  scan: np.ndarray
  good: np.ndarray
  plans: Sequence[ShardPlan]
  encoding: Encoding
  pcr_groups: Sequence[int] | None
  labels: int
  first: int = 0


class Engine(Protocol):
  """Scans and writes, in any order and number at a time."""

  def scan(
    self, source: SampleSource, positions: Sequence[int], encoding: Encoding
  ) -> Iterator[tuple[int, np.ndarray, str]]:
    """As `scan.scan_samples`; of each position once."""

  def write(
    self, job: WriteJob, numbers: Sequence[int], step: Callable[[], None]
  ) -> Iterator[tuple[int, ShardResult]]:
    """As `write.write_some`; of each number once."""


@dataclasses.dataclass(frozen=True)
class Base:
  """Contents of a dataset that is made larger.

  Attributes:
    first: number of the first new sample.
    splits: names, in their order.
    dealt: by position of a split, its samples in each format of the mix.
  """

  first: int
  splits: Sequence[str]
  dealt: Mapping[int, Sequence[int]]

  def check(
    self, source: SampleSource, samples: np.ndarray, label: dict[str, Any] | None
  ) -> dict[str, Any] | None:
    """Checks that samples go with those that are there, before one is written.

    Args:
      source: of the new ones.
      samples: shape [samples], SCAN_DTYPE.
      label: what they are by themselves.

    Returns:
      The feature that the labels have there.

    Raises:
      ConvertError: they do not.
    """
    raise NotImplementedError


@dataclasses.dataclass(frozen=True)
class Made:
  """Shards in their place, and what they are of.

  Attributes:
    source: what was converted.
    scan: shape [positions], SCAN_DTYPE.
    good: shape [samples], each sample's position in the source.
    skipped: (path, reason) of what is in no sample.
    splits: names, in their order.
    split_of: shape [samples], positions in `splits`.
    plans: of the shards.
    shards: what is to be known of each.
    label: the manifest's feature, or None.
    first: number of the first sample.
  """

  source: SampleSource
  scan: np.ndarray
  good: np.ndarray
  skipped: Sequence[tuple[str, str]]
  splits: Sequence[str]
  split_of: np.ndarray
  plans: Sequence[ShardPlan]
  shards: Sequence[ShardResult]
  label: dict[str, Any] | None
  first: int

  @property
  def samples(self) -> np.ndarray:
    """Shape [samples], SCAN_DTYPE, those that are stored."""
    return self.scan[self.good]
