"""`liquid-tf COMMAND`: the commands of an installed package.

In a checkout, `python -m tools.convert` is `liquid-tf convert`.
"""

import difflib
import importlib
import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from liquid_tf import _version
from liquid_tf._native import library
from liquid_tf.cli import tool

# What a program takes without a command.
_FLAGS = ("help", "version")


class Entry(NamedTuple):
  """A command that is imported when it is asked for.

  Attributes:
    module: below the program's package; its COMMAND is a `tool.Command`.
    about: what it does, in a line.
  """

  module: str
  about: str


class Program:
  """A program of several commands.

  Args:
    name: as users type it.
    package: of its commands' modules.
    commands: by the word that names each.
  """

  def __init__(self, name: str, package: str, commands: Mapping[str, Entry]):
    self.name = name
    self.commands = commands
    self._package = package

  def load(self, command: str) -> tool.Command:
    """Imports a command."""
    module = self.commands[command].module
    return importlib.import_module(f"{self._package}.{module}").COMMAND

  def _owners(self, flag: str) -> list[str]:
    """Names of the commands that have a flag."""
    owners = [name for name in self.commands if flag in self.load(name).flags]
    alone = [self.name] if flag in _FLAGS else []
    return [*alone, *(f"{self.name} {name}" for name in owners)]

  def _listing(self) -> str:
    rows = [
      f"  {self.name} {command:<11}{entry.about}"
      for command, entry in self.commands.items()
    ]
    return "\n".join(["Commands:", *rows, "", "Each has --help."])

  def _refuse(self, word: str) -> None:
    known = [*self.commands, *map("--{}".format, _FLAGS)]
    near = difflib.get_close_matches(word, known, 1)
    said = f'"{word}" is no command'
    if near:
      tool.wrong_flags(self.name, f"{said}: did you mean `{self.name} {near[0]}`?")
    tool.say(f"{self.name}: {said}\n{self._listing()}")
    sys.exit(tool.WRONG_FLAGS)

  def run(self, arguments: Sequence[str]) -> None:
    """Runs the command that the first argument names; ends the process."""
    if not arguments or arguments[0] in tool.HELP:
      tool.print_page(self._listing())
      sys.exit(0)
    word = arguments[0]
    if word in self.commands:
      name = f"{self.name} {word}"
      tool.run(name, self.load(word), arguments[1:], self._owners)
    if word == "--version":
      tool.print_page(_versions())
      sys.exit(0)
    if word.startswith("-"):
      flag = word.lstrip("-").partition("=")[0]
      tool.wrong_flags(
        self.name, tool.unknown_flag(flag, self.name, _FLAGS, self._owners)
      )
    self._refuse(word)


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


_COMMANDS = {
  "convert": Entry("convert", "makes a dataset of images, or a new mix of a dataset"),
  "edit": Entry("edit", "appends to a dataset, removes, annotates or compacts"),
  "export": Entry("export", "makes RecordIO, class folders or TFRecords of a dataset"),
  "image": Entry("image", "turns one image file into another, such as .png into .l3"),
  "inspect": Entry("inspect", "says what is in a dataset, and whether it is right"),
  "profile": Entry("profile", "finds the fastest mix of formats on this machine"),
  "measure": Entry("measure", "says how fast a dataset is, and what limits it"),
  "service": Entry("service", "runs a dispatcher or a worker of tf.data service"),
  "build-ops": Entry("build_ops", "builds the ops for a TensorFlow that lacks them"),
  "demo": Entry("demo.command", "converts, trains and measures on photographs"),
}


LIQUID_TF = Program("liquid-tf", "liquid_tf.cli", _COMMANDS)


def main() -> None:
  """The console script `liquid-tf`."""
  LIQUID_TF.run(sys.argv[1:])


if __name__ == "__main__":
  main()
