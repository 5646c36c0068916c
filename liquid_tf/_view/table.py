"""Table that `.where` chooses by: a column for each thing known of a sample."""

from collections.abc import Iterator, Mapping

import numpy as np

from liquid_tf._store import columns, labels, names
from liquid_tf._view.selected import Selected

_OF_IMAGE = ("height", "width", "channels", "bits")


class Table(Mapping):
  """Columns of samples, in ascending order of sample numbers.

  `table["height"]` is a NumPy array of one value a sample. A column is made when it is
  first asked for, so that many millions of samples cost what is used.

  Columns: `number`, int64; `name`, that of the source; `height`, `width` (before any
  turning), `channels` and `bits`; `split`, the name; and where each sample has equally
  many of them, `label`, int64 or [samples, k] of float32. Then those that `annotate`
  added: int64, float64, bool or text.
  """

  def __init__(self, samples: Selected):
    self._samples = samples
    self._columns: dict[str, np.ndarray] = {}

  @property
  def names(self) -> tuple[str, ...]:
    label = ("label",) if "labels" in self._samples.manifest.data else ()
    more = self._samples.manifest["columns"]
    return ("number", "name", *_OF_IMAGE, "split", *label, *more)

  def has_given(self, name: str) -> bool:
    """Whether a column was asked for."""
    return name in self._columns

  def __len__(self) -> int:
    return len(self.names)

  def __iter__(self) -> Iterator[str]:
    return iter(self.names)

  def __getitem__(self, name: str) -> np.ndarray:
    if name not in self.names:
      raise KeyError(
        f'column ("{name}") must be one of {", ".join(self.names)}'
      ) from None
    if name not in self._columns:
      self._columns[name] = self._make(name)
    return self._columns[name]

  def _make(self, name: str) -> np.ndarray:
    samples = self._samples
    if name == "number":
      return samples.numbers
    if name == "name":
      texts = names.load(samples.manifest)
      return np.array([texts[i] for i in samples.numbers.tolist()])
    if name == "label":
      return labels.load(samples.manifest)[samples.numbers]
    if name == "split":
      by_index = {entry["index"]: s for s, entry in samples.manifest["splits"].items()}
      splits = np.array([by_index[i] for i in range(len(by_index))])
      return splits[self._of_rows("split")]
    if name in samples.manifest["columns"]:
      values = columns.load(samples.manifest, name)
      if isinstance(values, np.ndarray):
        return values[samples.numbers]
      return np.array([values[i] for i in samples.numbers.tolist()])
    return self._of_rows(name)

  def _of_rows(self, field: str) -> np.ndarray:
    """A field of the index by sample; the same in all rows of a sample."""
    samples = self._samples
    every = np.zeros(samples.bound, samples.index.dtype[field])
    for name in samples.formats:
      rows = samples.rows(name)
      every[rows["sample"]] = rows[field]
    return every[samples.numbers]
