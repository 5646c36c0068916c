"""Counts how much loads and disk bytes differ between batches.

  python -m tools.bench constancy --images=2000 --side=224 --cache=30%

Three caches are compared: ours, MinIO's, and the kernel's page cache.
"""

from liquid_tf.cli import measuring, tool
from liquid_tf.cli.flag_values import Flags
from tools.bench import common

_FLAGS = Flags()
common.define_photographs(_FLAGS, images=2000, side=224)
measuring.define_batch_size(_FLAGS)
common.define_workdir(_FLAGS)
measuring.define_results(_FLAGS)
_FLAGS.integer("epochs", 4, "epochs; the first one does not count", 2)
_FLAGS.string("cache", "30%", "share of the dataset")


def _main(arguments: list[str]) -> int:
  tool.no_arguments(arguments)
  from tools.bench import constancy, constancy_report

  with common.folder(_FLAGS.workdir) as folder:
    result = measuring.with_evidence(
      folder,
      lambda: constancy.bench(
        folder,
        images=_FLAGS.images,
        side=_FLAGS.side,
        data=_FLAGS.data,
        batch_size=_FLAGS.batch_size,
        cache=tool.amount(_FLAGS.cache),
        epochs=_FLAGS.epochs,
        say=tool.say,
      ),
    )
  tool.say(constancy_report.table(result))
  common.write_section(_FLAGS, constancy_report.TITLE, constancy_report.section(result))
  return measuring.finish(_FLAGS, result)


COMMAND = tool.Command(__doc__, _FLAGS, _main)
