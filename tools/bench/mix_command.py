"""Measures loading, decoding and both along the mixes of PNG and another format.

  python -m tools.bench mix --images=64 --rates=50,100 --processors=1,2 --plot=mix.png

Root may hold the disk back to some MB/s (--rates).
"""

import os
import pathlib

from liquid_tf.cli import measuring, tool
from liquid_tf.cli.flag_values import Flags
from tools.bench import common

_FLAGS = Flags()
common.define_photographs(_FLAGS)
measuring.define_batch_size(_FLAGS)
measuring.define_rounds(_FLAGS)
common.define_rates(_FLAGS)
common.define_workdir(_FLAGS)
measuring.define_results(_FLAGS)
_FLAGS.words("others", ["raw"], "formats that PNG is mixed with")
_FLAGS.words("processors", [], "numbers of processors, as 1,2; by default all")
_FLAGS.number("seconds", 1.0, "seconds that a run lasts at least", 0.01)
_FLAGS.string("plot", None, "draw the curves here, as x.png")


def _processors() -> list[int]:
  most = len(os.sched_getaffinity(0))
  texts = _FLAGS.processors or [str(most)]
  if not all(text.isdigit() and 1 <= int(text) <= most for text in texts):
    raise tool.FlagsError(
      f"--processors ({','.join(texts)}) must be numbers from 1 to {most}"
    )
  return [int(text) for text in texts]


def _check_others() -> None:
  from liquid_tf._store.mix import parse_mix

  others = _FLAGS.others
  try:
    parse_mix(dict.fromkeys(["png", *others], 1))
  except ValueError as error:
    raise tool.FlagsError(f"--others: {error}") from error
  if {"png", "pcr"} & set(others):
    raise tool.FlagsError(f"--others ({','.join(others)}) must not be png or pcr")


def _main(arguments: list[str]) -> int:
  tool.no_arguments(arguments)
  from tools.bench import mix, mix_report

  _check_others()
  processors, rates = _processors(), common.rates(_FLAGS)
  with common.folder(_FLAGS.workdir) as folder:
    result = measuring.with_evidence(
      folder,
      lambda: mix.bench(
        folder,
        others=_FLAGS.others,
        rates=rates,
        processors=processors,
        seconds=_FLAGS.seconds,
        images=_FLAGS.images,
        side=_FLAGS.side,
        data=_FLAGS.data,
        batch_size=_FLAGS.batch_size,
        rounds=_FLAGS.rounds,
        say=tool.say,
      ),
    )
  tool.say(mix_report.table(result))
  image = None
  if _FLAGS.plot:
    mix_report.plot(result, _FLAGS.plot)
    if _FLAGS.report:
      image = os.path.relpath(_FLAGS.plot, pathlib.Path(_FLAGS.report).parent)
  common.write_section(_FLAGS, mix_report.TITLE, mix_report.section(result, image))
  return measuring.finish(_FLAGS, result)


COMMAND = tool.Command(__doc__, _FLAGS, _main)
