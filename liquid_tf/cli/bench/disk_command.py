"""`python -m tools.bench disk`: its flags, and what it prints."""

import sys
from typing import Any

from absl import flags

from liquid_tf.cli import tool

_BLOCK = flags.DEFINE_integer("block", 4 << 20, "disk, recordio: bytes of a read")
_DEPTH = flags.DEFINE_integer("depth", 8, "disk, recordio: most reads under way")
_READER = flags.DEFINE_enum(
  "reader",
  "auto",
  ["auto", "io_uring", "threads", "buffered"],
  "disk, recordio: how to read",
)


def reading() -> dict[str, Any]:
  """What the flags say of reads: `block`, `depth` and `reader`."""
  return {"block": _BLOCK.value, "depth": _DEPTH.value, "reader": _READER.value}


def main(dataset: str | None, rounds: int) -> dict[str, Any]:
  """Measures and prints.

  Args:
    dataset: its directory.
    rounds: runs of each reader.

  Returns:
    The result, as `liquid_tf.cli.bench.disk.bench` gives it, with `evidence`.

  Raises:
    tool.FlagsError: a flag is wrong.
    ChildProcessError: fio failed.
  """
  from liquid_tf._measure import evidence
  from liquid_tf.cli.bench import disk

  if dataset is None:
    raise tool.FlagsError("disk needs --dataset")

  def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)

  load = evidence.load()
  try:
    result = disk.bench(dataset, rounds=rounds, say=say, **reading())
  except ValueError as error:
    raise tool.FlagsError(str(error)) from error
  if result["skipped"]:
    say(f"nothing to compare with: {result['skipped']}")
  result["evidence"] = {**evidence.evidence(dataset), "load_before": load}
  return result
