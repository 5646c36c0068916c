"""`liquid-tf COMMAND`: the commands of an installed package.

In a checkout, `python -m tools.convert` is `liquid-tf convert`.
"""

import difflib
import importlib
import sys
from collections.abc import Sequence
from typing import NamedTuple

from absl import flags

from liquid_tf import _version
from liquid_tf._native import library
from liquid_tf.cli import tool

_PROGRAM = "liquid-tf"
# What it takes without a command.
_FLAGS = ("help", "version")


class Entry(NamedTuple):
  """A command that is imported when it is asked for.

  Attributes:
    module: below `liquid_tf.cli`; its COMMAND is a `tool.Command`.
    about: what it does, in a line.
  """

  module: str
  about: str

  def load(self) -> tool.Command:
    """Imports the command."""
    return importlib.import_module(f"liquid_tf.cli.{self.module}").COMMAND


COMMANDS = {
  "convert": Entry("convert", "makes a dataset of images, or a new mix of a dataset"),
  "edit": Entry("edit", "appends to a dataset, removes, annotates or compacts"),
  "export": Entry("export", "makes RecordIO, class folders or TFRecords of a dataset"),
  "image": Entry("image", "turns one image file into another, such as .png into .l3"),
  "inspect": Entry("inspect", "says what is in a dataset, and whether it is right"),
  "profile": Entry("profile", "finds the fastest mix of formats on this machine"),
  "service": Entry("service", "runs a dispatcher or a worker of tf.data service"),
  "build-ops": Entry("build_ops", "builds the ops for a TensorFlow that lacks them"),
  "demo": Entry("demo.command", "converts, trains and measures on photographs"),
  "bench pipeline": Entry("bench.pipeline_command", "a dataset, and what limits it"),
  "bench compare": Entry("bench.compare_command", "beside tf.data, DALI and FFCV"),
  "bench recipe": Entry("bench.recipe_command", "ImageNet's recipes over your photos"),
  "bench efficiency": Entry("bench.efficiency_command", "mixes beside their limits"),
  "bench constancy": Entry("bench.constancy_command", "how even batches are"),
  "bench disk": Entry("bench.disk_command", "our reads beside fio's"),
  "bench access": Entry("bench.access_command", "single samples, beside fio"),
  "bench recordio": Entry("bench.recordio_command", "RecordIO beside fio and dd"),
  "bench remote": Entry("bench.remote_command", "late answers of a server; curl"),
  "bench mix": Entry("bench.mix_command", "loading and decoding along mixes"),
  "bench formats": Entry("bench.formats_command", "formats and a mix on slow disks"),
  "bench codecs": Entry("bench.codecs_command", "size and speed of image codecs"),
  "bench papers": Entry("bench.papers_command", "the papers' figures, measured again"),
  "bench scale": Entry("bench.scale_command", "planning for very many samples"),
}


def every_flag() -> list[flags.FlagValues]:
  """The flags of every command."""
  return [entry.load().flags for entry in COMMANDS.values()]


def _owners(flag: str) -> list[str]:
  """Names of the commands that have a flag."""
  owners = [name for name, entry in COMMANDS.items() if flag in entry.load().flags]
  alone = [_PROGRAM] if flag in _FLAGS else []
  return [*alone, *(f"{_PROGRAM} {name}" for name in owners)]


def _listing(prefix: str = "") -> str:
  rows = [
    f"  liquid-tf {name:<18}{entry.about}"
    for name, entry in COMMANDS.items()
    if name.startswith(prefix)
  ]
  return "\n".join(["Commands:", *rows, "", "Each has --help."])


def _versions() -> str:
  """The versions of the package and of TensorFlow, and the op library for it."""
  lines = [f"liquid_tf {_version.__version__}"]
  found = library.installed()
  if found is None:
    return "\n".join([*lines, "no TensorFlow"])
  folder, version = found
  lines.append(f"TensorFlow {version}, {folder}")
  try:
    lines.append(f"op library {library.find(version)}")
  except ImportError as error:
    lines.append(str(error))
  return "\n".join(lines)


def _refuse(words: str, prefix: str) -> None:
  near = difflib.get_close_matches(words, [*COMMANDS, *map("--{}".format, _FLAGS)], 1)
  said = f'"{words}" is no command'
  if near:
    tool.wrong_flags(_PROGRAM, f"{said}: did you mean `{_PROGRAM} {near[0]}`?")
  tool.say(f"{_PROGRAM}: {said}\n{_listing(prefix)}")
  sys.exit(tool.WRONG_FLAGS)


def run(arguments: Sequence[str]) -> None:
  """Runs the command that the first one or two arguments name; ends the process."""
  words = list(arguments[:2])
  for count in (2, 1):
    name = " ".join(words[:count])
    if len(words) >= count and name in COMMANDS:
      rest = arguments[count:]
      tool.run(f"{_PROGRAM} {name}", COMMANDS[name].load(), rest, _owners)
  first = words[0] if words else ""
  group = f"{first} " if any(name.startswith(f"{first} ") for name in COMMANDS) else ""
  wanted = words[1:] if group else words
  if not words or wanted and wanted[0] in tool.HELP:
    tool.print_page(_listing(group))
    sys.exit(0)
  if not wanted:
    tool.say(_listing(group))
    sys.exit(tool.WRONG_FLAGS)
  if words[0] == "--version":
    tool.print_page(_versions())
    sys.exit(0)
  if wanted[0].startswith("-"):
    name, flag = f"{_PROGRAM} {group}".strip(), wanted[0].lstrip("-").partition("=")[0]
    tool.wrong_flags(name, tool.unknown_flag(flag, name, _FLAGS, _owners))
  _refuse(" ".join(words if group else words[:1]), group)


def main() -> None:
  """The console script `liquid-tf`."""
  run(sys.argv[1:])


if __name__ == "__main__":
  main()
