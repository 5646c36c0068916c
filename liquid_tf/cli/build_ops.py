"""Builds the ops for the TensorFlow that is installed, which the wheel may not serve.

  liquid-tf build-ops

It needs a C++ compiler (CXX, or g++), and some minutes. The op library goes into the
package, or to --output, which LIQUID_OPS_LIBRARY must then name.
"""

import os
import time

from liquid_tf.cli import tool
from liquid_tf.cli.flag_values import Flags

_FLAGS = Flags()
_FLAGS.string("output", None, "op library to make (default: the package's own)")
_FLAGS.integer("jobs", None, "compilers at a time (default: one a processor)", 1)


def _output(version: str) -> str:
  from liquid_tf._native import library

  if _FLAGS.output:
    return _FLAGS.output
  folder = library.package()
  if not os.access(folder, os.W_OK):
    raise tool.FlagsError(
      f"{folder} cannot be written: give --output=FILE, and set "
      "LIQUID_OPS_LIBRARY to it"
    )
  return str(folder / library.packaged_name(version))


def _progress(done: int, count: int) -> None:
  if done % 10 == 0 or done == count:
    tool.say(f"{done} of {count} sources compiled")


def _main(arguments: list[str]) -> int:
  tool.no_arguments(arguments)
  from liquid_tf._native import build

  target = build.running()
  output = _output(target.version)
  jobs = _FLAGS.jobs or len(os.sched_getaffinity(0))
  tool.say(f"building the ops for TensorFlow {target.version} with {build.compiler()}")
  start = time.monotonic()
  build.build(target, output, jobs, _progress)
  tool.say(f"{output}: built in {time.monotonic() - start:.0f} s, and loaded")
  if _FLAGS.output:
    tool.say(f"To use it: export LIQUID_OPS_LIBRARY={os.path.abspath(output)}")
  return 0


COMMAND = tool.Command(__doc__, _FLAGS, _main)
