"""The output folder of an export: whole under its name, or not there.

All is written to a folder beside it, which then takes its name. A hidden file says that
a folder was made so, and may be replaced; nothing else is ever removed.
"""

import contextlib
import json
import os
import shutil
from collections.abc import Iterator
from typing import Any

from liquid_tf._convert.errors import ConvertError
from liquid_tf._convert.output import locked
from liquid_tf._files import TEMPORARY, sync_directory, write_file

MARKER = ".liquid_export.json"


def _is_ours(folder: str) -> bool:
  names = os.listdir(folder)
  # A kill may leave the mark half-written, and then nothing else.
  return MARKER in names or set(names) <= {MARKER + TEMPORARY}


def _check(output: str, overwrite: bool) -> None:
  if not os.path.lexists(output):
    return
  if not os.path.isdir(output) or not _is_ours(output):
    raise ConvertError(
      f'output ("{output}") must not exist, be empty or be an earlier export: choose '
      "another folder"
    )
  if os.listdir(output) and not overwrite:
    raise ConvertError(
      f'output ("{output}") already holds an export: overwrite=True (--overwrite) '
      "replaces it"
    )


def _clear(folder: str) -> None:
  """Removes what an export left; the mark of it last, so that a kill leaves that."""
  for entry in os.scandir(folder):
    if entry.name != MARKER:
      if entry.is_dir(follow_symlinks=False):
        shutil.rmtree(entry.path)
      else:
        os.unlink(entry.path)
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
  work, old = output + TEMPORARY, output + ".old" + TEMPORARY
  os.makedirs(work, exist_ok=True)
  with locked(work):
    for folder in (work, old):
      if os.path.lexists(folder) and not (os.path.isdir(folder) and _is_ours(folder)):
        raise ConvertError(f"{folder} is in the way: move it elsewhere")
    # What a killed export left.
    _clear(work)
    _remove(old)
    write_file(os.path.join(work, MARKER), (json.dumps(about) + "\n").encode())
    try:
      yield work
      # One sync for what may be a million files.
      os.sync()
      if os.path.isdir(output):
        os.rename(output, old)
      os.rename(work, output)
      sync_directory(os.path.dirname(output))
    except BaseException:
      _remove(work)
      raise
    _remove(old)
