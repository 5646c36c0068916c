"""`python -m tools.bench efficiency`: its flags, and what it prints."""

import json
import os
import pathlib
import sys
import tempfile
from typing import Any

from absl import flags

from liquid_tf.cli import tool

_MIXES = flags.DEFINE_list(
  "mixes", ["0", ".25", ".5", ".75", "1"], "efficiency: shares of raw, the rest is PNG"
)
_RATES = flags.DEFINE_list(
  "rates", ["0", "100", "400"], "efficiency, mix: MB/s that the disk gives; 0: all"
)
_REPEAT = flags.DEFINE_integer(
  "repeat", 1, "efficiency: times that the images come in an epoch", 1
)
_MERGE = flags.DEFINE_list(
  "merge", [], "efficiency: --output of other runs, for the table and the report"
)


def _numbers(name: str, values: list[str], most: float) -> list[float]:
  try:
    numbers = [float(value) for value in values]
  except ValueError:
    numbers = []
  if not numbers or not all(0 <= number <= most for number in numbers):
    raise tool.FlagsError(
      f"--{name} ({','.join(values)}) must be numbers from 0 to {most:g}"
    )
  return numbers


def rates() -> list[int]:
  """What --rates says, in bytes per second."""
  return [int(rate * 1e6) for rate in _numbers("rates", _RATES.value, 1e6)]


def main(workdir: str | None, report: str | None, **settings: Any) -> dict[str, Any]:
  """Measures, prints and writes.

  Args:
    workdir: where images and datasets are made and stay, or None.
    report: page of Markdown that gets the section, or None.
    **settings: of `liquid_tf.cli.bench.efficiency.bench`.

  Returns:
    The result, as `liquid_tf.cli.bench.efficiency.bench` gives it, with `evidence`.

  Raises:
    tool.FlagsError: a flag is wrong.
    ChildProcessError: a measurement failed.
  """
  from liquid_tf._measure import evidence
  from liquid_tf.cli.bench import efficiency, efficiency_report, page

  def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)

  mixes = _numbers("mixes", _MIXES.value, 1)
  others = [json.loads(pathlib.Path(name).read_text()) for name in _MERGE.value]
  load = evidence.load()
  with tempfile.TemporaryDirectory(prefix="liquid_bench_") as temporary:
    folder = os.path.abspath(workdir or temporary)
    try:
      result = efficiency.bench(
        folder, mixes=mixes, rates=rates(), repeat=_REPEAT.value, say=say, **settings
      )
    except ValueError as error:
      raise tool.FlagsError(str(error)) from error
    result["evidence"] = {**evidence.evidence(folder), "load_before": load}
  say(efficiency_report.table([*others, result]))
  if report:
    section = efficiency_report.section([*others, result])
    page.write_section(report, efficiency_report.TITLE, section)
  return result
