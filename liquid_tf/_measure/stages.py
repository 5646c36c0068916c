"""The stages of a pipeline, each measured with the other one switched off."""

from collections.abc import Mapping
from typing import Any

# Loading alone, decoding alone, and the whole pipeline.
STAGES = ("load", "decode", "both")

# The memory that nothing exceeds: decoding alone wants all of the dataset in it.
UNBOUNDED = 1 << 62


def options(stage: str, given: Mapping[str, Any]) -> dict[str, Any]:
  """Arguments of `liquid_tf.dataset` for a stage of a pipeline.

  Loading delivers stored bytes; decoding finds every record in memory, from the second
  epoch on.

  Args:
    stage: of STAGES.
    given: arguments of the whole pipeline.
  """
  if stage == "load":
    return {**given, "decode": "none", "transforms": ()}
  if stage == "decode":
    return {**given, "cache": "100%", "memory": UNBOUNDED}
  return dict(given)
