"""A small linear programme, solved by looking at every vertex."""

import itertools
import math

import numpy as np

# A vertex may miss a constraint by this share of its largest term.
_TOLERANCE = 1e-9
# Vertices so near to the best are as good; the one with fewest variables is taken.
_AS_GOOD = 1e-7
# Systems that are solved at once, each of at most a few dozen numbers.
_CHUNK = 1 << 14
_MOST_VERTICES = 1 << 20


def maximise(rows: np.ndarray, limits: np.ndarray) -> np.ndarray | None:
  """Finds x >= 0 with rows @ x <= limits that has the largest sum.

  The maximum of a bounded programme is at a vertex, where as many constraints hold
  with equality as there are variables; with formats and resources in single digits
  there are few thousands of them.

  Args:
    rows: shape [constraints, variables].
    limits: shape [constraints]. One row at least must be positive throughout, so that
      the sum has a bound.

  Returns:
    x, shape [variables]; of several that are as good, one with fewest positive entries.
    None where no x meets the constraints.

  Raises:
    ValueError: there are too many vertices to look at, or no row is positive.
  """
  rows, limits = np.asarray(rows, float), np.asarray(limits, float)
  count, variables = rows.shape
  if not (rows > 0).all(axis=1).any():
    raise ValueError("no constraint holds every format back")
  # Each row by its largest number: what a miss is measured against.
  scale = np.abs(rows).max(axis=1)
  scale[scale == 0] = 1
  rows, limits = rows / scale[:, np.newaxis], limits / scale
  every = np.concatenate([rows, -np.eye(variables)])
  bounds = np.concatenate([limits, np.zeros(variables)])
  vertices = math.comb(count + variables, variables)
  if vertices > _MOST_VERTICES:
    raise ValueError(
      f"{variables} formats under {count} constraints have {vertices} vertices, more "
      f"than {_MOST_VERTICES}: profile fewer formats"
    )
  found = _vertices(every, bounds, variables)
  if not len(found):
    return None
  sums = found.sum(axis=1)
  good = found[sums >= sums.max() * (1 - _AS_GOOD)]
  used = (good > _TOLERANCE * good.max(axis=1, keepdims=True)).sum(axis=1)
  return good[used.argmin()]


def _vertices(every: np.ndarray, bounds: np.ndarray, variables: int) -> np.ndarray:
  """All feasible points where `variables` constraints hold with equality."""
  found = [np.empty((0, variables))]
  combinations = itertools.combinations(range(len(every)), variables)
  while chosen := list(itertools.islice(combinations, _CHUNK)):
    index = np.array(chosen)
    systems = every[index]
    # Parallel constraints meet nowhere, or in more than a point.
    sound = np.abs(np.linalg.det(systems)) > np.finfo(float).tiny
    systems, index = systems[sound], index[sound]
    points = np.linalg.solve(systems, bounds[index][..., np.newaxis])[..., 0]
    size = np.abs(points).max(axis=1, initial=0)
    miss = (points @ every.T - bounds).max(axis=1, initial=-np.inf)
    good = np.isfinite(points).all(axis=1) & (miss <= _TOLERANCE * np.maximum(1, size))
    found.append(np.maximum(points[good], 0))
  return np.concatenate(found)
