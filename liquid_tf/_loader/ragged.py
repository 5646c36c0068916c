"""Arrays of rows of unequal length."""

import dataclasses
import operator
from collections.abc import Iterator

import numpy as np


@dataclasses.dataclass(frozen=True, eq=False)
class RaggedArray:
  """Rows of unequal length, one after another.

  `ragged[i]` is row i, a view of `values`. A batch of images of unequal size has rows
  of rows: `values` is itself a `RaggedArray`, of all rows of pixels, and `ragged[i]` is
  image i, a dense array [height, width, channels].

  Attributes:
    values: shape [values, ...], of all rows; or a `RaggedArray`.
    row_splits: int64 [rows + 1]: row i is `values[row_splits[i]:row_splits[i + 1]]`.
  """

  values: "np.ndarray | RaggedArray"
  row_splits: np.ndarray

  @classmethod
  def of_lengths(
    cls, values: "np.ndarray | RaggedArray", lengths: np.ndarray
  ) -> "RaggedArray":
    """Rows of these lengths, integers [rows]."""
    splits = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=splits[1:])
    return cls(values, splits)

  def repeated(self, times: int) -> "RaggedArray":
    """Each row so often, one after another; of rows of values."""
    rows = [row for row in self for _ in range(times)]
    values = np.concatenate(rows) if rows else self.values
    return RaggedArray.of_lengths(values, np.repeat(np.diff(self.row_splits), times))

  def __len__(self) -> int:
    return len(self.row_splits) - 1

  def __iter__(self) -> Iterator[np.ndarray]:
    return map(self.__getitem__, range(len(self)))

  def __getitem__(self, number: int) -> np.ndarray:
    """Row `number`, which may count from the end.

    Raises:
      IndexError: there is no such row.
    """
    rows, i = len(self), operator.index(number)
    if not -rows <= i < rows:
      raise IndexError(f"row {i} of {rows}")
    begin, end = self.row_splits[i % rows], self.row_splits[i % rows + 1]
    if not isinstance(self.values, RaggedArray):
      return self.values[begin:end]
    # The rows of an image have one length.
    inner = self.values
    pixels = inner.values[inner.row_splits[begin] : inner.row_splits[end]]
    width = len(pixels) // max(1, end - begin)
    return pixels.reshape(end - begin, width, *pixels.shape[1:])

  def __repr__(self) -> str:
    inner = self.values
    while isinstance(inner, RaggedArray):
      inner = inner.values
    return f"<RaggedArray: {len(self)} rows of {inner.dtype}>"
