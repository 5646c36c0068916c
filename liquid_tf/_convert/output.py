"""The output folder: what may be in it when a conversion begins.

The journal is the first file that appears in it and, but for the manifest, the last
that goes. So a folder with neither was never ours, and nothing in it is touched.
"""

import contextlib
import errno
import fcntl
import os
import shutil
from collections.abc import Iterator

from liquid_tf._convert.errors import ConvertError
from liquid_tf._files import TEMPORARY, sync_directory
from liquid_tf.manifest import INDEX, JOURNAL, MANIFEST, PCR_INDEX


def is_ours(name: str) -> bool:
  """Whether a file of this name may be a dataset's, or a conversion's."""
  return (
    name.startswith(JOURNAL)
    or name in (MANIFEST, INDEX, PCR_INDEX)
    or name.endswith((".rec", ".idx", ".pcr", TEMPORARY))
  )


def _clear(output: str, names: list[str]) -> None:
  """Removes a dataset, its manifest first, so that no part of it is ever a dataset."""
  journal = os.path.join(output, JOURNAL)
  # An empty file is an empty database: it marks the folder while it is being cleared.
  with open(journal, "ab"):
    pass
  sync_directory(output)
  names = [name for name in names if not name.startswith(JOURNAL)]
  for name in sorted(names, key=lambda name: (name != MANIFEST, name)):
    os.unlink(os.path.join(output, name))
    if name == MANIFEST:
      sync_directory(output)
  for name in os.listdir(output):
    if name != JOURNAL:
      _remove(os.path.join(output, name))
  os.unlink(journal)


def _remove(path: str) -> None:
  """Removes a file, or the folder of the journal's parts."""
  if os.path.isdir(path):
    shutil.rmtree(path)
  else:
    os.unlink(path)


def prepare(output: str, resume: bool, overwrite: bool) -> bool:
  """Makes an existing folder ready to be written.

  Args:
    output: the folder.
    resume: whether an unfinished conversion may be continued.
    overwrite: whether a dataset, finished or not, may be removed.

  Returns:
    Whether the folder already holds the finished dataset (only with `resume`).

  Raises:
    ConvertError: the folder holds something that must not be touched.
    OSError: it cannot be read or written.
  """
  names = os.listdir(output)
  if not names:
    return False
  finished, started = MANIFEST in names, JOURNAL in names
  foreign = sorted(name for name in names if not is_ours(name))
  if foreign or not (finished or started):
    raise ConvertError(
      f'output ("{output}") must not exist, be empty or be a dataset, but holds '
      f"{(foreign or sorted(names))[0]}: choose another folder"
    )
  if overwrite:
    _clear(output, names)
    return False
  if not resume:
    state = "already holds a dataset" if finished else "holds an unfinished conversion"
    advice = "" if finished else "resume=True (--resume) finishes it, "
    raise ConvertError(
      f'output ("{output}") {state}: {advice}overwrite=True (--overwrite) replaces it'
    )
  if finished and started:
    # Killed between the last two steps.
    for name in names:
      if name.startswith(JOURNAL):
        _remove(os.path.join(output, name))
    sync_directory(output)
  return finished


def remove_leftovers(output: str, keep: set[str]) -> None:
  """Removes what a killed run left: temporary files, and shards it did not journal."""
  for name in os.listdir(output):
    if name not in keep and not name.startswith(JOURNAL):
      os.unlink(os.path.join(output, name))


@contextlib.contextmanager
def locked(output: str) -> Iterator[None]:
  """Holds an existing folder against a second conversion.

  Raises:
    ConvertError: another process holds it.
  """
  descriptor = os.open(output, os.O_RDONLY | os.O_DIRECTORY)
  try:
    try:
      fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
      if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
        raise
      raise ConvertError(
        f'output ("{output}") is being written by another process: wait for it'
      ) from None
    yield
  finally:
    os.close(descriptor)
