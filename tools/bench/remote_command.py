"""Measures what late answers of a server cost, beside curl, by nginx on this machine.

python -m tools.bench remote --delay_ms=50
"""

from liquid_tf.cli import measuring, tool
from liquid_tf.cli.flag_values import Flags
from tools.bench import common

_FLAGS = Flags()
common.define_workdir(_FLAGS)
measuring.define_rounds(_FLAGS)
measuring.define_threads(_FLAGS)
measuring.define_batch_size(_FLAGS)
measuring.define_results(_FLAGS)
_FLAGS.integer("images", 3000, "photographs of 1 MB", 1)
_FLAGS.integer("small_images", 50_000, "photographs of 50 KB", 1)
_FLAGS.integer("delay_ms", 50, "milliseconds before each late answer", 1)
_FLAGS.number(
  "link_gbit",
  0,
  "Gbit/s of the network, for which root can make one of its own; 0: this machine's "
  "loopback as it is",
  0,
)
_FLAGS.string(
  "data", None, "folder of photographs to cut them from; by default scikit-image's"
)


def _main(arguments: list[str]) -> int:
  tool.no_arguments(arguments)
  from tools.bench import remote, remote_link, remote_report

  if _FLAGS.link_gbit:
    remote_link.enter(_FLAGS.link_gbit)
  # Not /tmp, which may be memory.
  with common.folder(_FLAGS.workdir, beside=".") as folder:
    result = measuring.with_evidence(
      folder,
      lambda: remote.bench(
        folder,
        images=_FLAGS.images,
        small_images=_FLAGS.small_images,
        delay=_FLAGS.delay_ms / 1e3,
        link_gbit=_FLAGS.link_gbit,
        batch_size=_FLAGS.batch_size,
        rounds=_FLAGS.rounds,
        threads=measuring.threads(_FLAGS),
        data=_FLAGS.data,
        say=tool.say,
      ),
    )
  if result["skipped"]:
    tool.say(f"nothing to measure with: {result['skipped']}")
  else:
    title = remote_report.title(result)
    common.write_section(_FLAGS, title, remote_report.section(result))
  return measuring.finish(_FLAGS, result)


COMMAND = tool.Command(__doc__, _FLAGS, _main)
