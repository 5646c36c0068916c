"""Table that `.where` chooses by: a column for each thing known of a sample."""

from collections.abc import Iterator, Mapping

import numpy as np

from liquid_tf._store import columns, labels, names
from liquid_tf._store.columns import OF_IMAGE
from liquid_tf._store.texts import Texts
from liquid_tf._view.selected import Selected

# Bytes of texts of one width, as NumPy's functions take them.
_MOST_TEXT = 1 << 30


class Table(Mapping):
  """Columns of samples, in ascending order of sample numbers.

  `table["height"]` is a NumPy array of one value a sample. A column is made when it is
  first asked for, so that many millions of samples cost what is used.

  Columns: `number`, int64; `name`, that of the source; `height`, `width` (before any
  turning), `channels` and `bits`; `split`, the name; and where each sample has equally
  many of them, `label`, int64 or [samples, k] of float32. Then the metadata columns:
  int64, float64, bool or text, or [samples, k] of float32.
  """

  def __init__(self, samples: Selected):
    self._samples = samples
    self._columns: dict[str, np.ndarray] = {}

  @property
  def names(self) -> tuple[str, ...]:
    label = ("label",) if "labels" in self._samples.manifest.data else ()
    more = self._samples.manifest["columns"]
    return ("number", "name", *OF_IMAGE, "split", *label, *more)

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
      return self._texts(names.load(samples.manifest))
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
      return self._texts(values)
    return self._of_rows(name)

  def _texts(self, texts: Texts) -> np.ndarray:
    """The samples' texts: of one width, or as objects where that would take much."""
    values = [texts[i] for i in self._samples.numbers.tolist()]
    size = 4 * len(values) * max(map(len, values), default=0)
    return np.array(values, object if size > _MOST_TEXT else np.str_)

  def _of_rows(self, field: str) -> np.ndarray:
    """A field of the index by sample; the same in all rows of a sample."""
    samples = self._samples
    every = np.zeros(samples.bound, samples.index.dtype[field])
    for name in samples.formats:
      rows = samples.rows(name)
      every[rows["sample"]] = rows[field]
    return every[samples.numbers]
