"""Images that a dataset has already, by what their source calls them."""

from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from liquid_tf._convert.sources.source import SampleSource
from liquid_tf._store import names, texts
from liquid_tf._store.columns import Column
from liquid_tf._store.manifest import Manifest
from liquid_tf.errors import ConvertError

CHOICES = ("refuse", "skip", "add")


class PartSource(SampleSource):
  """Some samples of a source, in its order.

  Args:
    source: the samples.
    positions: shape [samples], int64, which; ascending.
  """

  def __init__(self, source: SampleSource, positions: np.ndarray):
    super().__init__(
      source.root,
      source.kind,
      source.files,
      source.file_of[positions],
      source.split_of[positions],
      source.sizes[positions],
      splits=source.splits,
      classes=source.classes,
      skipped=source.skipped,
      features=source.features,
      has_masks=source.has_masks,
      is_remote=source.is_remote,
    )
    self.limits = source.limits
    self._source = source
    self._positions = positions

  def _there(self, positions: Sequence[int]) -> np.ndarray:
    """Where samples are in the source."""
    return self._positions[np.asarray(positions, np.int64)]

  def path(self, position: int) -> str:
    return self._source.path(self._positions[position])

  def name(self, position: int) -> str:
    return self._source.name(self._positions[position])

  def metadata(self, positions: Sequence[int]) -> dict[str, Column]:
    return self._source.metadata(self._there(positions))

  def knows_pixels(self, channels: int | None, bits: int | None) -> bool:
    return self._source.knows_pixels(channels, bits)

  def columns(self, positions: Sequence[int], targets: Sequence[str] | None) -> tuple:
    return self._source.columns(self._there(positions), targets)

  def load(self, *columns: tf.Tensor) -> dict[str, tf.Tensor]:
    return self._source.load(*columns)


def without_duplicates(
  source: SampleSource, manifest: Manifest, duplicates: str
) -> SampleSource:
  """A source without the images whose names samples of a dataset have or had.

  Names of removed samples count, so that what was removed does not come back. A number
  in a file of records is no name.

  Args:
    source: what is to be added.
    manifest: of the dataset.
    duplicates: "skip" leaves such images out, "refuse" forbids them, "add" allows them.

  Returns:
    The source, or a part of it, which may have no samples.

  Raises:
    ConvertError: there are such images, and they are refused.
    ManifestError: the dataset's names are damaged.
  """
  if duplicates == "add" or not source.has_names:
    return source
  wanted = [texts.encode(source.name(position)) for position in range(len(source))]
  known = set(wanted).intersection(names.load(manifest).every())
  if not known:
    return source
  new = np.array([name not in known for name in wanted])
  if duplicates == "skip":
    return PartSource(source, np.flatnonzero(new))
  first = int(new.argmin())
  raise ConvertError(
    f'source ("{source.root}"): {len(new) - new.sum()} of {len(new)} images have names '
    f"that samples of {manifest.directory} have or had, as {source.name(first)}: leave "
    'them out with duplicates="skip", or, if they are other images, add them with '
    'duplicates="add"'
  )
