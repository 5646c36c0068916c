"""Text files as people and their systems write them."""

import codecs
import contextlib
from collections.abc import Iterator

from liquid_tf._native import ops
from liquid_tf._store import storage
from liquid_tf.errors import ConvertError

# Windows marks a file's encoding by what it begins with.
_MARKS = (
  (codecs.BOM_UTF8, "utf-8"),
  (codecs.BOM_UTF16_LE, "utf-16-le"),
  (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def decode(contents: bytes, *, any_bytes: bool = False) -> str:
  r"""Decodes the contents of a text file.

  A byte order mark is taken off; UTF-16 is read where one names it. "\r\n" and "\r",
  with which Windows and old systems end lines, become "\n".

  Args:
    contents: of the file.
    any_bytes: whether bytes that are no UTF-8 become Python's surrogate escapes, as
      in paths, whose encoding the file does not say.

  Raises:
    ValueError: the contents are no text; says at which byte.
  """
  mark, encoding = next(
    (pair for pair in _MARKS if contents.startswith(pair[0])), (b"", "utf-8")
  )
  errors = "surrogateescape" if any_bytes and encoding == "utf-8" else "strict"
  try:
    text = contents[len(mark) :].decode(encoding, errors)
  except UnicodeDecodeError as error:
    raise ValueError(
      f"is no text in {encoding.upper()}: {error.reason} at byte "
      f"{error.start + len(mark)}; save it as UTF-8"
    ) from error
  return text.replace("\r\n", "\n").replace("\r", "\n")


@contextlib.contextmanager
def explained(path: str) -> Iterator[None]:
  """Turns what is wrong with a user's file into a sentence.

  Raises:
    ConvertError: it cannot be read, or a ValueError says what it must be.
  """
  try:
    yield
  except OSError as error:
    raise ConvertError(f"cannot read {ops.reason(error)}") from error
  except ValueError as error:
    raise ConvertError(f"{path} {error}") from error


def read(path: str, *, any_bytes: bool = False) -> str:
  """Reads a text file at a path or URL, as `decode` does.

  Raises:
    OSError: it cannot be read.
    ValueError: it is no text.
  """
  return decode(storage.read_file(path), any_bytes=any_bytes)


def lines(text: str) -> Iterator[tuple[int, str]]:
  """Yields the number, from 1 on, and the text of each line that is not blank.

  Blanks around a line are taken off. Only "\\n" ends one, so a form feed or another
  separator of Unicode in a name stays in it.
  """
  for number, line in enumerate(text.split("\n"), start=1):
    if line := line.strip():
      yield number, line


def names(text: str) -> list[str]:
  """The names of a list that has one a line, each numbered by its line from 0 on.

  Blank lines may end the list, but none may stand in it: whether it counts, no reader
  can tell.

  Raises:
    ValueError: a blank line stands before a name; says which.
  """
  found = list(lines(text))
  for place, (number, name) in enumerate(found, start=1):
    if number != place:
      raise ValueError(
        f"has a blank line {place} before {name!r}, so that the numbers of names after "
        "it are doubtful: remove the line, or write the name that it lacks"
      )
  return [name for _, name in found]


def read_names(path: str) -> list[str]:
  """Reads a list of names, as `names` does.

  Raises:
    ConvertError: it cannot be read, or is none.
  """
  with explained(path):
    return names(read(path))
