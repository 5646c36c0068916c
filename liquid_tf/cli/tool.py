"""Shared parts of all commands: flags, errors in one sentence, exit codes.

Exit codes: 0 fine, 1 the work failed, 2 wrong flags, 3 too noisy to advise.
"""

import dataclasses
import difflib
import json
import os
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

# TensorFlow's greetings would bury the one sentence that matters.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

from absl import flags  # noqa: E402

from liquid_tf import _extras as extras  # noqa: E402
from liquid_tf import _words, errors  # noqa: E402
from liquid_tf._cost.amounts import size  # noqa: E402
from liquid_tf.cli import interrupts  # noqa: E402
from liquid_tf.cli.flag_values import Flags
from liquid_tf.transforms import (  # noqa: E402
  CenterCrop,
  RandomCrop,
  Resize,
  Step,
)

FAILED = 1
WRONG_FLAGS = 2
TOO_NOISY = 3

HELP = ("--help", "-help", "-h", "--helpshort", "--helpfull")
_WIDTH = 80
_MOST_OWNERS = 4  # of a flag, that a message names

# Flags by the package's arguments, where their names differ.
_FLAG_OF = {
  "Bits": "bits",
  "Channels": "channels",
  "limits: pixels": "max_pixels",
  "limits: scans": "max_scans",
  "source": "input",
  'encoders["jpeg"]["index"]': "jpeg_index",
  'encoders["jpeg"]["progressive"]': "jpeg_progressive",
  'encoders["jpeg"]["quality"]': "jpeg_quality",
  'encoders["l3-compact"]["effort"]': "l3_effort",
  'encoders["pcr"]["groups"]': "pcr_groups",
  'encoders["pcr"]["images"]': "pcr_images",
  'encoders["png"]["level"]': "png_level",
  'encoders["webp-lossy"]["quality"]': "webp_quality",
}
# The codecs' C++ says these, too.
_LIMITS = {
  "limits=Limits(pixels=N)": "--max_pixels=N",
  "limits=Limits(scans=N)": "--max_scans=N",
}
# Advice that is no argument and its value, and the flag that a command must have.
_ADVICE = {
  'Bits("skip")': ("bits", "--bits=skip"),
  "transforms=[Channels(N)]": ("channels", "--channels=N"),
  "transforms=[Bits(N)]": ("bits", "--bits=N"),
  'transforms=[Bits("skip")]': ("bits", "--bits=skip"),
  "transforms=[Channels(N), Bits(N)]": ("bits", "--channels=N --bits=N"),
  'transforms=[Channels(N), Bits("skip")]': ("bits", "--channels=N --bits=skip"),
  "transforms must have a crop, Resize((height, width)), Pad, or Ragged() for batches "
  "of unequal images": (
    "image_size",
    "give --crop=HEIGHT,WIDTH or --image_size=HEIGHT,WIDTH",
  ),
  "runs=(TRIALS, SECONDS)": ("trials", "--trials and --seconds"),
  "workers=[…]": ("runner", "--runner"),
  **{python: (flag[2:-2], flag) for python, flag in _LIMITS.items()},
}


class FlagsError(Exception):
  """Flags that contradict each other, or an argument that is missing."""


@dataclasses.dataclass(frozen=True)
class Command:
  """One command of `liquid-tf`.

  Attributes:
    about: what it does, in plain words, with examples; --help begins with it.
    flags: its flags. It takes no others.
    main: does the work; takes the arguments that are no flags and returns an exit
      code; may raise FlagsError.
    interrupted: says how to go on after an interrupt (SIGINT or SIGTERM).
    renamed: flags by the package's argument, where their names differ.
  """

  about: str
  flags: Flags
  main: Callable[[list[str]], int]
  interrupted: Callable[[], str] = lambda: ""
  renamed: Mapping[str, str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Words:
  """How messages name arguments to who gives flags; see `_words.worded`.

  Attributes:
    known: names of the command's flags; other arguments stay as they are.
    renamed: see `Command`.
  """

  known: frozenset[str]
  renamed: Mapping[str, str]

  def __call__(self, python: str) -> str:
    needed, better = _ADVICE.get(python, ("", ""))
    if needed in self.known:
      return better
    flag = self._flag(python)
    if flag:
      return flag
    name, _, part = python.partition(": ")
    flag = self._flag(name)
    if part and flag:
      return f"{flag}: {part}"
    name, _, value = python.partition("=")
    flag, value = self._flag(name), value.strip('"')
    if not value or not flag:
      return python
    if name == "on_error" and value.startswith("skip:"):
      return f"{flag}=skip --max_skipped={value.removeprefix('skip:')}"
    return flag if value == "True" else f"{flag}={value}"

  def _flag(self, name: str) -> str:
    name = self.renamed.get(name, _FLAG_OF.get(name, name))
    return f"--{name}" if name in self.known else ""


def usage(command: Command) -> str:
  """Text of --help: what the command does, and each flag with its default."""
  parts = [command.about.strip(), "", "Flags:"]
  for flag in sorted(_flags(command), key=lambda flag: flag.name):
    name = f"--[no]{flag.name}" if flag.boolean else f"--{flag.name}"
    about = flag.help
    if flag.default not in (None, "", []) and not flag.boolean:
      about += f" (default: {flag.serialize().partition('=')[2]})"
    parts.append(f"  {name}")
    parts += textwrap.wrap(
      about, _WIDTH, initial_indent=" " * 6, subsequent_indent=" " * 6
    )
  return "\n".join(parts)


def print_page(text: str) -> None:
  """Writes to stdout, of which `| head` may read no more than the beginning."""
  try:
    print(text, flush=True)
  except BrokenPipeError:
    # Else the interpreter would try again at its end, and say so.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _flags(command: Command) -> list[flags.Flag]:
  found = command.flags.flags_by_module_dict().values()
  return [flag for module in found for flag in module]


def run(
  name: str,
  command: Command,
  arguments: Sequence[str],
  owners: Callable[[str], list[str]],
) -> None:
  """Parses flags, does the work and ends the process with its exit code.

  Args:
    name: of the command, such as "liquid-tf convert", for messages.
    command: what to run.
    arguments: flags and arguments, without the program's name.
    owners: names of the commands that have a flag.
  """
  # `bazel run` starts a command in its own folder; paths are relative to the user's.
  os.chdir(os.environ.get("BUILD_WORKING_DIRECTORY", "."))
  if set(HELP) & set(arguments):
    print_page(usage(command))
    sys.exit(0)
  # Other libraries' flags are none of ours, but absl wants to see them parsed.
  flags.FLAGS(sys.argv[:1])
  try:
    _check_names(name, command.flags, arguments, owners)
    rest = command.flags([name, *arguments])[1:]
    missing = [f"--{flag}" for flag in command.flags.missing()]
    if missing:
      raise FlagsError(f"{' and '.join(missing)} must be given")
  except (FlagsError, flags.Error) as error:
    wrong_flags(name, error)
  try:
    with _words.worded(Words(frozenset(command.flags), command.renamed)):
      code = _guarded(name, command, rest)
  except KeyboardInterrupt:
    advice = command.interrupted()
    _say(name, f"interrupted{': ' + advice if advice else ''}")
    # Where the interrupt met Python code that C code ran, an ordinary exit would end
    # in the signal, although it is handled here. All that is to be undone is undone.
    _exit_now(FAILED)
  if "tensorflow_io" in sys.modules:
    # Its file systems may abort while a process ends: "pure virtual method called".
    _exit_now(code)
  sys.exit(code)


def _guarded(name: str, command: Command, rest: list[str]) -> int:
  try:
    with interrupts.raised(), extras.explained():
      return command.main(rest)
  except FlagsError as error:
    wrong_flags(name, error)
  except Exception as error:
    if not isinstance(error, _failures()):
      raise
    text = _sentence(error)
    for python in _LIMITS:
      text = text.replace(python, _words.said(python))
    if _is_argument(error):
      wrong_flags(name, text)
    _say(name, text)
  return FAILED


def _check_names(
  name: str,
  known: Flags,
  arguments: Sequence[str],
  owners: Callable[[str], list[str]],
) -> None:
  """Raises FlagsError for a flag that the command lacks.

  absl looks for the value of a flag first, and complains of that.
  """
  arguments = iter(arguments)
  for argument in arguments:
    found = re.fullmatch(r"--?([A-Za-z][\w-]*)(=.*)?", argument, re.S)
    if argument == "--":
      return
    if found is None:
      continue
    flag, value = found.groups()
    if flag in known:
      if value is None and not known[flag].boolean:
        next(arguments, None)
      continue
    switch = flag.removeprefix("no")
    if switch not in known or not known[switch].boolean:
      raise FlagsError(unknown_flag(flag, name, known, owners))


def unknown_flag(
  flag: str, name: str, known: Iterable[str], owners: Callable[[str], list[str]]
) -> str:
  """Says whose flag it is, if not this command's, or which one may be meant.

  Args:
    flag: its name.
    name: of the command.
    known: flags of the command.
    owners: names of the commands that have a flag.
  """
  others = [f"`{other}`" for other in owners(flag)]
  if len(others) > _MOST_OWNERS:
    others[_MOST_OWNERS - 1 :] = ["others"]
  if others:
    *first, last = others
    commands = f"{', '.join(first)} and {last}" if first else last
    return f"--{flag} is a flag of {commands}, not of `{name}`"
  near = difflib.get_close_matches(flag, list(known), 1)
  advice = f": did you mean --{near[0]}?" if near else ""
  return f"--{flag} is no flag of `{name}`{advice}"


def _say(name: str, text: str) -> None:
  print(f"{name}: {text}", file=sys.stderr)


def wrong_flags(name: str, error: Exception | str) -> None:
  """Says what is wrong with the flags of a command, and ends the process."""
  _say(name, f"{error}\nTry `{name} --help`.")
  sys.exit(WRONG_FLAGS)


def _sentence(error: Exception) -> str:
  from liquid_tf._native import ops

  return ops.reason(error) if isinstance(error, _op_errors()) else str(error)


def _is_argument(error: Exception) -> bool:
  """Whether it says that an argument is wrong, and so a flag."""
  of_files = (
    errors.ManifestError,
    errors.PcrError,
    errors.RecordError,
    errors.RecordIOError,
  )
  return isinstance(error, ValueError) and not isinstance(error, of_files)


def _failures() -> tuple[type[Exception], ...]:
  """Errors of the work that are the user's to mend, no bugs."""
  ours = (errors.BuildError, errors.ConvertError)
  return (*ours, ValueError, ImportError, OSError, *_op_errors())


def _op_errors() -> tuple[type[Exception], ...]:
  """Errors of ops: none where TensorFlow was not imported, or cannot be."""
  tf = sys.modules.get("tensorflow")
  return () if tf is None else (tf.errors.OpError,)


def _exit_now(code: int) -> None:
  sys.stdout.flush()
  sys.stderr.flush()
  os._exit(code)


def no_arguments(arguments: list[str]) -> None:
  """Raises FlagsError where there are arguments: all that is given are flags."""
  if arguments:
    raise FlagsError(f'"{arguments[0]}" is no flag: write flags as --name=value')


def say(text: str) -> None:
  """Writes a line for people, to stderr."""
  print(text, file=sys.stderr, flush=True)


def define_on_error(values: Flags, what: str) -> None:
  """Defines --on_error and --max_skipped."""
  values.choice(
    "on_error",
    "raise",
    ["skip", "raise"],
    f"what to do with {what}; skip leaves it out and counts it",
  )
  values.string(
    "max_skipped",
    "1%",
    "share of all samples that --on_error=skip may leave out; more is an error",
  )


def on_error(values: Flags) -> str:
  """The value of `on_error=`.

  Raises:
    FlagsError: --max_skipped is no share, or has no --on_error=skip.
  """
  share = values.max_skipped
  if values.on_error == "raise":
    if values["max_skipped"].present:
      raise FlagsError("--max_skipped needs --on_error=skip")
    return "raise"
  if not re.fullmatch(r"\d+(\.\d+)?%", share) or float(share[:-1]) > 100:
    raise FlagsError(f"--max_skipped ({share}) must be from 0% to 100%, as 10%")
  return f"skip:{share}"


def define_existing(values: Flags, what: str, can_resume: bool) -> None:
  """Defines --existing."""
  resume = "resume an interrupted run, " if can_resume else ""
  values.choice(
    "existing",
    "refuse",
    ["refuse", "resume", "replace"] if can_resume else ["refuse", "replace"],
    f"what to do with {what} that is there: refuse it, {resume}or replace it",
  )


def run_again() -> str:
  """Advice after an interrupt, of a command that leaves nothing half done."""
  return "run the same command again"


def say_index(index: dict[str, int] | None) -> None:
  """Says what a dataset has of entry points of JPEG files, if any are there."""
  if index is None or not index["records"]:
    return
  say(
    f"{size(index['bytes'])} of jpeg are entry points, with which "
    f"{index['records']} records decode faster"
  )
  if index["without"]:
    say(
      f"{index['without']} records of jpeg have none: libjpeg-turbo decodes them; for "
      "progressive files, `liquid-tf convert --jpeg_progressive=baseline` mends that"
    )


def say_skipped(
  skipped: list[dict[str, str]], kept: int, what: str, where: str = ""
) -> None:
  """Says which five were left out first, and why; then how many of all."""
  for one in skipped[:5]:
    say(f"skipped {one['path']}: {one['reason']}")
  if skipped:
    count, total = len(skipped), len(skipped) + kept
    say(f"skipped {count} of {total} {what} ({100 * count / total:.2g} %){where}")


def print_json(value: dict[str, Any]) -> None:
  """Writes one JSON object to stdout."""
  print(json.dumps(value))


def pair(name: str, value: list[str] | None) -> tuple[int, int] | None:
  """Reads a list flag HEIGHT,WIDTH.

  Raises:
    FlagsError: it is none.
  """
  if value is None:
    return None
  if len(value) != 2 or not all(part.isdigit() and int(part) for part in value):
    raise FlagsError(f"--{name} ({','.join(value)}) must be HEIGHT,WIDTH")
  return int(value[0]), int(value[1])


def transforms(
  crop: list[str] | None, image_size: list[str] | None, shuffle: bool = True
) -> list[Step]:
  """The steps that --crop and --image_size ask for.

  Raises:
    FlagsError: one of them is not HEIGHT,WIDTH.
  """
  steps: list[Step] = []
  window, size = pair("crop", crop), pair("image_size", image_size)
  if window is not None:
    steps.append(RandomCrop(window) if shuffle else CenterCrop(window))
  if size is not None:
    steps.append(Resize(size))
  return steps


def amount(value: str) -> int | str:
  """A flag that takes bytes, a share or a word, as the package takes it."""
  return int(value) if value.isdigit() else value


def table(rows: list[list[str]]) -> str:
  """Aligns columns: the first to the left, the others to the right."""
  widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
  return "\n".join(
    "  ".join(
      cell.ljust(width) if i == 0 else cell.rjust(width)
      for i, (cell, width) in enumerate(zip(row, widths))
    )
    for row in rows
  )


def format_rows(result: dict[str, Any]) -> list[list[str]]:
  """Table of a dataset's formats, the head first, of what `inspect` says."""
  shares = sum(result["mix"].values())
  rows = [
    [
      name,
      f"{entry['samples']:,}",
      size(entry["bytes"]),
      size(entry["pixel_bytes"]),
      "yes" if entry["lossless"] else "no",
      f"{result['mix'].get(name, 0) / shares:.1%}",
    ]
    for name, entry in result["formats"].items()
  ]
  return [["format", "samples", "on disk", "pixels", "lossless", "share"], *rows]
