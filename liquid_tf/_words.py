"""Words of messages about arguments: Python's own, or those of a command."""

import contextlib
import json
import os
from collections.abc import Callable, Iterator, Sequence


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
  return f"{said(name)} ({shown(value)})"


def setting(name: str, value: object) -> str:
  """Says what to give, as 'existing="resume"'."""
  return said(f"{name}={shown(value)}")


def shown(value: object) -> str:
  """A value as messages show it: a text in double quotes."""
  if isinstance(value, Shown):
    return value
  if isinstance(value, os.PathLike):
    value = os.fspath(value)
  return (
    json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)
  )


def few(names: Sequence[str], most: int = 3) -> str:
  """The first names of several."""
  more = f" and {len(names) - most} more" if len(names) > most else ""
  return ", ".join(names[:most]) + more
