"""Puts mixes of PNG and raw beside the limits of loading and of decoding.

  python -m tools.bench efficiency --images=1024 --workdir=photos
  python -m tools.bench efficiency --rates=0 --mixes=0,.5,1

Root may hold the disk back to some MB/s (--rates).
"""

import json
import pathlib

from liquid_tf.cli import measuring, tool
from liquid_tf.cli.flag_values import Flags
from tools.bench import common

_FLAGS = Flags()
common.define_photographs(_FLAGS)
measuring.define_batch_size(_FLAGS)
measuring.define_rounds(_FLAGS)
measuring.define_threads(_FLAGS)
common.define_rates(_FLAGS)
common.define_workdir(_FLAGS)
measuring.define_results(_FLAGS)
_FLAGS.words("mixes", ["0", ".25", ".5", ".75", "1"], "shares of raw; the rest is PNG")
_FLAGS.integer("repeat", 1, "times that the images come in an epoch", 1)
_FLAGS.words("merge", [], "--output of other runs, for the table and --report")
_FLAGS.string("cache", "auto", 'share ("30%"), bytes, 0, or "auto"')


def _main(arguments: list[str]) -> int:
  tool.no_arguments(arguments)
  from tools.bench import efficiency, efficiency_report

  mixes = common.numbers("mixes", _FLAGS.mixes, 1)
  rates = common.rates(_FLAGS)
  others = [json.loads(pathlib.Path(name).read_text()) for name in _FLAGS.merge]
  with common.folder(_FLAGS.workdir) as folder:
    result = measuring.with_evidence(
      folder,
      lambda: efficiency.bench(
        folder,
        mixes=mixes,
        rates=rates,
        repeat=_FLAGS.repeat,
        cache=tool.amount(_FLAGS.cache),
        images=_FLAGS.images,
        side=_FLAGS.side,
        data=_FLAGS.data,
        batch_size=_FLAGS.batch_size,
        rounds=_FLAGS.rounds,
        threads=measuring.threads(_FLAGS),
        say=tool.say,
      ),
    )
  every = [*others, result]
  tool.say(efficiency_report.table(every))
  common.write_section(
    _FLAGS, efficiency_report.TITLE, efficiency_report.section(every)
  )
  return measuring.finish(_FLAGS, result)


COMMAND = tool.Command(__doc__, _FLAGS, _main)
