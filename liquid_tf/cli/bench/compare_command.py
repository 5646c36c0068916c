"""`python -m tools.bench --compare`: its flags, and what it prints."""

import os
import sys
import tempfile
from typing import Any

from absl import flags

from liquid_tf.cli import tool

_FORMATS = flags.DEFINE_list(
  "formats", ["png", "raw", "jpeg"], "--compare: formats of ours to compare"
)
_DALI = flags.DEFINE_string(
  "dali_python", None, "--compare: Python that has NVIDIA DALI; else it is left out"
)
_FFCV = flags.DEFINE_string(
  "ffcv_python", None, "--compare: Python that has FFCV; else it is left out"
)


def main(workdir: str | None, report: str | None, **settings: Any) -> dict[str, Any]:
  """Measures, prints and writes.

  Args:
    workdir: where images and datasets are made and stay, or None.
    report: page of Markdown that gets the section, or None.
    **settings: of `liquid_tf.cli.bench.compare.compare`.

  Returns:
    The result, as `liquid_tf.cli.bench.compare.compare` gives it, with `evidence`.

  Raises:
    tool.FlagsError: a flag is wrong.
    ChildProcessError: a measurement failed.
  """
  from liquid_tf._measure import evidence
  from liquid_tf.cli.bench import compare, compare_report, page

  def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)

  pythons = {"dali": _DALI.value, "ffcv": _FFCV.value}
  load = evidence.load()
  with tempfile.TemporaryDirectory(prefix="liquid_bench_") as temporary:
    folder = os.path.abspath(workdir or temporary)
    try:
      result = compare.compare(
        folder,
        formats=_FORMATS.value,
        pythons={name: python for name, python in pythons.items() if python},
        say=say,
        **settings,
      )
    except ValueError as error:
      raise tool.FlagsError(str(error)) from error
    result["evidence"] = {**evidence.evidence(folder), "load_before": load}
  say(compare_report.table(result))
  if report:
    page.write_section(report, compare_report.TITLE, compare_report.section(result))
  return result
