"""The part of the samples that each of several workers reads."""

import dataclasses
from typing import TYPE_CHECKING, TypeAlias

from liquid_tf._native import direct_plan, tensors
from liquid_tf.errors import WrongArgument

if TYPE_CHECKING:
  import tensorflow as tf

# (index, count), or what TensorFlow gives for it.
Shard: TypeAlias = "tuple[int, int] | tf.distribute.InputContext"


def resolve_shard(shard: Shard) -> tuple[int, int]:
  """(index, count) of `shard=`, which may be a `tf.distribute.InputContext`."""
  if tensors.is_input_context(shard):
    return shard.input_pipeline_id, shard.num_input_pipelines
  try:
    index, count = (int(x) for x in shard)
  except (TypeError, ValueError):
    index, count = -1, 0
  if not 0 <= index < count:
    raise WrongArgument(
      "shard",
      shard,
      "must be (index, count) with 0 <= index < count, or a tf.distribute.InputContext",
    )
  return index, count


def check_policy(policy: str) -> None:
  """Raises ValueError where `shard_policy=` is none."""
  if policy not in direct_plan.POLICIES:
    raise WrongArgument(
      "shard_policy", policy, f"must be one of {', '.join(direct_plan.POLICIES)}"
    )


@dataclasses.dataclass(frozen=True)
class Part:
  """The samples that a worker has.

  Attributes:
    ranges: (start, length) in stored order, by format.
    repeated: samples that this part shares with another one.
    dropped: samples that no part has.
  """

  ranges: dict[str, tuple[int, int]]
  repeated: int = 0
  dropped: int = 0


def worker_part(
  counts: dict[str, int],
  shard: tuple[int, int],
  policy: str,
  first: dict[str, int] | None = None,
) -> Part:
  """Samples of each format in a worker's part.

  Args:
    counts: samples of each format.
    shard: (index, count).
    policy: how parts come to equal numbers of batches.
    first: where the samples of each format begin in its stored order; None for 0.
  """
  check_policy(policy)
  first = first or dict.fromkeys(counts, 0)
  if shard == (0, 1):
    return Part({name: (first[name], count) for name, count in counts.items()})
  part = direct_plan.worker_part(list(counts.values()), *shard, policy)
  ranges = {
    name: (first[name] + start, length)
    for name, start, length in zip(counts, part.starts, part.lengths)
  }
  return Part(ranges, part.repeated, part.dropped)


def common_part(
  formats: list[str], samples: int, shard: tuple[int, int], policy: str
) -> Part:
  """Samples of a part where every format holds all of them: the same of each.

  Args:
    formats: their names.
    samples: that they share.
    shard: (index, count).
    policy: how parts come to equal numbers of batches.
  """
  part = worker_part({formats[0]: samples}, shard, policy)
  (samples_of_all,) = part.ranges.values()
  return dataclasses.replace(part, ranges=dict.fromkeys(formats, samples_of_all))
