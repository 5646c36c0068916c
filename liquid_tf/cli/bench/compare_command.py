"""Compares decoding with stock tf.data, and with DALI and FFCV where they are.

  liquid-tf bench compare
  liquid-tf bench compare --formats=png,raw,l3 --dali_python=dali/bin/python

Each format runs beside the peers that read the nearest to it, on photographs in memory:
ours, peers, ours, peers, each in a fresh process.
"""

from liquid_tf.cli import tool
from liquid_tf.cli.bench import common
from liquid_tf.cli.flag_values import Flags

_FLAGS = Flags()
common.define_photographs(_FLAGS)
common.define_batch_size(_FLAGS)
common.define_rounds(_FLAGS)
common.define_threads(_FLAGS)
common.define_workdir(_FLAGS)
common.define_results(_FLAGS)
_FLAGS.integer("epochs", 4, "epochs of each process; the first one does not count", 2)
_FLAGS.words("formats", ["png", "raw", "jpeg"], "formats of ours to compare")
_FLAGS.string("dali_python", None, "Python that has NVIDIA DALI; else left out")
_FLAGS.string("ffcv_python", None, "Python that has FFCV; else left out")


def _main(arguments: list[str]) -> int:
  tool.no_arguments(arguments)
  from liquid_tf.cli.bench import compare, compare_report

  pythons = {"dali": _FLAGS.dali_python, "ffcv": _FLAGS.ffcv_python}
  with common.folder(_FLAGS.workdir) as folder:
    result = common.with_evidence(
      folder,
      lambda: compare.compare(
        folder,
        formats=_FLAGS.formats,
        pythons={name: python for name, python in pythons.items() if python},
        images=_FLAGS.images,
        side=_FLAGS.side,
        data=_FLAGS.data,
        batch_size=_FLAGS.batch_size,
        rounds=_FLAGS.rounds,
        threads=common.threads(_FLAGS),
        epochs=_FLAGS.epochs,
        say=tool.say,
      ),
    )
  tool.say(compare_report.table(result))
  common.write_section(_FLAGS, compare_report.TITLE, compare_report.section(result))
  return common.finish(_FLAGS, result)


COMMAND = tool.Command(__doc__, _FLAGS, _main)
