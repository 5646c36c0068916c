"""`fidelity=`: how many scan groups of a pcr the batches of an epoch have."""

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import tensorflow as tf

from liquid_tf._native import ops
from liquid_tf._store import mix as mixes
from liquid_tf.errors import WrongArgument

Fidelity = int | tf.Variable | Callable[[int, int], int] | Mapping[int, float] | None


class EpochDataset(tf.data.Dataset):
  """One element, the number of the epoch that the interleave above it runs."""

  def __init__(self):
    super().__init__(ops.lib().liquid_epoch_dataset())

  def _inputs(self):
    return []

  @property
  def element_spec(self):
    return tf.TensorSpec([], tf.int64)


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
  if isinstance(fidelity, tf.Variable):
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


def table(fidelity: Fidelity, batches: int) -> tf.data.Dataset | None:
  """A dataset whose one element is the scan groups of an epoch's batches.

  Args:
    fidelity: as `check` returned it.
    batches: of an epoch.

  Returns:
    Elements of shape [batches] or [1], int64; None where all groups are read.
  """
  if fidelity is None:
    return None
  if isinstance(fidelity, tf.Variable):
    return EpochDataset().map(lambda _: tf.reshape(tf.cast(fidelity, tf.int64), [1]))
  if not callable(fidelity):
    return tf.data.Dataset.from_tensors(tf.constant([fidelity], tf.int64))

  def ask(epoch: np.ndarray) -> np.ndarray:
    return np.array([fidelity(int(epoch), batch) for batch in range(batches)], np.int64)

  def in_graph(epoch: tf.Tensor) -> tf.Tensor:
    return tf.ensure_shape(tf.numpy_function(ask, [epoch], tf.int64), [batches])

  return EpochDataset().map(in_graph)
