"""State of a conversion whose shards are written, and the base of one that goes on."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from liquid_tf._convert.engine import ShardResult
from liquid_tf._convert.plan import ShardPlan
from liquid_tf._convert.sources.source import SampleSource


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
