"""Compares reading and writing RecordIO with fio and dd.

python -m tools.bench recordio --workdir=photos
"""

import os

from liquid_tf.cli import measuring, tool
from liquid_tf.cli.flag_values import Flags
from tools.bench import common

_FLAGS = Flags()
common.define_reading(_FLAGS)
measuring.define_rounds(_FLAGS)
measuring.define_results(_FLAGS, report=False)
_FLAGS.string("workdir", None, "folder on the disk to measure")
_FLAGS.integer("size", 1 << 30, "bytes of all payloads", 1)
_FLAGS.integer("record_bytes", 128 << 10, "bytes of each payload", 1)


def _main(arguments: list[str]) -> int:
  tool.no_arguments(arguments)
  from tools.bench import recordio

  if _FLAGS.workdir is not None:
    os.makedirs(_FLAGS.workdir, exist_ok=True)
  with common.folder(None, beside=_FLAGS.workdir) as folder:
    result = measuring.with_evidence(
      folder,
      lambda: recordio.bench(
        folder,
        rounds=_FLAGS.rounds,
        size=_FLAGS.size,
        record_bytes=_FLAGS.record_bytes,
        block=_FLAGS.block,
        depth=_FLAGS.depth,
        reader=_FLAGS.reader,
        say=tool.say,
      ),
    )
  if result["skipped"]:
    tool.say(f"nothing to compare reading with: {result['skipped']}")
  return measuring.finish(_FLAGS, result)


COMMAND = tool.Command(__doc__, _FLAGS, _main)
