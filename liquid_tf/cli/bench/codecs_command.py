"""Compares image codecs: size, and speed on one processor.

liquid-tf bench codecs
liquid-tf bench codecs --sets=photos,textures=more/textures --plot=codecs.png
"""

import os
import pathlib

from liquid_tf.cli import tool
from liquid_tf.cli.bench import common
from liquid_tf.cli.flag_values import Flags

_FLAGS = Flags()
common.define_rounds(_FLAGS)
common.define_results(_FLAGS)
_FLAGS.integer("side", 1024, "of a square, in pixels", 1)
_FLAGS.words(
  "sets",
  [],
  "folders of photographs, as FOLDER or NAME=FOLDER; by default scikit-image's",
)
_FLAGS.integer("squares", 4, "squares decoded of each set", 1)
_FLAGS.integer("passes", 7, "decodes of each square in a process", 2)
_FLAGS.string("plot", None, "draw sizes and speeds here, as x.png")


def _main(arguments: list[str]) -> int:
  tool.no_arguments(arguments)
  from liquid_tf.cli.bench import codec_report, codecs

  try:
    sets = codecs.parse_sets(_FLAGS.sets)
  except ValueError as error:
    raise tool.FlagsError(str(error)) from error
  result = codecs.bench(
    sets,
    side=_FLAGS.side,
    images=_FLAGS.squares,
    passes=_FLAGS.passes,
    rounds=_FLAGS.rounds,
    say=tool.say,
  )
  tool.say(codec_report.table(result))
  for line in codec_report.verdicts(result):
    tool.say(line)
  if _FLAGS.plot:
    codec_report.plot(result, os.path.abspath(_FLAGS.plot))
  if _FLAGS.report:
    name = None
    if _FLAGS.plot:
      name = os.path.relpath(_FLAGS.plot, os.path.dirname(_FLAGS.report) or ".")
    pathlib.Path(_FLAGS.report).write_text(codec_report.markdown(result, name))
  return common.finish(_FLAGS, result)


COMMAND = tool.Command(__doc__, _FLAGS, _main)
