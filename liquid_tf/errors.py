"""Every exception of the package."""

import contextlib
import json
import os
from collections.abc import Callable, Iterator


class BuildError(RuntimeError):
  """The ops cannot be built for a TensorFlow; says why, and what to do."""


class ConvertError(RuntimeError):
  """A conversion or an export that cannot go on; says what, where and what to do."""


class ManifestError(ValueError):
  """A dataset directory that cannot be read; says what is wrong where."""


class PcrError(ValueError):
  """Progressive compressed records that cannot be read; says what is wrong where."""


class RecordError(ValueError):
  """A sample of a dataset that cannot be read; says file, record, offset and why."""


class RecordIOError(ValueError):
  """A RecordIO file, index or list cannot be read or written; says what and where."""


class TooNoisyError(Exception):
  """Measurements leave open which format is fastest; says which, and how much."""


class WrongArgument(ValueError):
  """An argument whose value cannot be; says which, the value, and what must be."""

  def __init__(self, name: str, value: object, must: str):
    """Initializes WrongArgument.

    Args:
      name: of the argument.
      value: what was given.
      must: the rest of the sentence, as "must be at least 1" or ": it must be at
        least 1".
    """
    # As text, for an exception that is kept or sent keeps what it holds.
    super().__init__(name, Shown(_shown(value)), must)

  def __str__(self) -> str:
    name, value, must = self.args
    return f"{argument(name, value)}{'' if must.startswith(':') else ' '}{must}"


class Shown(str):
  """Text that a message shows as it is, in place of a value."""


_words: Callable[[str], str] = str


@contextlib.contextmanager
def worded(words: Callable[[str], str]) -> Iterator[None]:
  """Lets messages name arguments in the words of a command, in place of Python's.

  Args:
    words: gives what is said in place of an argument's name ("seed") or of advice
      ('existing="resume"').
  """
  before = _words
  speak(words)
  try:
    yield
  finally:
    speak(before)


def speak(words: Callable[[str], str]) -> None:
  """Sets the words of this process for good; see `worded`."""
  global _words
  _words = words


def spoken() -> Callable[[str], str]:
  """The words that messages have now; see `worded`."""
  return _words


def marked(python: str) -> str:
  """Words of a process whose messages another one shows; see `reworded`."""
  return f"\0{python}\0"


def reworded(text: str) -> str:
  """A message of a process whose words were `marked`, in those of this one."""
  parts = text.split("\0")
  return "".join(said(part) if i % 2 else part for i, part in enumerate(parts))


def said(python: str) -> str:
  """An argument, or advice to give one, in the reader's words."""
  return _words(python)


def argument(name: str, value: object) -> str:
  """Says what an argument is, as 'seed (-1)'."""
  return f"{said(name)} ({_shown(value)})"


def setting(name: str, value: object) -> str:
  """Says what to give, as 'existing="resume"'."""
  return said(f"{name}={_shown(value)}")


def _shown(value: object) -> str:
  if isinstance(value, Shown):
    return value
  if isinstance(value, os.PathLike):
    value = os.fspath(value)
  return (
    json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)
  )
