"""Rows of an index that a view has, without a copy of them."""

from collections.abc import Sequence

import numpy as np

# Rows that are counted together, so that a rank is found without a place for each.
_BLOCK = 1 << 16


class _Run:
  """Rows that lie together in an index, some of them left out.

  Args:
    rows: shape [n], INDEX_DTYPE.
    mask: shape [n], bool, which are chosen; None for all.
  """

  def __init__(self, rows: np.ndarray, mask: np.ndarray | None):
    self.rows = rows
    self.mask = mask
    self.size = len(rows)
    if mask is not None:
      blocks = np.add.reduceat(mask, np.arange(0, len(mask), _BLOCK), dtype=np.int64)
      self._ranks = np.concatenate([[0], np.cumsum(blocks)])
      self.size = int(self._ranks[-1])

  def _place(self, rank: int) -> int:
    """Where the row of a rank stands, or the end for that behind the last."""
    if self.mask is None:
      return rank
    if rank == self.size:
      return len(self.mask)
    block = int(np.searchsorted(self._ranks, rank, "right")) - 1
    begin = block * _BLOCK
    inside = np.flatnonzero(self.mask[begin : begin + _BLOCK])
    return begin + int(inside[rank - self._ranks[block]])

  def part(self, begin: int, end: int) -> "_Run":
    places = slice(self._place(begin), self._place(end))
    mask = None if self.mask is None else self.mask[places]
    return _Run(self.rows[places], mask)

  def column(self, name: str) -> np.ndarray:
    values = self.rows[name]
    return values if self.mask is None else values[self.mask]


class Rows:
  """Rows of one format in stored order.

  `rows["height"]` is a column, made when it is asked for; `rows[a:b]` is a part;
  `rows[i]` is one row.

  Args:
    runs: (rows, mask) of an index, one behind the other: shapes [n], INDEX_DTYPE, and
      [n], bool, which of them are meant, or None for all.
  """

  def __init__(self, runs: Sequence[tuple[np.ndarray, np.ndarray | None]]):
    self._runs = [_Run(rows, mask) for rows, mask in runs if len(rows)]

  @classmethod
  def _of(cls, runs: Sequence[_Run]) -> "Rows":
    made = cls([])
    made._runs = [run for run in runs if run.size]
    return made

  def __len__(self) -> int:
    return sum(run.size for run in self._runs)

  def __getitem__(self, key):
    if isinstance(key, str):
      return self._column(key)
    if isinstance(key, slice):
      begin, end, step = key.indices(len(self))
      if step != 1:
        raise ValueError(f"the step of a part of rows ({step}) must be 1")
      return self._part(begin, max(begin, end))
    if not 0 <= key < len(self):
      raise IndexError(f"row ({key}) must be in [0, {len(self)})")
    (run,) = self._part(int(key), int(key) + 1)._runs
    return run.rows[0 if run.mask is None else int(run.mask.argmax())]

  def __add__(self, other: "Rows") -> "Rows":
    return Rows._of(self._runs + other._runs)

  def _column(self, name: str) -> np.ndarray:
    columns = [run.column(name) for run in self._runs]
    if len(columns) == 1:
      return columns[0]
    return np.concatenate(columns) if columns else np.zeros(0, np.int64)

  def _part(self, begin: int, end: int) -> "Rows":
    runs, at = [], 0
    for run in self._runs:
      first, last = max(begin - at, 0), min(end - at, run.size)
      if first < last:
        runs.append(run.part(first, last))
      at += run.size
    return Rows._of(runs)
