"""The output folder: what may be in it when writing begins, and how it is replaced.

The journal is the first file that appears in a folder, and goes when the manifest is
there. So a folder with neither was never ours, and nothing in it is touched.

What is there already is replaced by a folder beside it, which is made whole and then
exchanged with it in one step. From then until all is cleared up the output holds both
manifest and journal. So finding both means that the folder beside it is the old one; at
all other times it is a replacement that was begun.
"""

import contextlib
import dataclasses
import errno
import fcntl
import os
from collections.abc import Iterable, Iterator

from liquid_tf._store import versions
from liquid_tf._store.files import TEMPORARY, exchange, remove, sync_directory
from liquid_tf._store.manifest import JOURNAL, PROBLEMS
from liquid_tf._words import argument, setting
from liquid_tf.errors import ConvertError

# Files that are exchanged to see whether folders can be.
_PROBES = ("exchange-0" + TEMPORARY, "exchange-1" + TEMPORARY)


def is_ours(name: str) -> bool:
  """Whether a file of this name may be a dataset's, or a conversion's."""
  return (
    name.startswith(JOURNAL)
    or name == PROBLEMS
    or name.endswith(TEMPORARY)
    or versions.is_file(name)
  )


def beside(output: str) -> str:
  """The folder in which the replacement of an output is made.

  Beside the folder itself where `output` is a link, for the sake of the file system.
  """
  return f"{os.path.realpath(output)}.new{TEMPORARY}"


def mark(folder: str) -> None:
  """Makes a folder ours, by an empty journal if it has none."""
  with open(os.path.join(folder, JOURNAL), "ab"):
    pass
  sync_directory(folder)


def is_begun(output: str) -> bool:
  """Whether something was begun for an output that `resume` would go on with."""
  work = beside(output)
  return os.path.lexists(os.path.join(output, JOURNAL)) or (
    os.path.isdir(work) and bool(os.listdir(work))
  )


@dataclasses.dataclass(frozen=True)
class Output:
  """An output that is locked and may be written.

  Attributes:
    path: the output, links resolved.
    folder: where to write: `path`, or the folder beside it.
    is_finished: whether `path` holds the finished dataset, and nothing is to be done.
  """

  path: str
  folder: str
  is_finished: bool = False

  @property
  def replaces(self) -> bool:
    """Whether what is written replaces something."""
    return self.folder != self.path

  def publish(self) -> None:
    """Gives what was written, manifest and all, its name; removes what it replaces.

    Raises:
      ConvertError: something that is not ours was put into the output meanwhile.
      OSError: the folders cannot be exchanged, or the old one not removed.
    """
    if self.replaces:
      _check_ours(self.path)
      exchange(self.folder, self.path)
      sync_directory(os.path.dirname(self.path))
    settle(self.path)

  def discard(self) -> None:
    """Removes what was written."""
    for folder in {self.folder, self.path}:
      _remove(folder)


def _check_ours(path: str) -> list[str]:
  """The names in an output; raises ConvertError if one must not be touched."""
  names = os.listdir(path)
  foreign = sorted(name for name in names if not is_ours(name))
  if names and (foreign or not (JOURNAL in names or _has_manifest(names))):
    raise ConvertError(
      f"{argument('output', path)} must not exist, be empty or be a dataset, but "
      f"holds {(foreign or sorted(names))[0]}: choose another folder"
    )
  return names


def _has_manifest(names: Iterable[str]) -> bool:
  return any(versions.of_manifest(name) is not None for name in names)


def _clear(folder: str) -> None:
  """Removes a dataset, its manifests first, so that no part of it is ever a dataset."""
  mark(folder)
  names = [name for name in os.listdir(folder) if not name.startswith(JOURNAL)]
  # The newest last, which opens until then.
  for version in sorted(filter(None, map(versions.of_manifest, names))):
    os.unlink(os.path.join(folder, versions.manifest_file(version)))
    sync_directory(folder)
  for name in names:
    if versions.of_manifest(name) is None:
      remove(os.path.join(folder, name))
  _remove_journal(folder)


def _remove(folder: str) -> None:
  """Removes a folder that is ours."""
  _clear(folder)
  os.rmdir(folder)


def _remove_journal(folder: str) -> None:
  """Removes the journal itself last: the database after what belongs to it."""
  names = [name for name in os.listdir(folder) if name.startswith(JOURNAL)]
  for name in sorted(names, reverse=True):
    remove(os.path.join(folder, name))
  sync_directory(folder)


def settle(path: str) -> None:
  """Ends the writing of an output that has its manifest."""
  work = beside(path)
  if os.path.lexists(work):
    _check_work(work, os.listdir(work))
    _remove(work)
  _remove_journal(path)


def _check_work(work: str, names: list[str]) -> None:
  """Raises ConvertError unless a folder beside an output was made for it."""
  foreign = sorted(name for name in names if not is_ours(name))
  if foreign or os.path.islink(work):
    what = f", and holds {foreign[0]}" if foreign else ""
    raise ConvertError(f"{work} is in the way{what}: move it elsewhere")


def _begun(work: str) -> bool:
  """Whether a replacement was begun in the folder beside an output.

  Raises:
    ConvertError: it is something else.
  """
  if not os.path.lexists(work):
    return False
  names = os.listdir(work) if os.path.isdir(work) else [os.path.basename(work)]
  _check_work(work, names)
  if not names:
    os.rmdir(work)
  elif JOURNAL not in names:
    raise ConvertError(
      f"{work} is in the way, and holds {min(names)}: move it elsewhere"
    )
  return bool(names)


def check_exchange(output: str, work: str) -> None:
  """Raises ConvertError unless two folders can be exchanged, as trials say.

  Args:
    output: an existing folder.
    work: the folder beside it.
  """
  paths = [os.path.join(work, name) for name in _PROBES]
  for path in paths:
    open(path, "wb").close()
  try:
    problem = _why_fixed(output, work)
    if problem is None:
      exchange(*paths)
  except OSError as error:
    if error.errno not in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP):
      raise
    problem = "its file system cannot exchange two folders in one step"
  finally:
    for path in paths:
      os.unlink(path)
  if problem is not None:
    raise ConvertError(
      f"{argument('output', output)} cannot be replaced: {problem}; remove it "
      "yourself before you do this again, or choose another output"
    )


def _why_fixed(output: str, work: str) -> str | None:
  """Why a folder cannot be renamed; None where it can.

  Args:
    output: the folder.
    work: a folder beside it, which holds something.

  Raises:
    OSError: the file system does not say.
  """
  try:
    # No folder takes the place of one that holds something, so nothing is ever moved;
    # but what keeps `output` where it is comes first.
    os.rename(output, work)
  except OSError as error:
    if error.errno == errno.EBUSY:
      return "something is mounted there"
    if error.errno == errno.EXDEV:
      return (
        "it is of a container's image, a lower layer of an overlay file system, whose "
        "folders cannot be renamed"
      )
    if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
      raise
  return None


def _replacement(path: str, apart: bool) -> Output:
  work = beside(path)
  os.mkdir(work)
  mark(work)
  if not apart:
    try:
      check_exchange(path, work)
    except BaseException:
      _remove(work)
      raise
  return Output(path, work)


def _prepare(path: str, resume: bool, overwrite: bool, apart: bool) -> Output:
  names, work = _check_ours(path), beside(path)
  if JOURNAL in names and _has_manifest(names):
    # Killed after the last step that counts.
    settle(path)
    names = os.listdir(path)
  begun = _begun(work)
  if overwrite:
    if begun:
      _remove(work)
    return _replacement(path, apart) if names or apart else Output(path, path)
  if begun and resume:
    return Output(path, work)
  if begun:
    raise ConvertError(
      f"{argument('output', path)} has an unfinished replacement, {work}: "
      f"{setting('existing', 'resume')} finishes it, "
      f"{setting('existing', 'replace')} starts over"
    )
  finished = _has_manifest(names)
  if names and not resume:
    state = "already holds a dataset" if finished else "holds an unfinished conversion"
    advice = "" if finished else f"{setting('existing', 'resume')} finishes it, "
    raise ConvertError(
      f"{argument('output', path)} {state}: {advice}{setting('existing', 'replace')} "
      "replaces it"
    )
  return Output(path, path, finished)


@contextlib.contextmanager
def opened(
  output: str, resume: bool, overwrite: bool, *, apart: bool = False
) -> Iterator[Output]:
  """Makes an output ready to be written, and holds it against a second process.

  Args:
    output: the folder; made if it does not exist.
    resume: whether to go on with what was begun: a replacement, if there is one.
    overwrite: whether to replace a dataset, finished or not.
    apart: with `overwrite`, write beside it even where nothing is to be replaced, and
      never publish.

  Raises:
    ConvertError: it, or the folder beside it, holds something that must not be touched;
      or another process writes it.
    OSError: it cannot be read or written.
  """
  if os.path.lexists(output) and not os.path.isdir(output):
    raise ConvertError(
      f"{argument('output', output)} must not exist, be empty or be a dataset, but "
      "is a file: choose another folder"
    )
  path = os.path.realpath(output)
  os.makedirs(path, exist_ok=True)
  with contextlib.ExitStack() as locks:
    locks.enter_context(locked(path))
    place = _prepare(path, resume, overwrite, apart)
    if place.replaces:
      locks.enter_context(locked(place.folder))
    yield place


def remove_leftovers(output: str, keep: set[str]) -> None:
  """Removes what a killed run left: temporary files, and shards it did not journal."""
  for name in os.listdir(output):
    if name not in keep and not name.startswith(JOURNAL):
      os.unlink(os.path.join(output, name))


@contextlib.contextmanager
def locked(folder: str) -> Iterator[None]:
  """Holds an existing folder against a second process, wherever it is renamed to.

  Raises:
    ConvertError: another process holds it.
  """
  descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
  try:
    try:
      fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
      # Another process may just have exchanged it.
      held = os.path.samestat(os.fstat(descriptor), os.stat(folder))
    except FileNotFoundError:
      held = False
    except OSError as error:
      if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
        raise
      held = False
    if not held:
      raise ConvertError(f"{folder} is being written by another process: wait for it")
    yield
  finally:
    os.close(descriptor)
