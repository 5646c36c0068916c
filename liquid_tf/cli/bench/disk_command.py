"""Compares our reads with fio's, over the files of a dataset.

liquid-tf bench disk --dataset=photos.liquid
"""

from liquid_tf.cli import tool
from liquid_tf.cli.bench import common
from liquid_tf.cli.flag_values import Flags

_FLAGS = Flags()
common.define_reading(_FLAGS)
common.define_rounds(_FLAGS)
common.define_results(_FLAGS, report=False)
_FLAGS.string("dataset", None, "dataset directory", required=True)


def _main(arguments: list[str]) -> int:
  tool.no_arguments(arguments)
  from liquid_tf.cli.bench import disk

  result = common.with_evidence(
    _FLAGS.dataset,
    lambda: disk.bench(
      _FLAGS.dataset,
      rounds=_FLAGS.rounds,
      block=_FLAGS.block,
      depth=_FLAGS.depth,
      reader=_FLAGS.reader,
      say=tool.say,
    ),
  )
  if result["skipped"]:
    tool.say(f"nothing to compare with: {result['skipped']}")
  return common.finish(_FLAGS, result)


COMMAND = tool.Command(__doc__, _FLAGS, _main)
