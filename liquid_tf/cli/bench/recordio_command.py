"""`python -m tools.bench recordio`: its flags, and what it prints."""

import os
import sys
import tempfile
from typing import Any

from absl import flags

from liquid_tf.cli import tool

_SIZE = flags.DEFINE_integer("size", 1 << 30, "recordio: bytes of the payloads", 1)
_RECORD_BYTES = flags.DEFINE_integer(
  "record_bytes", 128 << 10, "recordio: of each payload", 1
)


def main(
  workdir: str | None, rounds: int, *, block: int, depth: int, reader: str
) -> dict[str, Any]:
  """Measures and prints.

  Args:
    workdir: where the files are made, or None for a temporary folder.
    rounds: runs of each.
    block: bytes of a read.
    depth: most reads under way at once.
    reader: how to read.

  Returns:
    The result, as `liquid_tf.cli.bench.recordio.bench` gives it, with `evidence`.

  Raises:
    tool.FlagsError: a flag is wrong.
    ChildProcessError: fio or dd failed.
  """
  from liquid_tf._measure import evidence
  from liquid_tf.cli.bench import recordio

  def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)

  load = evidence.load()
  if workdir is not None:
    os.makedirs(workdir, exist_ok=True)
  with tempfile.TemporaryDirectory(prefix="liquid_bench_", dir=workdir) as folder:
    try:
      result = recordio.bench(
        folder,
        rounds=rounds,
        size=_SIZE.value,
        record_bytes=_RECORD_BYTES.value,
        block=block,
        depth=depth,
        reader=reader,
        say=say,
      )
    except ValueError as error:
      raise tool.FlagsError(str(error)) from error
    if result["skipped"]:
      say(f"nothing to compare reading with: {result['skipped']}")
    result["evidence"] = {**evidence.evidence(folder), "load_before": load}
  return result
