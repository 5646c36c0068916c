"""The output folder of an export: whole under its name, or not there.

All is written to a folder beside it, which then takes its name, or is exchanged with
what has it. A hidden file says that a folder was made so, and may be replaced; nothing
else is ever removed.
"""

import contextlib
import json
import os
from collections.abc import Iterator
from typing import Any

from liquid_tf._convert.output import beside, check_exchange, locked
from liquid_tf._store.files import (
  TEMPORARY,
  exchange,
  remove,
  sync_directory,
  write_file,
)
from liquid_tf._words import argument, setting
from liquid_tf.errors import ConvertError

MARKER = ".liquid_export.json"


def _is_ours(folder: str) -> bool:
  names = os.listdir(folder)
  # A kill may leave the mark half-written, and then nothing else.
  return MARKER in names or all(
    name.startswith(MARKER) and name.endswith(TEMPORARY) for name in names
  )


def _check(output: str, overwrite: bool) -> None:
  if not os.path.lexists(output):
    return
  if not os.path.isdir(output) or not _is_ours(output):
    raise ConvertError(
      f"{argument('output', output)} must not exist, be empty or be an earlier "
      "export: choose another folder"
    )
  if os.listdir(output) and not overwrite:
    raise ConvertError(
      f"{argument('output', output)} already holds an export: "
      f"{setting('existing', 'replace')} replaces it"
    )


def _clear(folder: str) -> None:
  """Removes what an export left; the mark of it last, so that a kill leaves that."""
  for entry in os.scandir(folder):
    if entry.name != MARKER:
      remove(entry.path)
  with contextlib.suppress(FileNotFoundError):
    os.unlink(os.path.join(folder, MARKER))


def _remove(folder: str) -> None:
  if os.path.isdir(folder):
    _clear(folder)
    os.rmdir(folder)


@contextlib.contextmanager
def new_folder(output: str, overwrite: bool, about: dict[str, Any]) -> Iterator[str]:
  """Gives a folder to write to, which becomes `output` where the block ends well.

  Args:
    output: an absolute path.
    overwrite: whether an earlier export may be replaced.
    about: what the mark says.

  Raises:
    ConvertError: something else is there, or another process writes it.
    OSError: it cannot be made.
  """
  _check(output, overwrite)
  path, work = os.path.realpath(output), beside(output)
  os.makedirs(work, exist_ok=True)
  with locked(work):
    if os.path.islink(work) or not _is_ours(work):
      raise ConvertError(f"{work} is in the way: move it elsewhere")
    try:
      # What a killed export left, or the one that it replaced.
      _clear(work)
      write_file(os.path.join(work, MARKER), (json.dumps(about) + "\n").encode())
      if os.path.lexists(path):
        check_exchange(path, work)
      yield work
      # One sync for what may be a million files.
      os.sync()
      if os.path.lexists(path):
        _check(path, overwrite)
        exchange(work, path)
      else:
        os.rename(work, path)
      sync_directory(os.path.dirname(path))
    finally:
      _remove(work)
