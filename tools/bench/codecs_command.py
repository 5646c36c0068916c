"""Compares image codecs: size, and speed on one processor.

python -m tools.bench codecs
python -m tools.bench codecs --sets=photos,textures=more/textures --plot=codecs.png
python -m tools.bench codecs --sets=photos --screens=screens --masks=masks --deep=scans
"""

import os
import pathlib

from liquid_tf.cli import measuring, tool
from liquid_tf.cli.flag_values import Flags

_FLAGS = Flags()
measuring.define_rounds(_FLAGS)
measuring.define_results(_FLAGS)
_FLAGS.integer("side", 1024, "of a square, in pixels", 1)
_FLAGS.words(
  "sets",
  [],
  "folders of photographs, as FOLDER or NAME=FOLDER; by default scikit-image's",
)
_FLAGS.string("screens", None, "folder of screenshots")
_FLAGS.string("masks", None, "folder of masks: images of one channel")
_FLAGS.string("deep", None, "folder of images, of which PNG files of 16 bits count")
_FLAGS.integer("drawings", 12, "drawings of clip-art to make; 0 for none", 0)
_FLAGS.integer("squares", 4, "squares decoded of each set", 1)
_FLAGS.integer("passes", 7, "decodes of each square in a process", 2)
_FLAGS.string("plot", None, "draw sizes and speeds here, as x.png")


def _main(arguments: list[str]) -> int:
  tool.no_arguments(arguments)
  from tools.bench import codec_report, codec_sets, codecs

  folders = {
    codec_sets.SCREENS: _FLAGS.screens,
    codec_sets.MASKS: _FLAGS.masks,
    codec_sets.DEEP: _FLAGS.deep,
  }
  try:
    sets = codec_sets.photographs(_FLAGS.sets)
    sets += codec_sets.others(folders, _FLAGS.drawings)
  except ValueError as error:
    raise tool.FlagsError(str(error)) from error
  result = codecs.bench(
    sets,
    side=_FLAGS.side,
    squares=_FLAGS.squares,
    passes=_FLAGS.passes,
    rounds=_FLAGS.rounds,
    say=tool.say,
  )
  tool.say(codec_report.tables(result))
  if _FLAGS.plot:
    codec_report.plot(result, os.path.abspath(_FLAGS.plot))
  if _FLAGS.report:
    name = None
    if _FLAGS.plot:
      name = os.path.relpath(_FLAGS.plot, os.path.dirname(_FLAGS.report) or ".")
    pathlib.Path(_FLAGS.report).write_text(codec_report.markdown(result, name))
  return measuring.finish(_FLAGS, result)


COMMAND = tool.Command(__doc__, _FLAGS, _main)
