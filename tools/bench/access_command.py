"""Measures reading single samples by position, beside fio's random reads.

python -m tools.bench access --dataset=photos.liquid
"""

from liquid_tf.cli import measuring, tool
from liquid_tf.cli.flag_values import Flags

_FLAGS = Flags()
_FLAGS.integer("reads", 20_000, "samples of a round, each read once", 1)
measuring.define_rounds(_FLAGS)
measuring.define_results(_FLAGS, report=False)
_FLAGS.string("dataset", None, "dataset directory", required=True)


def _main(arguments: list[str]) -> int:
  tool.no_arguments(arguments)
  from tools.bench import access

  result = measuring.with_evidence(
    _FLAGS.dataset,
    lambda: access.bench(
      _FLAGS.dataset, rounds=_FLAGS.rounds, reads=_FLAGS.reads, say=tool.say
    ),
  )
  if result["skipped"]:
    tool.say(f"nothing to compare with: {result['skipped']}")
  return measuring.finish(_FLAGS, result)


COMMAND = tool.Command(__doc__, _FLAGS, _main)
