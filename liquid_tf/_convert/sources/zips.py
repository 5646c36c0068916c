"""ZIP archives: where their members are, and what these hold.

  local header: "PK\\3\\4", …, uint16 length of the name, uint16 of more | name | more

The directory at the end of the archive says where each local header is; the file lies
behind that, as it is or deflated.
"""

import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence

from liquid_tf._convert.sources import reading
from liquid_tf._convert.sources.archives import (
  Member,
  Place,
  list_archives,
)
from liquid_tf._convert.sources.samples import SampleError, SampleSource, read_range

_LOCAL = struct.Struct("<4s22xHH")
_LOCAL_MAGIC = b"PK\3\4"
_MOST_NAMES = 2 * 0xFFFF  # bytes of name and more
_ENCRYPTED = 1
_DOS, _UNIX = 0, 3
# Bytes of one read of a remote file, from the directory on.
_STRETCH = 1 << 20
# A file that is larger, and so many times as large as what it is inflated from, is no
# image, but made to fill the memory.
_LARGE, _MOST_RATIO = 64 << 20, 100


def members(path: str) -> Iterator[Member]:
  """Yields what is in an archive, in its directory's order.

  Only the directory is read.

  Raises:
    SampleError: it is damaged, or no ZIP archive.
    OSError: the file cannot be read.
  """
  with reading.opened(path, _STRETCH) as file:
    try:
      with zipfile.ZipFile(file) as archive:
        found, end = archive.infolist(), archive.start_dir
    except (zipfile.BadZipFile, NotImplementedError, ValueError, struct.error) as error:
      raise SampleError(
        f"cannot be read as a ZIP archive: its directory is damaged or cut off "
        f"({error})"
      ) from error
  begins = sorted({info.header_offset for info in found} | {end})
  following = dict(zip(begins, begins[1:]))
  taken: set[int] = set()
  for info in found:
    begin = info.header_offset
    room = following.get(begin, begin) - begin
    place = Place(
      begin,
      min(room, _LOCAL.size + _MOST_NAMES + info.compress_size),
      info.file_size,
      info.compress_size,
      info.compress_type,
      info.CRC,
    )
    name = (
      info.filename.replace("\\", "/") if info.create_system == _DOS else info.filename
    )
    problem = "" if name.endswith("/") else _problem(info, room, begin in taken)
    taken.add(begin)
    yield Member(name, place, problem)


def _problem(info: zipfile.ZipInfo, room: int, is_taken: bool) -> str:
  """Why a file cannot be read, by what the directory says of it; or ""."""
  if info.create_system == _UNIX and stat.S_ISLNK(info.external_attr >> 16):
    return "is a link: pack the file that it leads to"
  if info.flag_bits & _ENCRYPTED:
    return "is encrypted: unpack the archive with its password, and give the folder"
  if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
    return (
      f"is compressed by method {info.compress_type}, and only stored and deflated "
      "files are read: unpack the archive, and give the folder"
    )
  if info.header_offset < 0 or is_taken or room < _LOCAL.size + info.compress_size:
    return "is damaged: what the archive's directory says of its place cannot be"
  is_stored = info.compress_type == zipfile.ZIP_STORED
  if is_stored and info.compress_size != info.file_size:
    return "is damaged: the archive's directory has two sizes for it"
  if info.file_size > max(_LARGE, _MOST_RATIO * info.compress_size):
    return (
      f"would grow from {info.compress_size:,} to {info.file_size:,} bytes, as no "
      f"image does: a larger file than {_LARGE:,} bytes may grow {_MOST_RATIO} times"
    )
  return ""


def read(path: str, place: Place, most: int | None = None) -> bytes:
  """Reads a file in an archive. Thread-safe.

  Args:
    path: of the archive.
    place: of the file.
    most: how many of its first bytes; None: all, which are compared with the CRC.

  Raises:
    SampleError: it is damaged.
    OSError: the archive cannot be read.
  """
  length = place.length
  if most is not None:
    length = min(length, _LOCAL.size + _MOST_NAMES + 1024 + most)
  data = memoryview(read_range(path, place.offset, length))
  magic, name, more = _LOCAL.unpack(data[: _LOCAL.size])
  begin = _LOCAL.size + name + more
  if magic != _LOCAL_MAGIC:
    raise SampleError(
      f"the archive's directory says that the file is at offset {place.offset}, and "
      "there is none"
    )
  stored = data[begin : begin + place.stored]
  if most is not None:
    return _inflated(stored, most)[0] if place.method else bytes(stored[:most])
  if len(stored) < place.stored:
    raise SampleError(
      f"the file at offset {place.offset} of the archive is cut off by the next one"
    )
  contents, is_whole = bytes(stored), True
  if place.method:
    contents, is_whole = _inflated(stored, place.size)
  if not is_whole or len(contents) != place.size or zlib.crc32(contents) != place.crc:
    raise SampleError(
      f"the file at offset {place.offset} of the archive is damaged: its size or its "
      "checksum is wrong"
    )
  return contents


def _inflated(stored: memoryview, size: int) -> tuple[bytes, bool]:
  """At most so many inflated bytes, and whether they are all."""
  inflate = zlib.decompressobj(-zlib.MAX_WBITS)
  try:
    # A limit of 0 would be none.
    contents = inflate.decompress(stored, size + 1)
  except zlib.error as error:
    raise SampleError(f"the file cannot be inflated: {error}") from error
  return contents[:size], inflate.eof and len(contents) <= size


def list_zips(
  paths: Sequence[str], annotated: bool, skips: bool, step: Callable[[], None]
) -> SampleSource:
  """Lists ZIP archives of images; see `list_archives`."""
  return list_archives(paths, members, read, annotated, skips, step)
