"""Tar archives: where their members are. Each lies behind its header, as it is.

Headers are read one after another, and with them the files that tell of images.
"""

import io
import tarfile
from collections.abc import Iterator

from liquid_tf._convert.sources import reading
from liquid_tf._convert.sources.archives import Member, Place, Rest
from liquid_tf._convert.sources.samples import SampleError, read_range

# Files that tell of an image beside them, and bytes that one may have.
TELLING = (".cls", ".txt", ".json", ".npy")
_MOST_TOLD = 16 << 20
# Bytes that are looked through at once.
_CHUNK = 1 << 20
# Bytes of a header and what belongs to it, as a long name.
_MOST_HEADER = 1 << 20
_LINK = "is a link: pack the file that it leads to"


class _Headers(io.RawIOBase):
  """An archive of which no more than a header is read at once."""

  def __init__(self, file: io.BufferedIOBase):
    self._file = file

  def read(self, size: int = -1) -> bytes:
    if not 0 <= size <= _MOST_HEADER:
      raise tarfile.ReadError(f"a header claims {size} bytes")
    return self._file.read(size)

  def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
    return self._file.seek(offset, whence)

  def tell(self) -> int:
    return self._file.tell()


def members(path: str) -> Iterator[Member | Rest]:
  """Yields what is in an archive, in its order; files of TELLING with their contents.

  At the end, what lies behind it, if that is more than zeros, as of archives that were
  joined.

  Raises:
    SampleError: it is damaged from some offset on, or no tar archive.
    OSError: the file cannot be read.
  """
  with reading.opened(path) as file:
    size = file.seek(0, io.SEEK_END)
    file.seek(0)
    offset = 0
    try:
      with tarfile.open(fileobj=_Headers(file), mode="r:") as archive:
        while (info := archive.next()) is not None:
          # It would keep all.
          archive.members.clear()
          # Of one with holes, the size is not that which it takes.
          is_plain = info.isreg() and info.sparse is None
          end = info.offset_data + (info.size if is_plain else 0)
          if (
            not offset <= info.offset < archive.offset or not info.offset < end <= size
          ):
            raise tarfile.ReadError("a header is wrong, or the end is missing")
          offset = archive.offset
          yield _member(info, file)
        offset = archive.offset
        file.seek(offset)
        block = file.read(tarfile.BLOCKSIZE)
      if len(block) < tarfile.BLOCKSIZE or any(block):
        raise tarfile.ReadError("a header is wrong, or the end is missing")
      yield from _rest(file)
    except (tarfile.TarError, ValueError, OverflowError, RecursionError) as error:
      raise SampleError(
        f"is damaged or cut off at offset {offset}, as are all that follow there "
        f"({error})"
      ) from error


def _rest(file: io.BufferedIOBase) -> Iterator[Rest]:
  """Yields what follows but zeros, which fill an archive up."""
  while chunk := file.read(_CHUNK):
    behind = len(chunk.lstrip(b"\0"))
    if behind:
      begin = file.tell() - behind
      yield Rest(file.seek(0, io.SEEK_END) - begin)
      return


def _member(info: tarfile.TarInfo, file: io.BufferedIOBase) -> Member:
  place = Place(info.offset_data, info.size, info.size, info.size)
  if info.isdir():
    return Member(info.name + "/", place)
  if info.issym() or info.islnk():
    return Member(info.name, place, _LINK)
  if info.sparse is not None:
    return Member(info.name, place, "is stored with holes (sparse): pack it without")
  if not info.isreg():
    return Member(info.name, place, "is no file")
  if info.name.lower().endswith(TELLING) and info.size <= _MOST_TOLD:
    file.seek(info.offset_data)
    return Member(info.name, place, contents=file.read(info.size))
  return Member(info.name, place)


def read(path: str, place: Place, most: int | None = None) -> bytes:
  """Reads a file in an archive, as `zips.read`. Thread-safe."""
  size = place.size if most is None else min(most, place.size)
  return read_range(path, place.offset, size)
