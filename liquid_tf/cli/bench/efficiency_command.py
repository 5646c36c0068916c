"""Puts mixes of PNG and raw beside the limits of loading and of decoding.

  liquid-tf bench efficiency --images=1024 --workdir=photos
  liquid-tf bench efficiency --rates=0 --mixes=0,.5,1

Root may hold the disk back to some MB/s (--rates).
"""

import json
import pathlib

from liquid_tf.cli import tool
from liquid_tf.cli.bench import common
from liquid_tf.cli.flag_values import Flags

_FLAGS = Flags()
common.define_photographs(_FLAGS)
common.define_batch_size(_FLAGS)
common.define_rounds(_FLAGS)
common.define_threads(_FLAGS)
common.define_rates(_FLAGS)
common.define_workdir(_FLAGS)
common.define_results(_FLAGS)
_FLAGS.words("mixes", ["0", ".25", ".5", ".75", "1"], "shares of raw; the rest is PNG")
_FLAGS.integer("repeat", 1, "times that the images come in an epoch", 1)
_FLAGS.words("merge", [], "--output of other runs, for the table and --report")
_FLAGS.string("cache", "auto", 'share ("30%"), bytes, 0, or "auto"')


def _main(arguments: list[str]) -> int:
  tool.no_arguments(arguments)
  from liquid_tf.cli.bench import efficiency, efficiency_report

  mixes = common.numbers("mixes", _FLAGS.mixes, 1)
  rates = common.rates(_FLAGS)
  others = [json.loads(pathlib.Path(name).read_text()) for name in _FLAGS.merge]
  with common.folder(_FLAGS.workdir) as folder:
    result = common.with_evidence(
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
        threads=common.threads(_FLAGS),
        say=tool.say,
      ),
    )
  every = [*others, result]
  tool.say(efficiency_report.table(every))
  common.write_section(
    _FLAGS, efficiency_report.TITLE, efficiency_report.section(every)
  )
  return common.finish(_FLAGS, result)


COMMAND = tool.Command(__doc__, _FLAGS, _main)
