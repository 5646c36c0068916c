"""`fidelity=`: how many scan groups of a pcr the batches of an epoch have."""

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from liquid_tf._native import tensors
from liquid_tf._store import mix as mixes
from liquid_tf.errors import WrongArgument

if TYPE_CHECKING:
  import tensorflow as tf

Fidelity: TypeAlias = (
  "int | tf.Variable | Callable[[int, int], int] | Mapping[int, float] | None"
)


def shares(fidelity: Any) -> dict[int, Fraction] | None:
  """The share of records of each scan group, the lowest first; None without shares.

  Raises:
    ValueError: `fidelity` has shares, and a group or a share is none.
  """
  if not isinstance(fidelity, Mapping):
    return None
  for group in fidelity:
    if not _is_group(group):
      raise WrongArgument(
        "fidelity",
        fidelity,
        "must have scan groups of at least 1 with their shares, as {2: 0.25, 10: "
        f"0.75}}, not {group!r}",
      )
  parsed = mixes.parse_shares(fidelity, "fidelity")
  return {int(group): Fraction(str(parsed[group])) for group in sorted(parsed)}


def samples(of_groups: Mapping[int, Fraction], record_samples: np.ndarray) -> list[int]:
  """Samples of each scan group: of so many records, to one, as its share says.

  Args:
    of_groups: the share of records of each.
    record_samples: samples of each record, in stored order.

  Raises:
    ValueError: a group gets no record.
  """
  count = len(record_samples)
  records = mixes.apportion(count, list(of_groups.values()))
  for group, of_group in zip(of_groups, records):
    if of_group == 0:
      raise ValueError(
        f"fidelity must give each scan group at least one of the {count} pcr records "
        f"that are read here: group {group} has none. Give it a larger share, or "
        "convert with fewer images in a record"
      )
  ends = np.cumsum([0, *records])
  return np.diff(np.cumsum([0, *record_samples])[ends]).tolist()


def _is_group(value: Any) -> bool:
  whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
  return whole and value >= 1


def check(fidelity: Any, formats: list[str]) -> Fidelity:
  """Returns `fidelity` where it can be one for a dataset of these formats.

  Raises:
    ValueError: it cannot; the message says why.
  """
  if fidelity is None:
    return None
  if tensors.is_variable(fidelity):
    right = fidelity.shape.rank == 0 and fidelity.dtype.is_integer
  else:
    right = _is_group(fidelity) or callable(fidelity)
  if not right:
    raise WrongArgument(
      "fidelity",
      fidelity,
      "must be a scan group of at least 1, a function of (epoch, batch) that gives "
      "one, a tf.Variable that holds one, or None; dataset() and epochs() also take "
      "groups with shares, as {2: 0.25, 10: 0.75}",
    )
  if "pcr" not in formats:
    raise WrongArgument(
      "fidelity", fidelity, f"needs the format pcr; there are {', '.join(formats)}"
    )
  return fidelity


def constant(fidelity: Fidelity) -> int | None:
  """The scan groups of every batch, where that is known and not all."""
  return int(fidelity) if isinstance(fidelity, (int, np.integer)) else None


def later(fidelity: Fidelity, batches: int) -> Fidelity:
  """Fidelity of an epoch's batches from number `batches` on, counted from 0."""
  if not callable(fidelity):
    return fidelity
  return lambda epoch, batch: fidelity(epoch, batches + batch)


def of_epoch(fidelity: Fidelity, epoch: int, batches: int) -> np.ndarray:
  """The scan groups of an epoch's batches.

  Args:
    fidelity: as `check` returned it, and no `tf.Variable`.
    epoch: its number.
    batches: of an epoch.

  Returns:
    int64 [batches]; [1] where all have the same, and [0] where all groups are read.
  """
  if fidelity is None:
    return np.zeros(0, np.int64)
  if not callable(fidelity):
    return np.array([fidelity], np.int64)
  return np.array([fidelity(epoch, batch) for batch in range(batches)], np.int64)
