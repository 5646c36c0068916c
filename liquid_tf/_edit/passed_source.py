"""A source made of another one."""

from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from liquid_tf._convert.sources.samples import SampleSource
from liquid_tf._store.columns import Column


class PassedSource(SampleSource):
  """Samples of another source, in its order, for subclasses that change more of them.

  Args:
    source: the samples.
    positions: shape [samples], int64, which; ascending. None: all.
    classes: names of the classes; None for the source's.
  """

  def __init__(
    self,
    source: SampleSource,
    positions: np.ndarray | None = None,
    classes: list[str] | None = None,
  ):
    chosen = slice(None) if positions is None else positions
    super().__init__(
      source.root,
      source.kind,
      source.files,
      source.file_of[chosen],
      source.split_of[chosen],
      source.sizes[chosen],
      splits=source.splits,
      classes=source.classes if classes is None else classes,
      skipped=source.skipped,
      notes=source.notes,
      features=source.features,
      has_masks=source.has_masks,
      is_remote=source.is_remote,
      named=source.named,
    )
    self.limits = source.limits
    self.has_names = source.has_names
    self._source = source
    self._positions = positions

  def _there(self, position: int) -> int:
    """Where a sample is in the source."""
    return position if self._positions is None else self._positions[position]

  def _all_there(self, positions: Sequence[int]) -> Sequence[int] | np.ndarray:
    if self._positions is None:
      return positions
    return self._positions[np.asarray(positions, np.int64)]

  def path(self, position: int) -> str:
    return self._source.path(self._there(position))

  def name(self, position: int) -> str:
    return self._source.name(self._there(position))

  def metadata(self, positions: Sequence[int]) -> dict[str, Column]:
    return self._source.metadata(self._all_there(positions))

  def knows_pixels(self, channels: int | None, bits: int | None) -> bool:
    return self._source.knows_pixels(channels, bits)

  def columns(self, positions: Sequence[int], targets: Sequence[str] | None) -> tuple:
    return self._source.columns(self._all_there(positions), targets)

  def load(self, *columns: tf.Tensor) -> dict[str, tf.Tensor]:
    return self._source.load(*columns)
