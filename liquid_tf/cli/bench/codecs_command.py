"""Compares image codecs: size, and speed on one processor.

liquid-tf bench codecs
liquid-tf bench codecs --sets=photos,textures=more/textures --plot=codecs.png
"""

import os
import pathlib

from absl import flags

from liquid_tf.cli import tool
from liquid_tf.cli.bench import common

_FLAGS = flags.FlagValues()
common.define_rounds(_FLAGS)
common.define_results(_FLAGS)
flags.DEFINE_integer("side", 1024, "of a square, in pixels", 1, flag_values=_FLAGS)
flags.DEFINE_list(
  "sets",
  [],
  "folders of photographs, as FOLDER or NAME=FOLDER; by default scikit-image's",
  flag_values=_FLAGS,
)
flags.DEFINE_integer("squares", 4, "squares decoded of each set", 1, flag_values=_FLAGS)
flags.DEFINE_integer(
  "passes", 7, "decodes of each square in a process", 2, flag_values=_FLAGS
)
flags.DEFINE_string(
  "plot", None, "draw sizes and speeds here, as x.png", flag_values=_FLAGS
)


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
