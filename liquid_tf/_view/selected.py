"""The chosen samples of a dataset, for those that read them: a view is made of it."""

import functools
import hashlib
from collections.abc import Sequence

import numpy as np

from liquid_tf._store import manifest as manifests
from liquid_tf._store.manifest import FORMATS, Manifest
from liquid_tf._view import weights as _weights
from liquid_tf._view.rows import Rows
from liquid_tf.errors import ManifestError

_ONES = np.array([bin(byte).count("1") for byte in range(256)], np.int64)


class Selected:
  """Samples of a dataset, by rows of its index.

  Attributes:
    manifest: of the dataset.
    index: rows of the dataset, shape [rows], INDEX_DTYPE, read-only.
    splits: names of the splits that samples are of, in the order of the dataset.
    chosen: shape [bound / 8], uint8, a bit for each sample number, the first in the
      lowest bit of byte 0; None where all samples of the splits are chosen.
    weights: how often each is drawn; None for once an epoch.
  """

  def __init__(
    self,
    manifest: Manifest,
    index: np.ndarray,
    splits: Sequence[str],
    chosen: np.ndarray | None = None,
    weights: _weights.Weights | None = None,
  ):
    self.manifest = manifest
    self.index = index
    self.splits = tuple(name for name in manifest["splits"] if name in splits)
    self.chosen = chosen
    self.weights = weights
    # Made where the first sample is read.
    self._places: np.ndarray | None = None

  @property
  def bound(self) -> int:
    """A number above every sample number of the dataset."""
    return self.manifest["next_sample"]

  @property
  def formats(self) -> list[str]:
    """Names of the dataset's formats."""
    return list(self.manifest["formats"])

  def __len__(self) -> int:
    if self.chosen is not None:
      return int(_ONES[self.chosen].sum())
    return sum(self.manifest["splits"][name]["samples"] for name in self.splits)

  @functools.cached_property
  def numbers(self) -> np.ndarray:
    """The sample numbers, shape [samples], int64, ascending."""
    if self.chosen is not None:
      bits = np.unpackbits(self.chosen, count=self.bound, bitorder="little")
      return np.flatnonzero(bits)
    found = np.zeros(self.bound, bool)
    for name in self.formats:
      found[self.rows(name)["sample"]] = True
    return np.flatnonzero(found)

  @functools.cached_property
  def fingerprint(self) -> str:
    """SHA-256, in hexadecimal, of the dataset's index, which samples these are, and
    their weights.

    Equal for two copies of a dataset.
    """
    entry = self.manifest["index"]
    text = f"{entry['rows']} {entry['crc32c']} {sorted(self.splits)} "
    digest = hashlib.sha256(text.encode())
    digest.update(b"" if self.chosen is None else self.chosen.tobytes())
    if self.weights is not None:
      digest.update(self.weights.digest(self.numbers).encode())
    return digest.hexdigest()

  def rows(self, format_name: str) -> Rows:
    """The rows of one format, in stored order: split after split."""
    return Rows(
      [(rows, self._mask(rows)) for _, rows in self._stored(self.splits, format_name)]
    )

  @property
  def stored(self) -> np.ndarray:
    """The rows of these samples, in the order of the index; INDEX_DTYPE."""
    if self.splits == tuple(self.manifest["splits"]):
      keep = None
    else:
      numbers = [self.manifest.split_index(name) for name in self.splits]
      keep = np.isin(self.index["split"], numbers)
    mask = self._mask(self.index)
    if mask is not None:
      keep = mask if keep is None else keep & mask
    return self.index if keep is None else self.index[keep]

  def _stored(
    self, splits: Sequence[str], format_name: str
  ) -> list[tuple[str, np.ndarray]]:
    """Name and rows of each split, in the order of the index."""
    number = FORMATS.index(format_name)
    ordered = sorted(splits, key=self.manifest.split_index)
    return [
      (name, manifests.rows_of(self.index, self.manifest.split_index(name), number))
      for name in ordered
    ]

  def _mask(self, rows: np.ndarray) -> np.ndarray | None:
    """Mask of the rows of chosen samples; None for all."""
    if self.chosen is None:
      return None
    samples = rows["sample"]
    return (self.chosen[samples >> 3] >> (samples & 7).astype(np.uint8) & 1) != 0

  @property
  def places(self) -> np.ndarray:
    """Where in the index each sample is read, in ascending order of sample numbers.

    Shape [samples]. Of several encodings of a sample it is the one without loss that
    decodes fastest.
    """
    # No cached_property: its lock might be taken where a process forks.
    if self._places is None:
      self._places = self._find_places()
    return self._places

  def _find_places(self) -> np.ndarray:
    dtype = np.uint32 if len(self.index) < 1 << 32 else np.uint64
    found = np.zeros(self.bound, dtype)
    # The preferred one comes last, and stays.
    for name in reversed(self.manifest.by_preference()):
      for split in self.splits:
        run = manifests.run_of(
          self.index, self.manifest.split_index(split), FORMATS.index(name)
        )
        places, rows = np.arange(run.start, run.stop, dtype=dtype), self.index[run]
        mask, samples = self._mask(rows), rows["sample"]
        if mask is not None:
          places, samples = places[mask], samples[mask]
        found[samples] = places
    return found[self.numbers]

  def check_there(self) -> None:
    """Raises ManifestError unless the dataset is there that this view was opened of."""
    try:
      there = manifests.load(
        self.manifest.directory, self.manifest["version"], check_files=False
      )
    except ManifestError as error:
      raise ManifestError(f"{self!r} cannot be read any more: {error}") from error
    if there.data != self.manifest.data:
      raise ManifestError(
        f"{self.manifest.directory} was replaced by another dataset since this view "
        "was opened: open it again"
      )

  def check_no_weights(self, what: str) -> None:
    """Raises ValueError if this view has weights, of which something knows nothing."""
    if self.weights is not None:
      raise ValueError(
        f"{what} takes each sample once, and {self!r} has weights: give the view that "
        "it had before them"
      )
