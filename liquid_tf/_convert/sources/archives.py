"""Archives of image files, each read as the folder that it is of.

Modules per kind list the members of an archive (`zips`, `tars`). Nothing is unpacked:
members are read where they lie.
"""

import array
import bisect
import os
import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from liquid_tf._convert.graph import by_python
from liquid_tf._convert.sources import folders, image_files
from liquid_tf._convert.sources.annotations import image_folder
from liquid_tf._convert.sources.annotations.annotated import join
from liquid_tf._convert.sources.annotations.annotations import Annotations
from liquid_tf._convert.sources.file_table import FileTable
from liquid_tf._convert.sources.left_out import LeftOut, mend_or_skip, most_telling
from liquid_tf._convert.sources.samples import (
  DEFAULT_SPLIT,
  SPLITS,
  PassedSource,
  SampleError,
  SampleSource,
  SourceFile,
  name_files,
  splits_of_files,
  stat_files,
)
from liquid_tf._convert.sources.walk import part_passed_over
from liquid_tf._native import ops
from liquid_tf._store import storage
from liquid_tf.errors import ConvertError

_DRIVE = re.compile("[A-Za-z]:")


class Place(NamedTuple):
  """Where a member is.

  Attributes:
    offset: in the archive, of the first byte to read.
    length: bytes to read there.
    size: bytes of the file.
    stored: bytes of the file as the archive has it.
    method: by which it is compressed, as its kind of archive counts; 0: it is not.
    crc: CRC-32 of the file, where the archive tells.
  """

  offset: int
  length: int
  size: int
  stored: int
  method: int = 0
  crc: int = 0


class Member(NamedTuple):
  """A file or a folder in an archive.

  Attributes:
    name: as the archive has it; a folder's ends in "/".
    place: where the file is.
    problem: why it cannot be read, or "".
    contents: the file, where it was read while it was listed; or None.
  """

  name: str
  place: Place
  problem: str = ""
  contents: bytes | None = None


class Rest(NamedTuple):
  """Bytes behind the end of an archive, from the first on that is not zero.

  Attributes:
    size: how many.
  """

  size: int


class Members:
  """The files of some archives.

  Attributes:
    files: their paths in the archives, sizes, and times of change of these.
    places: shape [files, 7], int64: position of the archive, and a `Place`.
    folders: paths of folders, and the position of the archive of each.
    skipped: what cannot be read.
    notes: sentences on what is not looked at.
  """

  def __init__(self):
    self.files = FileTable()
    self.folders: set[tuple[int, bytes]] = set()
    self.skipped: list[LeftOut] = []
    self.notes: list[str] = []
    self._places = array.array("q")

  @property
  def places(self) -> np.ndarray:
    return np.frombuffer(self._places, np.int64).reshape(-1, 7)

  def add(self, archive: int, file: SourceFile, member: Member) -> bytes | None:
    """Adds a member of an archive; returns its path, if it is a file that is read."""
    is_folder = member.name.endswith("/")
    path, problem = _path_of(member.name)
    hidden = part_passed_over(path + "/" if is_folder else path)
    found = os.fsencode(path)
    if hidden is not None and not problem:
      self._skip(LeftOut(f"{file.path}/{hidden.path}", hidden.reason))
    elif problem := problem or member.problem:
      is_lost = image_files.is_named_so(found)
      self._skip(LeftOut(f"{file.path}/{member.name}", problem, int(is_lost)))
    elif is_folder:
      self.folders.update({(archive, found)} if found else ())
    else:
      self.files.add(found, member.place.size, file.mtime_ns)
      self._places.extend((archive, *member.place))
      return found
    return None

  def _skip(self, one: LeftOut) -> None:
    if not self.skipped or self.skipped[-1] != one:
      self.skipped.append(one)


def _path_of(name: str) -> tuple[str, str]:
  """The path of a member's name; and why it is none, or ""."""
  parts = [part for part in name.split("/") if part not in ("", ".")]
  path = "/".join(parts)
  if ".." in parts or name.startswith("/") or _DRIVE.match(name):
    return path, "has a name that leads out of its archive: pack it anew"
  # "./" is the folder itself.
  return path, "" if parts or name.endswith("/") else "has no name"


def find_members(
  paths: Sequence[str],
  files: Sequence[SourceFile],
  members: Callable[[str], Iterator[Member | Rest]],
  skips: bool,
  step: Callable[[], None],
  see: Callable[[int, bytes, Member], None] | None = None,
) -> Members:
  """Lists all members of archives.

  Args:
    paths: of the archives, or URLs.
    files: the same, as messages name them.
    members: yields what is in an archive; see `zips.members`.
    skips: whether archives that are damaged are passed over from there on; else they
      are an error. Their lost samples are counted as if of the size of those that are
      found.
    step: is called for each file.
    see: is called with the archive's position, the path and the member of each file.

  Raises:
    ConvertError: an archive is damaged, or cannot be read.
  """
  result = Members()
  lost: list[tuple[str, str, int]] = []
  for number, (path, file) in enumerate(zip(paths, files)):
    begin = len(result.files)
    try:
      for member in members(path):
        if isinstance(member, Rest):
          result.notes.append(
            f"{member.size:,} bytes follow the end of the archive {file.path}: nothing "
            "there is read; archives that were joined are to be given one by one"
          )
          continue
        added = result.add(number, file, member)
        if added is not None:
          step()
          if see is not None:
            see(number, added, member)
    except SampleError as error:
      if not skips:
        raise ConvertError(f"{file.path} {error}; {mend_or_skip()}") from error
      known = int(result.places[begin:, 2].sum())
      lost.append((file.path, str(error), file.size - known))
    except OSError as error:
      raise ConvertError(f"cannot read {ops.reason(error)}") from error
  lengths = result.places[:, 2]
  for path, reason, size in lost:
    count = round(size / lengths.mean()) if len(lengths) else 1
    result.skipped.append(LeftOut(path, reason, max(1, count)))
  return result


class _Tree:
  """Members as one folder, which `list_folder` lists.

  Args:
    root: what errors call the folder.
    members: the files.
    place_of: what stands before the paths of each archive's files, and what goes.
    read: reads the first bytes of a member; see `zips.read`.
    paths: of the archives.
    files: the same, as messages name them.

  Attributes:
    skipped: what cannot be listed.
    numbers: shape [files], positions in the members, in the order of paths.
  """

  def __init__(
    self,
    root: str,
    members: Members,
    place_of: Sequence[tuple[bytes, bytes]],
    read: Callable[[str, Place, int | None], bytes],
    paths: Sequence[str],
    files: Sequence[SourceFile],
  ):
    self.skipped = list(members.skipped)
    self._root, self._read, self._paths = root, read, paths
    self._members, self._place_of, self._shown = members, place_of, files
    self._archives = members.places[:, 0].tolist()
    order = sorted(range(len(members.files)), key=self._path)
    self.numbers = []
    self._below: dict[bytes, set[bytes]] = {}
    last = None
    for number in order:
      path = self._path(number)
      if path == last:
        shown = f"{files[self._archives[number]].path}/{members.files[number].path}"
        reason = "is there twice: remove one, or give it another name"
        self.skipped.append(LeftOut(shown, reason, int(image_files.is_named_so(path))))
        continue
      last = path
      self.numbers.append(number)
      self._add_folders(path.split(b"/")[:-1])
    for archive, path in members.folders:
      self._add_folders(_moved(path + b"/", *place_of[archive]).split(b"/")[:-1])

  def _path(self, number: int) -> bytes:
    moved = self._place_of[self._archives[number]]
    return _moved(self._members.files.path(number), *moved)

  def _add_folders(self, parts: list[bytes]) -> None:
    # Splits and classes are all that is looked for.
    for depth, part in enumerate(parts[:2]):
      self._below.setdefault(b"/".join(parts[:depth]), set()).add(part)

  def directly_in(self, folders: Sequence[str]) -> dict[str, tuple[int, bytes]]:
    """The files right in some folders: position and path by the names of messages."""
    wanted = set(map(os.fsencode, folders))
    result = {}
    for number, archive in enumerate(self._archives):
      path = self._path(number)
      if path.rpartition(b"/")[0] in wanted:
        shown = f"{self._shown[archive].path}/{self._members.files[number].path}"
        result[shown] = number, path
    return result

  def contents(self, number: int) -> bytes:
    """Reads the file at a position among the members.

    Raises:
      SampleError: it is damaged.
      OSError: its archive cannot be read.
    """
    archive, *place = self._members.places[number].tolist()
    return self._read(self._paths[archive], Place(*place), None)

  def folders(self, folder: bytes) -> Iterator[tuple[bytes, bool]]:
    """Yields the name of every folder in a folder, and True."""
    below = folder.removeprefix(os.fsencode(self._root))
    for name in self._below.get(below.strip(b"/"), ()):
      yield name, True

  def files(self) -> Iterator[tuple[bytes, int, int]]:
    """Yields path, size and time of change of each file, in the order of paths."""
    for number in self.numbers:
      file = self._members.files[number]
      yield self._path(number), file.size, file.mtime_ns

  def head(self, path: bytes) -> bytes:
    """The first bytes of a file, or an OSError."""
    found = bisect.bisect_left(self.numbers, path, key=self._path)
    archive, *place = self._members.places[self.numbers[found]].tolist()
    try:
      return self._read(self._paths[archive], Place(*place), image_files.HEAD)
    except SampleError as error:
      raise OSError(str(error)) from error


def _moved(path: bytes, before: bytes, without: bytes) -> bytes:
  return before + path.removeprefix(without)


def _tops(members: Members) -> dict[int, set[bytes]]:
  """The top folders of the images of each archive; b"" for images in none."""
  result: dict[int, set[bytes]] = {}
  every = range(len(members.files))
  archives = members.places[:, 0].tolist()
  images = [n for n in every if image_files.is_named_so(members.files.path(n))]
  for number in images or every:
    top, slash, _ = members.files.path(number).partition(b"/")
    result.setdefault(archives[number], set()).add(top if slash else b"")
  return result


def _places_of(paths: Sequence[str], members: Members) -> list[tuple[bytes, bytes]]:
  """Finds what comes before the paths of each archive's files, and what goes.

  Splits are told by folders, or else by the names of the archives. The folder that is
  around everything goes, unless it is a split.
  """
  tops = _tops(members)
  every = set().union(*tops.values())
  if every <= {name.encode() for name in SPLITS}:
    return [(b"", b"")] * len(paths)
  splits, split_of = splits_of_files(paths)
  around: dict[int, set[bytes]] = {}
  for archive, found in tops.items():
    around.setdefault(split_of[archive], set()).update(found)
  result = []
  for split in split_of:
    found = around.get(split, set())
    is_one = len(found) == 1 and b"" not in found
    without = next(iter(found)) + b"/" if is_one else b""
    is_named = splits != [DEFAULT_SPLIT]
    result.append((f"{splits[split]}/".encode() if is_named else b"", without))
  return result


class ArchiveSource(PassedSource):
  """Samples of a folder that lies in archives.

  Args:
    folder: as it is in the archives.
    paths: of the archives, or URLs.
    files: the same, as messages name them.
    members: all files in them.
    numbers: shape [samples], positions in the members.
    read: reads a member; see `zips.read`.
  """

  def __init__(
    self,
    folder: folders.FolderSource,
    paths: Sequence[str],
    files: Sequence[SourceFile],
    members: Members,
    numbers: np.ndarray,
    read: Callable[[str, Place, int | None], bytes],
  ):
    super().__init__(folder)
    self.is_remote = any(map(storage.is_remote, paths))
    self._paths, self._archives, self._read = paths, files, read
    self._labels, self._places = folder.labels, members.places[numbers]
    self._members, self._numbers = members.files, numbers

  def path(self, position: int) -> str:
    archive = self._archives[self._places[position, 0]].path
    return f"{archive}/{self._members[self._numbers[position]].path}"

  def columns(self, positions: Sequence[int], targets: Sequence[str] | None) -> tuple:
    del targets
    positions = np.asarray(positions, np.int64)
    return positions, self._labels[positions].astype(np.float32)

  def load(self, position: tf.Tensor, label: tf.Tensor) -> dict[str, tf.Tensor]:
    image, error = by_python(self._image, [position], tf.string, tf.string)
    return {
      "image": image,
      "labels": tf.zeros([0]) if self.classes is None else label[tf.newaxis],
      "example": tf.constant(b""),
      "crc32c": ops.lib().liquid_crc32c(image, 0),
      "error": error,
    }

  def _image(self, position: int) -> tuple[bytes, bytes]:
    archive, *place = self._places[position].tolist()
    try:
      image = self._read(self._paths[archive], Place(*place), None)
      return image, b"" if image else folders.EMPTY.encode()
    except (SampleError, OSError) as error:
      return b"", str(error).encode(errors="replace")


def list_archives(
  paths: Sequence[str],
  members: Callable[[str], Iterator[Member | Rest]],
  read: Callable[[str, Place, int | None], bytes],
  annotated: bool,
  skips: bool,
  step: Callable[[], None],
) -> SampleSource:
  """Lists archives of class folders, or of images, as `list_folder` lists a folder.

  Several archives are one folder. Their names tell the splits, where folders do not.

  Args:
    paths: of the archives, or URLs.
    members: yields what is in an archive; see `zips.members`.
    read: reads a file in one; see `zips.read`.
    annotated: whether something else says what images show.
    skips: whether damage is passed over, and reported.
    step: is called for each file.

  Raises:
    ConvertError: nothing can be read, or the layout is ambiguous.
  """
  _, files = stat_files(paths)
  found = find_members(paths, files, members, skips, step)
  return as_folder(paths, files, found, read, annotated, paths)


def as_folder(
  paths: Sequence[str],
  files: Sequence[SourceFile],
  members: Members,
  read: Callable[[str, Place, int | None], bytes],
  annotated: bool,
  named: Sequence[str],
) -> SampleSource:
  """Members of archives as a folder; see `list_archives`.

  Tables of Hugging Face's imagefolder count as in a folder, unless it is annotated.

  Args:
    paths: where the archives are read.
    files: the same, as messages name them.
    members: all files in them.
    read: reads a file in one.
    annotated: whether something else says what images show.
    named: paths of the archives that the user gave.
  """
  root = name_files(named)
  if not len(members.files):
    raise ConvertError(f"{root} holds no files{most_telling(members.skipped)}")
  tree = _Tree(root, members, _places_of(named, members), read, paths, files)
  notes: list[str] = []
  tables: dict[str, tuple[int, bytes]] = {}
  told: list[Annotations] = []
  if not annotated:
    tables = tree.directly_in(("", *folders.split_names(root, tree)))
    found = image_folder.find_among(root, tables)
    tables = {one.path: tables[one.path] for one in found}

    def contents(one: image_folder.Beside) -> bytes:
      return _table(tree, tables[one.path][0], one.path)

    told = image_folder.read(root, found, notes, contents)
  folder = folders.list_folder(root, annotated=annotated or bool(told), tree=tree)
  numbers, position = [], 0
  paths_of = (path for path, _, _ in tree.files())
  for number, path in zip(tree.numbers, paths_of):
    if position < len(folder) and path == folder.files.path(position):
      numbers.append(number)
      position += 1
  numbers = np.array(numbers, np.int64)
  folder.notes += members.notes
  source = ArchiveSource(folder, paths, files, members, numbers, read)
  if told:
    used = {*tables, *(os.fsdecode(path) for _, path in tables.values())}
    source.skipped = [one for one in source.skipped if one.path not in used]
    source = join(source, told)
  source.notes += notes
  return source


def _table(tree: _Tree, number: int, shown: str) -> bytes:
  try:
    return tree.contents(number)
  except (SampleError, OSError) as error:
    raise ConvertError(f"cannot read {shown}: {error}") from error
