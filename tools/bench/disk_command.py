"""Compares our reads with fio's, over the files of a dataset.

python -m tools.bench disk --dataset=photos.liquid
"""

from liquid_tf.cli import measuring, tool
from liquid_tf.cli.flag_values import Flags
from tools.bench import common

_FLAGS = Flags()
common.define_reading(_FLAGS)
measuring.define_rounds(_FLAGS)
measuring.define_results(_FLAGS, report=False)
_FLAGS.string("dataset", None, "dataset directory", required=True)


def _main(arguments: list[str]) -> int:
  tool.no_arguments(arguments)
  from tools.bench import disk

  result = measuring.with_evidence(
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
  return measuring.finish(_FLAGS, result)


COMMAND = tool.Command(__doc__, _FLAGS, _main)
