"""Windows of photographs, as many and as large as a benchmark needs."""

from collections.abc import Iterator

import numpy as np


def large_crops(
  photographs: list[np.ndarray], count: int, side: int, seed: int = 0
) -> Iterator[np.ndarray]:
  """Square windows of photographs that are continued by their mirror images.

  Mirroring, not scaling or noise, makes up for photographs that are too small: the
  windows compress as photographs do.

  Args:
    photographs: [height, width, 3] uint8 each, used in turn.
    count: windows to make.
    side: of each, in pixels.
    seed: of places and flips.

  Yields:
    [side, side, 3] uint8.
  """
  random = np.random.default_rng(seed)
  for i in range(count):
    photograph = photographs[i % len(photographs)]
    rows = _mirrored(photograph.shape[0], side, random)
    columns = _mirrored(photograph.shape[1], side, random)
    yield photograph[rows[:, None], columns[None, :]]


def _mirrored(size: int, count: int, random: np.random.Generator) -> np.ndarray:
  """`count` successive places in 0, 1, .., size - 1, size - 1, .., 0, 0, 1, .."""
  places = (random.integers(0, 2 * size) + np.arange(count)) % (2 * size)
  return np.minimum(places, 2 * size - 1 - places)
