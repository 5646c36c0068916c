"""Puts formats, and the mix that a profile advises, beside each other on slow disks.

  python -m tools.bench formats --rates=100,300 --data=photos --workdir=work

Only root may hold the disk back (--rates).
"""

from liquid_tf.cli import measuring, tool
from liquid_tf.cli.flag_values import Flags
from tools.bench import common

_FLAGS = Flags()
common.define_photographs(_FLAGS, side=512)
measuring.define_batch_size(_FLAGS)
measuring.define_rounds(_FLAGS)
measuring.define_threads(_FLAGS)
common.define_rates(_FLAGS)
common.define_workdir(_FLAGS)
measuring.define_results(_FLAGS)
_FLAGS.words("formats", ["png", "webp", "l3-compact", "l3"], "formats to compare")
_FLAGS.integer("epoch_images", 2048, "images in an epoch, at least", 1)
_FLAGS.number("seconds", 1.0, "seconds that a run of the profile lasts", 0.01)


def _check_formats() -> None:
  from liquid_tf._store.mix import parse_mix

  try:
    parse_mix(dict.fromkeys(_FLAGS.formats, 1))
  except ValueError as error:
    raise tool.FlagsError(f"--formats: {error}") from error
  if "pcr" in _FLAGS.formats:
    raise tool.FlagsError(
      "--formats: pcr is not compared here; `liquid-tf profile` measures its groups"
    )


def _main(arguments: list[str]) -> int:
  tool.no_arguments(arguments)
  from tools.bench import formats, formats_report

  _check_formats()
  rates = common.rates(_FLAGS)
  with common.folder(_FLAGS.workdir) as folder:
    result = measuring.with_evidence(
      folder,
      lambda: formats.bench(
        folder,
        formats=_FLAGS.formats,
        rates=rates,
        epoch_images=_FLAGS.epoch_images,
        seconds=_FLAGS.seconds,
        images=_FLAGS.images,
        side=_FLAGS.side,
        data=_FLAGS.data,
        batch_size=_FLAGS.batch_size,
        threads=measuring.threads(_FLAGS),
        rounds=_FLAGS.rounds,
        say=tool.say,
      ),
    )
  tool.say(formats_report.table([result]))
  common.write_section(_FLAGS, formats_report.TITLE, formats_report.section([result]))
  return measuring.finish(_FLAGS, result)


COMMAND = tool.Command(__doc__, _FLAGS, _main)
