"""`python -m tools.bench mix`: its flags, and what it prints."""

import os
import pathlib
import sys
import tempfile
from typing import Any

from absl import flags

from liquid_tf.cli import tool
from liquid_tf.cli.bench import efficiency_command

_OTHERS = flags.DEFINE_list("others", ["raw"], "mix: formats that PNG is mixed with")
_PROCESSORS = flags.DEFINE_list("processors", [], "mix: as 1,2; by default all")
_SECONDS = flags.DEFINE_float("seconds", 1.0, "mix: that a run lasts at least", 0.01)


def _processors() -> list[int]:
  most = len(os.sched_getaffinity(0))
  texts = _PROCESSORS.value or [str(most)]
  if not all(text.isdigit() and 1 <= int(text) <= most for text in texts):
    raise tool.FlagsError(
      f"--processors ({','.join(texts)}) must be numbers from 1 to {most}"
    )
  return [int(text) for text in texts]


def main(
  workdir: str | None, report: str | None, plot: str | None, **settings: Any
) -> dict[str, Any]:
  """Measures, prints and writes.

  Args:
    workdir: where photographs and datasets are made and stay, or None.
    report: page of Markdown that gets the section, or None.
    plot: image file that gets the curves, or None.
    **settings: of `liquid_tf.cli.bench.mix.bench`.

  Returns:
    The result, as `liquid_tf.cli.bench.mix.bench` gives it, with `evidence`.

  Raises:
    tool.FlagsError: a flag is wrong.
    ChildProcessError: a measurement failed.
  """
  from liquid_tf._measure import evidence
  from liquid_tf._store.mix import parse_mix
  from liquid_tf.cli.bench import mix, mix_report, page

  def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)

  try:
    parse_mix(dict.fromkeys(["png", *_OTHERS.value], 1))
  except ValueError as error:
    raise tool.FlagsError(f"--others: {error}") from error
  if {"png", "pcr"} & set(_OTHERS.value):
    raise tool.FlagsError(
      f"--others ({','.join(_OTHERS.value)}) must not be png or pcr"
    )
  processors, rates = _processors(), efficiency_command.rates()
  load = evidence.load()
  with tempfile.TemporaryDirectory(prefix="liquid_bench_") as temporary:
    folder = os.path.abspath(workdir or temporary)
    try:
      result = mix.bench(
        folder,
        others=_OTHERS.value,
        rates=rates,
        processors=processors,
        seconds=_SECONDS.value,
        say=say,
        **settings,
      )
    except ValueError as error:
      raise tool.FlagsError(str(error)) from error
    result["evidence"] = {**evidence.evidence(folder), "load_before": load}
  say(mix_report.table(result))
  if plot:
    mix_report.plot(result, plot)
  if report:
    image = None
    if plot:
      image = os.path.relpath(plot, pathlib.Path(report).parent)
    page.write_section(report, mix_report.TITLE, mix_report.section(result, image))
  return result
