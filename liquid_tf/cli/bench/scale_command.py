"""`python -m tools.bench scale`: what it prints and writes."""

import os
import sys
import tempfile
from typing import Any

from absl import flags

from liquid_tf.cli import tool

_SAMPLES = flags.DEFINE_integer(
  "samples", 100_000_000, "scale: samples of the index; 104 bytes of disk each", 1
)
_WORKERS = flags.DEFINE_integer("workers", 1024, "scale: that train side by side", 1)


def main(workdir: str | None, report: str | None) -> dict[str, Any]:
  """Measures, prints and writes.

  Args:
    workdir: where the dataset of holes is made and stays, or None.
    report: page of Markdown that gets the section, or None.

  Returns:
    The result, as `liquid_tf.cli.bench.scale.bench` gives it, with `evidence`.

  Raises:
    tool.FlagsError: a flag is wrong.
    ChildProcessError: a measurement failed.
  """
  from liquid_tf._measure import evidence
  from liquid_tf.cli.bench import page, scale, scale_report

  def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)

  if _WORKERS.value > 2 * _SAMPLES.value:
    raise tool.FlagsError(
      f"--workers ({_WORKERS.value}) must be at most two for each of --samples "
      f"({_SAMPLES.value})"
    )
  load = evidence.load()
  # Not /tmp, which may be memory.
  with tempfile.TemporaryDirectory(prefix="liquid_bench_", dir=".") as temporary:
    folder = os.path.abspath(workdir or temporary)
    result = scale.bench(
      folder, samples=_SAMPLES.value, workers=_WORKERS.value, say=say
    )
    result["evidence"] = {**evidence.evidence(folder), "load_before": load}
  say(scale_report.table(result))
  if report:
    page.write_section(report, scale_report.TITLE, scale_report.section(result))
  return result
