"""`python -m tools.bench codecs`: its flags, and what it prints."""

import os
import pathlib
import sys

from absl import flags

from liquid_tf.cli import tool

_SETS = flags.DEFINE_list(
  "sets",
  [],
  "codecs: folders of photographs, FOLDER or NAME=FOLDER; by default scikit-image's",
)
_SQUARES = flags.DEFINE_integer("squares", 4, "codecs: squares decoded of each set", 1)
_PASSES = flags.DEFINE_integer("passes", 7, "codecs: decodes of each in a process", 2)
_PLOT = flags.DEFINE_string("plot", None, "codecs, mix: write the curves, as x.png")


def plot() -> str | None:
  """What --plot says."""
  return _PLOT.value


def main(side: int, rounds: int, report: str | None) -> dict:
  """Measures, prints and writes.

  Args:
    side: of the squares, in pixels.
    rounds: processes for each set.
    report: where to write a page of Markdown, or None.

  Returns:
    The result, as `liquid_tf.cli.bench.codecs.bench` gives it.

  Raises:
    tool.FlagsError: the sets are not folders of images.
    ChildProcessError: a measurement failed.
  """
  from liquid_tf.cli.bench import codec_report, codecs

  def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)

  try:
    sets = codecs.parse_sets(_SETS.value)
  except ValueError as error:
    raise tool.FlagsError(str(error)) from error
  result = codecs.bench(
    sets,
    side=side,
    images=_SQUARES.value,
    passes=_PASSES.value,
    rounds=rounds,
    say=say,
  )
  say(codec_report.table(result))
  for line in codec_report.verdicts(result):
    say(line)
  if _PLOT.value:
    codec_report.plot(result, os.path.abspath(_PLOT.value))
  if report:
    name = None
    if _PLOT.value:
      name = os.path.relpath(_PLOT.value, os.path.dirname(report) or ".")
    pathlib.Path(report).write_text(codec_report.markdown(result, name))
  return result
