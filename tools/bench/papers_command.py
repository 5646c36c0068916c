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
from tools.bench import common

_FLAGS = Flags()
common.define_workdir(_FLAGS)
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
  from tools.bench.papers import registry

  for name in arguments:
    if name not in registry.FIGURES:
      near = difflib.get_close_matches(name, registry.FIGURES, 1)
      hint = f"; did you mean {near[0]}?" if near else ""
      known = ", ".join(registry.FIGURES)
      raise tool.FlagsError(f'figure "{name}" must be one of {known}{hint}')
  return arguments or list(registry.FIGURES)


def _main(arguments: list[str]) -> int:
  from tools.bench import codec_sets
  from tools.bench.papers import document, registry, runner
  from tools.bench.papers.figure import Setting

  figures = [registry.load(name) for name in _names(arguments)]
  if not _FLAGS.report:
    sets = tuple(codec_sets.photographs(_FLAGS.data))
    # Not /tmp, which may be memory.
    with common.folder(_FLAGS.workdir, beside=".") as folder:
      for figure in figures:
        place = pathlib.Path(folder, figure.name)
        setting = Setting(sets, _FLAGS.quick, place, tool.say, _FLAGS.dali_python)
        runner.run(figure, setting, _FLAGS.evidence)
        document.write(_FLAGS.evidence, _FLAGS.page)
  document.write(_FLAGS.evidence, _FLAGS.page)
  found = {figure.name: runner.read(_FLAGS.evidence, figure) for figure in figures}
  for figure in figures:
    if found[figure.name]:
      tool.say(f"\n{figure.title}\n\n{figure.table(found[figure.name])}")
  if _FLAGS.json:
    tool.print_json(found)
  return 0


def _go_on() -> str:
  return "the same command goes on with the parts that are missing"


COMMAND = tool.Command(__doc__, _FLAGS, _main, interrupted=_go_on)
