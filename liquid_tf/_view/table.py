"""What `.where` chooses by: a column for each thing that is known of a sample."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from liquid_tf._store import columns, labels, names

if TYPE_CHECKING:
  from liquid_tf._view.view import View

_OF_IMAGE = ("height", "width", "channels", "bits")


class Table(Mapping):
  """Columns of the samples of a view, in ascending order of sample numbers.

  `table["height"]` is a NumPy array of one value a sample. A column is made when it is
  first asked for, so that many millions of samples cost what is used.

  Columns: `number`, int64; `name`, that of the source; `height`, `width` (before any
  turning), `channels` and `bits`; `split`, the name; and where each sample has equally
  many of them, `label`, int64 or [samples, k] of float32. Then those that `annotate`
  added: int64, float64, bool or text.
  """

  def __init__(self, view: "View"):
    self._view = view
    self._columns: dict[str, np.ndarray] = {}

  @property
  def names(self) -> tuple[str, ...]:
    label = ("label",) if "labels" in self._view.manifest.data else ()
    more = self._view.manifest["columns"]
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
    view = self._view
    if name == "number":
      return view.numbers
    if name == "name":
      texts = names.load(view.manifest)
      return np.array([texts[i] for i in view.numbers.tolist()])
    if name == "label":
      return labels.load(view.manifest)[view.numbers]
    if name == "split":
      by_index = {entry["index"]: s for s, entry in view.manifest["splits"].items()}
      splits = np.array([by_index[i] for i in range(len(by_index))])
      return splits[self._of_rows("split")]
    if name in view.manifest["columns"]:
      values = columns.load(view.manifest, name)
      if isinstance(values, np.ndarray):
        return values[view.numbers]
      return np.array([values[i] for i in view.numbers.tolist()])
    return self._of_rows(name)

  def _of_rows(self, field: str) -> np.ndarray:
    """A field of the index by sample; the same in all rows of a sample."""
    view = self._view
    every = np.zeros(view.bound, view.index.dtype[field])
    for name in view.formats:
      rows = view.rows(name)
      every[rows["sample"]] = rows[field]
    return every[view.numbers]
