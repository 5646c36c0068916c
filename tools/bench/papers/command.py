"""Measures the figures of the papers again, and puts their numbers beside ours.

  python -m tools.bench papers --data=driving=FOLDER,photographs=FOLDER
  python -m tools.bench papers l3-table-4 --data=driving=FOLDER
  python -m tools.bench papers --report

Without names it runs all figures, one after another. A figure that is complete is
skipped, and an interrupted run goes on where it was: the same command again.
"""

import difflib
import pathlib

from liquid_tf.cli import tool
from liquid_tf.cli.flag_values import Flags
from tools.bench import benchmark

_FLAGS = Flags()
_FLAGS.string(
  "workdir",
  None,
  "keep here what is made, and use it again; by default it is removed",
)
_FLAGS.words(
  "data",
  [],
  "folders of images, as NAME=FOLDER, the nearest to the papers' Cityscapes first; by "
  "default scikit-image's photographs",
)
_FLAGS.string("evidence", "tools/bench/results/papers", "folder of the figures' JSON")
_FLAGS.string("page", "docs/papers.md", "page to write; its plots go beside it")
_FLAGS.string("dali_python", None, "Python that has NVIDIA DALI; else left out")
_FLAGS.switch("report", "only write the page and its plots")
_FLAGS.switch("quick", "measure as little as possible, to see whether all runs")
_FLAGS.switch("json", "print one JSON object to stdout")


def _names(arguments: list[str]) -> list[str]:
  from tools.bench.papers import figure

  for name in arguments:
    if name not in figure.FIGURES:
      near = difflib.get_close_matches(name, figure.FIGURES, 1)
      hint = f"; did you mean {near[0]}?" if near else ""
      known = ", ".join(figure.FIGURES)
      raise tool.FlagsError(f'figure "{name}" must be one of {known}{hint}')
  return arguments or list(figure.FIGURES)


def _main(arguments: list[str]) -> int:
  from tools.bench import codec_sets
  from tools.bench.papers import document, figure, runner

  figures = [figure.FIGURES[name] for name in _names(arguments)]
  if not _FLAGS.report:
    sets = tuple(codec_sets.photographs(_FLAGS.data))
    # Not /tmp, which may be memory.
    with benchmark.folder(_FLAGS, beside=".") as folder:
      for one in figures:
        place = pathlib.Path(folder, one.name)
        setting = figure.Setting(
          sets, _FLAGS.quick, place, tool.say, _FLAGS.dali_python
        )
        runner.run(one, setting, _FLAGS.evidence)
        document.write(_FLAGS.evidence, _FLAGS.page)
  document.write(_FLAGS.evidence, _FLAGS.page)
  found = {one.name: runner.read(_FLAGS.evidence, one) for one in figures}
  for one in figures:
    if found[one.name]:
      tool.say(f"\n{one.title}\n\n{one.table(found[one.name])}")
  if _FLAGS.json:
    tool.print_json(found)
  return 0


def _go_on() -> str:
  return "the same command goes on with the parts that are missing"


COMMAND = tool.Command(__doc__, _FLAGS, _main, interrupted=_go_on)
