"""`python -m tools.bench constancy`: what it prints and writes."""

import os
import sys
import tempfile
from typing import Any

from liquid_tf.cli import tool


def main(workdir: str | None, report: str | None, **settings: Any) -> dict[str, Any]:
  """Measures, prints and writes.

  Args:
    workdir: where images and datasets are made and stay, or None.
    report: page of Markdown that gets the section, or None.
    **settings: of `liquid_tf.cli.bench.constancy.bench`.

  Returns:
    The result, as `liquid_tf.cli.bench.constancy.bench` gives it, with `evidence`.

  Raises:
    tool.FlagsError: a flag is wrong.
    ChildProcessError: a measurement failed.
  """
  from liquid_tf._measure import evidence
  from liquid_tf.cli.bench import constancy, constancy_report, page

  def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)

  load = evidence.load()
  with tempfile.TemporaryDirectory(prefix="liquid_bench_") as temporary:
    folder = os.path.abspath(workdir or temporary)
    try:
      result = constancy.bench(folder, say=say, **settings)
    except ValueError as error:
      raise tool.FlagsError(str(error)) from error
    result["evidence"] = {**evidence.evidence(folder), "load_before": load}
  say(constancy_report.table(result))
  if report:
    page.write_section(report, constancy_report.TITLE, constancy_report.section(result))
  return result
