"""What every tool does alike: flags, errors in one sentence, exit codes.

Exit codes: 0 fine, 1 the work failed, 2 wrong flags, 3 too noisy to advise.
"""

import json
import os
import sys
from collections.abc import Callable
from typing import Any

# TensorFlow's greetings would bury the one sentence that matters.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

from absl import app, flags  # noqa: E402

from liquid_tf.cli import interrupts

FAILED = 1
WRONG_FLAGS = 2
TOO_NOISY = 3


class FlagsError(Exception):
  """Flags that contradict each other, or an argument that is missing."""


def _say(text: str) -> None:
  print(f"{os.path.basename(sys.argv[0])}: {text}", file=sys.stderr)


def _wrong_flags(error: Exception) -> None:
  _say(f"{error}\nTry --help.")
  sys.exit(WRONG_FLAGS)


def _parse(argv: list[str]) -> list[str]:
  try:
    return flags.FLAGS(argv)
  except flags.Error as error:
    _wrong_flags(error)


def _sentence(error: Exception) -> str:
  import tensorflow as tf

  from liquid_tf._native import ops

  return ops.reason(error) if isinstance(error, tf.errors.OpError) else str(error)


def _failures() -> tuple[type[Exception], ...]:
  """What the work may raise that is the user's to mend, not a bug."""
  import tensorflow as tf

  from liquid_tf.errors import ConvertError, ManifestError

  return (
    ConvertError,
    ManifestError,
    ValueError,
    ImportError,
    OSError,
    tf.errors.OpError,
  )


def run(
  main: Callable[[list[str]], int], *, resume: Callable[[], str] = lambda: ""
) -> None:
  """Parses flags, runs `main` and ends the process with its exit code.

  Args:
    main: takes the arguments that are no flags, without the program's name; returns an
      exit code; may raise FlagsError.
    resume: tells what to do after an interrupt (SIGINT or SIGTERM), for people.
  """

  def guarded(argv: list[str]) -> int:
    try:
      with interrupts.raised():
        return main(argv[1:])
    except FlagsError as error:
      _wrong_flags(error)
    except Exception as error:
      if not isinstance(error, _failures()):
        raise
      _say(_sentence(error))
      return FAILED

  # `bazel run` starts a command in its own folder; paths are relative to the user's.
  os.chdir(os.environ.get("BUILD_WORKING_DIRECTORY", "."))
  if {"--help", "-help", "--helpshort", "--helpfull"} & set(sys.argv[1:]):
    app.usage(shorthelp="--helpfull" not in sys.argv, writeto_stdout=True)
    sys.exit(0)
  try:
    app.run(guarded, flags_parser=_parse)
  except KeyboardInterrupt:
    advice = resume()
    _say(f"interrupted{': ' + advice if advice else ''}")
    # Where the interrupt met Python code that C code ran, an ordinary exit would end
    # in the signal, although it is handled here. All that is to be undone is undone.
    _exit_now(FAILED)
  except SystemExit as done:
    if "tensorflow_io" in sys.modules and isinstance(done.code, int):
      # Its file systems may abort while a process ends: "pure virtual method called".
      _exit_now(done.code)
    raise


def _exit_now(code: int) -> None:
  sys.stdout.flush()
  sys.stderr.flush()
  os._exit(code)


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


def size(count: int) -> str:
  """Bytes for people."""
  value = float(count)
  for unit in ("B", "KiB", "MiB", "GiB"):
    if value < 1024:
      return f"{count} B" if unit == "B" else f"{value:.1f} {unit}"
    value /= 1024
  return f"{value:.1f} TiB"
