"""Compares decoding with stock tf.data, and with DALI and FFCV where they are.

  python -m tools.bench compare
  python -m tools.bench compare --formats=png,raw,l3 --dali_python=dali/bin/python

Each format runs beside the peers that read the nearest to it, on photographs in memory:
ours, peers, ours, peers, each in a fresh process.
"""

from liquid_tf.cli import measuring, tool
from liquid_tf.cli.flag_values import Flags
from tools.bench import common

_FLAGS = Flags()
common.define_photographs(_FLAGS)
measuring.define_batch_size(_FLAGS)
measuring.define_rounds(_FLAGS)
measuring.define_threads(_FLAGS)
common.define_workdir(_FLAGS)
measuring.define_results(_FLAGS)
_FLAGS.integer("epochs", 4, "epochs of each process; the first one does not count", 2)
_FLAGS.words("formats", ["png", "raw", "jpeg"], "formats of ours to compare")
_FLAGS.string("dali_python", None, "Python that has NVIDIA DALI; else left out")
_FLAGS.string("ffcv_python", None, "Python that has FFCV; else left out")


def _main(arguments: list[str]) -> int:
  tool.no_arguments(arguments)
  from tools.bench import compare, compare_report

  pythons = {"dali": _FLAGS.dali_python, "ffcv": _FLAGS.ffcv_python}
  with common.folder(_FLAGS.workdir) as folder:
    result = measuring.with_evidence(
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
        threads=measuring.threads(_FLAGS),
        epochs=_FLAGS.epochs,
        say=tool.say,
      ),
    )
  tool.say(compare_report.table(result))
  common.write_section(_FLAGS, compare_report.TITLE, compare_report.section(result))
  return measuring.finish(_FLAGS, result)


COMMAND = tool.Command(__doc__, _FLAGS, _main)
