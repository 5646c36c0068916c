"""Every file below a folder, one after another, in the order of their paths' bytes."""

import errno
import os
import stat
from collections.abc import Callable, Iterator

from liquid_tf._convert.sources.left_out import LeftOut, mend_or_skip
from liquid_tf.errors import ConvertError

# What a link leads to that leads nowhere.
_NOWHERE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)


# Folders that systems leave, in small letters: none holds what a user has put there.
_SYSTEMS = frozenset(
  (
    b"__macosx",
    b"@eadir",
    b"@recycle",
    b"#recycle",
    b"#snapshot",
    b"$recycle.bin",
    b"lost+found",
    b"system volume information",
  )
)


def passed_over(name: bytes, is_folder: bool) -> str | None:
  """The reason why an entry of a folder is never looked at, or None.

  This is the one rule for images, masks and annotations, on disks and in stores.

  Args:
    name: of the entry, without its folder.
    is_folder: whether it is a folder.
  """
  if name.startswith(b"."):
    return "is hidden"
  if is_folder and name.lower() in _SYSTEMS:
    return "is a folder that the system made"
  return None


def part_passed_over(path: str) -> LeftOut | None:
  """The file or folder for which a path is passed over; or None."""
  parts = path.split("/")
  for count, part in enumerate(parts, start=1):
    reason = passed_over(os.fsencode(part), count < len(parts))
    if reason is not None:
      return LeftOut("/".join(parts[:count]), reason)
  return None


def _is_folder(entry: os.DirEntry) -> bool:
  try:
    return entry.is_dir()
  except OSError:
    return False  # What it is instead, `stat` will say.


def folders(folder: bytes) -> Iterator[tuple[bytes, bool]]:
  """Yields the name of every visible entry of a folder, and whether it is a folder.

  Raises:
    ConvertError: the folder cannot be listed.
  """
  try:
    with os.scandir(folder) as entries:
      for entry in entries:
        is_folder = _is_folder(entry)
        if passed_over(entry.name, is_folder) is None:
          yield entry.name, is_folder
  except OSError as error:
    name = os.fsdecode(folder)
    raise ConvertError(f"cannot list {name}: {error.strerror}") from error


class Walk:
  """Lists the visible files below a folder; follows links, but not in circles.

  Args:
    root: the folder.
    skips: whether what cannot be looked at is passed over, and reported.
    step: is called for each file.

  Attributes:
    skipped: what is passed over.
  """

  def __init__(self, root: str, skips: bool, step: Callable[[], None]):
    self.skipped: list[LeftOut] = []
    self._root = os.fsencode(root)
    self._skips = skips
    self._step = step

  def files(self) -> Iterator[tuple[bytes, int, int]]:
    """Yields path below the root, size and time of change, in ns, of each file.

    Raises:
      ConvertError: something cannot be looked at, and that is an error.
    """
    yield from self._below(b"", os.stat(self._root), ())

  def _below(
    self, below: bytes, info: os.stat_result, parents: tuple[tuple[int, int], ...]
  ) -> Iterator[tuple[bytes, int, int]]:
    place = info.st_dev, info.st_ino
    if place in parents:
      self._skip(below[:-1], "is a link to a folder above it")
      return
    for name in self._names(below):
      path = below + name
      reason = passed_over(name.removesuffix(b"/"), name.endswith(b"/"))
      if reason is not None:
        self._skip(path.removesuffix(b"/"), reason)
        continue
      found = self._stat(path)
      if found is None:
        continue
      if stat.S_ISDIR(found.st_mode):
        yield from self._below(path, found, (*parents, place))
      elif stat.S_ISREG(found.st_mode):
        self._step()
        yield path, found.st_size, found.st_mtime_ns
      else:
        self._skip(path, "is not a file")

  def _names(self, below: bytes) -> list[bytes]:
    """Lists a folder in the order of whole paths: a folder's name ends in "/"."""
    try:
      with os.scandir(self._root + b"/" + below) as entries:
        return sorted(
          entry.name + b"/" if _is_folder(entry) else entry.name for entry in entries
        )
    except OSError as error:
      self._fail(below[:-1], f"cannot be listed: {error.strerror}")
      return []

  def _stat(self, path: bytes) -> os.stat_result | None:
    full = self._root + b"/" + path
    try:
      return os.stat(full)
    except OSError as error:
      nowhere = error.errno in _NOWHERE and os.path.islink(full)
      reason = "is a link that leads nowhere" if nowhere else error.strerror
      self._fail(
        path.removesuffix(b"/"), reason if nowhere else f"cannot be read: {reason}"
      )
      return None

  def _fail(self, path: bytes, reason: str) -> None:
    if not self._skips:
      full = os.fsdecode(self._root + b"/" + path)
      raise ConvertError(f"{full} {reason}; {mend_or_skip()}")
    # The number of files in a folder is not known before.
    self._skip(path, reason, samples=1)

  def _skip(self, path: bytes, reason: str, samples: int = 0) -> None:
    self.skipped.append(LeftOut(os.fsdecode(path), reason, samples))
