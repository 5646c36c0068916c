"""Simulates very many samples and workers: what opening and planning take.

python -m tools.bench scale --samples=100000000 --workers=1024
"""

from liquid_tf.cli import measuring, tool
from liquid_tf.cli.flag_values import Flags
from tools.bench import common

_FLAGS = Flags()
common.define_workdir(_FLAGS)
measuring.define_results(_FLAGS)
_FLAGS.integer(
  "samples", 100_000_000, "samples of the index; 104 bytes of disk each", 1
)
_FLAGS.integer("workers", 1024, "workers that train side by side", 1)


def _main(arguments: list[str]) -> int:
  tool.no_arguments(arguments)
  from tools.bench import scale, scale_report

  samples, workers = _FLAGS.samples, _FLAGS.workers
  if workers > 2 * samples:
    raise tool.FlagsError(
      f"--workers ({workers}) must be at most two for each of --samples ({samples})"
    )
  # Not /tmp, which may be memory.
  with common.folder(_FLAGS.workdir, beside=".") as folder:
    result = measuring.with_evidence(
      folder,
      lambda: scale.bench(folder, samples=samples, workers=workers, say=tool.say),
    )
  tool.say(scale_report.table(result))
  common.write_section(_FLAGS, scale_report.TITLE, scale_report.section(result))
  return measuring.finish(_FLAGS, result)


COMMAND = tool.Command(__doc__, _FLAGS, _main)
