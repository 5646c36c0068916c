"""The tier of a cache: records on a local disk, between storage and memory."""

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from liquid_tf._cost import budget
from liquid_tf._cost.cache import Cache
from liquid_tf._pipeline.format_rows import FormatRows
from liquid_tf.errors import WrongArgument

# What a record takes a whole number of in the tier.
_BLOCK = 4096


def check(
  cache: Cache, formats: Sequence[str], policy: str, weighted: bool, epoch: Any
) -> None:
  """Checks what goes with the disk of a cache.

  Args:
    cache: with or without one.
    formats: names of those that are read.
    policy: which samples memory keeps.
    weighted: whether samples have weights.
    epoch: that every iterator runs; None where one follows the other.

  Raises:
    ValueError: something does not; the message names it.
  """
  if cache.disk is None:
    return
  if not os.path.isdir(cache.disk) or not os.access(cache.disk, os.W_OK | os.X_OK):
    raise WrongArgument(
      "Cache: disk", cache.disk, "must be a local folder that can be written to"
    )
  check_kept("disk", cache.disk, None, formats, policy, weighted, epoch)


def check_kept(
  name: str,
  value: Any,
  none: Any,
  formats: Sequence[str],
  policy: str,
  weighted: bool,
  epoch: Any,
) -> None:
  """Checks what goes with a place for records outside memory.

  Args:
    name: of the attribute of a cache that gives it.
    value: of the attribute.
    none: the value without such a place.
    formats: as in `check`, like the others.
    policy: likewise.
    weighted: likewise.
    epoch: likewise.

  Raises:
    ValueError: something does not; the message names it.
  """
  refusals = {
    "where a format is pcr, whose records are read in part": "pcr" in formats,
    "with weights or a mixture, whose samples are drawn more than once": weighted,
    f'with the policy "{policy}"': policy != "liquid",
    "where the epoch is given: it holds what the next epoch needs": epoch is not None,
  }
  for reason, refused in refusals.items():
    if refused:
      raise WrongArgument(f"Cache: {name}", value, f"must be {none} {reason}")


def queue_bytes(cache: Cache, memory: int) -> int:
  """Memory for records that wait to be written; 0 without a disk."""
  return 0 if cache.disk is None else budget.tier_queue_bytes(memory)


def fields(
  cache: Cache, memory: int, sources: Sequence[FormatRows]
) -> tuple[dict[str, Any], np.ndarray]:
  """Fields of an interleave's message that make the tier, and its record blocks."""
  if cache.disk is None:
    blocks = [np.zeros(0, np.uint32)]
  else:
    blocks = [
      -(-source.rows["length"].astype(np.int64) // _BLOCK) for source in sources
    ]
  made = dict(
    tier_bytes=cache.disk_bytes,
    tier_queue_bytes=queue_bytes(cache, memory),
    tier="" if cache.disk is None else cache.disk,
  )
  return made, np.concatenate(blocks).astype(np.uint32)
