"""Measures reading single samples by position, beside fio's random reads.

liquid-tf bench access --dataset=photos.liquid
"""

from liquid_tf.cli import tool
from liquid_tf.cli.bench import common
from liquid_tf.cli.flag_values import Flags

_FLAGS = Flags()
_FLAGS.integer("reads", 20_000, "samples of a round, each read once", 1)
common.define_rounds(_FLAGS)
common.define_results(_FLAGS, report=False)
_FLAGS.string("dataset", None, "dataset directory", required=True)


def _main(arguments: list[str]) -> int:
  tool.no_arguments(arguments)
  from liquid_tf.cli.bench import access

  result = common.with_evidence(
    _FLAGS.dataset,
    lambda: access.bench(
      _FLAGS.dataset, rounds=_FLAGS.rounds, reads=_FLAGS.reads, say=tool.say
    ),
  )
  if result["skipped"]:
    tool.say(f"nothing to compare with: {result['skipped']}")
  return common.finish(_FLAGS, result)


COMMAND = tool.Command(__doc__, _FLAGS, _main)
