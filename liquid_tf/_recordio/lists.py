"""MXNet's `.lst` files: which image has which labels (docs/formats/recordio.md)."""

import os
import re
from collections.abc import Iterable
from typing import NamedTuple

from liquid_tf._native import ops
from liquid_tf._store import schemes, text_file
from liquid_tf._store.files import write_file
from liquid_tf.errors import RecordIOError

_INDEX = re.compile(r"[+-]?[0-9]+")
_LABEL = re.compile(
  r"[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|nan|inf|infinity)", re.IGNORECASE
)


class ListEntry(NamedTuple):
  """A line of a list.

  Attributes:
    index: the record's key and id.
    labels: at least one.
    path: of the image, relative to a folder that the list does not name.
  """

  index: int
  labels: tuple[float, ...]
  path: str


def read_list(path: str | os.PathLike) -> list[ListEntry]:
  """Reads a `.lst` file of any file system.

  Windows' byte order mark and ends of lines are no part of it.

  Raises:
    RecordIOError: it cannot be read, or a line is not `index<TAB>label(s)<TAB>path`.
    ImportError: nothing that is installed has the path's file system.
  """
  path = os.fspath(path)
  name = schemes.shown(path)
  schemes.require(path)
  try:
    text = text_file.read(path, any_bytes=True)
  except OSError as error:
    reason = ops.reason(error, name)
    raise RecordIOError(f"cannot read the list {name}: {reason}") from error
  except ValueError as error:
    raise RecordIOError(f"{name} {error}") from error
  entries = []
  for number, line in enumerate(text.split("\n"), start=1):
    if not line.strip():
      continue
    try:
      index, *labels, image = (field.strip() for field in line.split("\t"))
      # Python's own idea of a number has more, such as 1_000.
      numbers = _INDEX.fullmatch(index) and all(map(_LABEL.fullmatch, labels))
      if not (labels and image and numbers):
        raise ValueError
      entries.append(ListEntry(int(index), tuple(map(float, labels)), image))
    except ValueError:
      raise RecordIOError(
        f"{name}, line {number} ({line[:40]!r}) must be an integer, at least one "
        "number and a path, with tabs between them"
      ) from None
  return entries


def write_list(path: str | os.PathLike, entries: Iterable[ListEntry]) -> None:
  """Writes a local `.lst` file, whole or not at all.

  Raises:
    ValueError: an entry has no label, or a path that no line can hold.
    OSError: it cannot be written.
  """
  lines = []
  for entry in entries:
    if not entry.labels or not entry.path or set(entry.path) & set("\t\n\r"):
      raise ValueError(
        f"{entry} must have a label, and a path without tabs and line feeds"
      )
    # The shortest text that gives the same number again.
    labels = "".join(f"{float(label)!r}\t" for label in entry.labels)
    lines.append(f"{int(entry.index)}\t{labels}{entry.path}\n")
  data = "".join(lines).encode(errors="surrogateescape")
  write_file(os.path.abspath(os.fspath(path)), data)
