"""Finds the images of a folder: by their names, or else by their first bytes."""

import itertools
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor

from liquid_tf._convert.sources import reading
from liquid_tf._convert.sources.left_out import LeftOut
from liquid_tf._store import formats, storage

# Images that are read, and those that are not: a photograph that cannot be read is the
# user's to know of, and no file that happens to lie there.
_EXTENSIONS = frozenset(map(os.fsencode, formats.BY_EXTENSION)) | frozenset(
  b".apng .avif .cr2 .dib .dng .eps .exr .gif .hdr .heic .heif .ico .j2k .jfif .jp2 "
  b".jpe .jxl .mpo .nef .arw .pbm .pcx .pgm .pnm .ppm .psd .svg .tga .tif .tiff .xbm "
  b".xpm".split()
)
# What files begin with that Pillow reads, and a PNG whose ends of lines were changed.
_SIGNATURES = (
  b"\x89PNG",
  b"GIF8",
  b"II*\0",
  b"II+\0",
  b"MM\0*",
  b"MM\0+",
  *(b"P%d%c" % (kind, space) for kind in range(1, 8) for space in b" \t\r\n#"),
)
# Bytes that tell an image.
HEAD = 12
# Files whose names are looked at together, and of which some are opened at once.
_CHUNK = 256
_READS = 32

REASON = "is no image, by its name and its first bytes"


def is_named_so(path: bytes) -> bool:
  """Whether a file has the name of an image."""
  return os.path.splitext(path)[1].lower() in _EXTENSIONS


def begins_so(head: bytes) -> bool:
  """Whether these may be the first bytes of an image."""
  return formats.begins_so(head) or head.startswith(_SIGNATURES)


def heads_of(root: str) -> Callable[[bytes], bytes]:
  """A function that reads the first bytes of a file at a path below a folder."""
  return lambda path: reading.read(storage.join(root, os.fsdecode(path)), 0, HEAD)


def _may_be_image(path: bytes, head: Callable[[bytes], bytes]) -> bool:
  """Whether a file begins as an image does, or cannot be read, which is an error."""
  try:
    return begins_so(head(path))
  except OSError:
    return True


def only_images(
  files: Iterable[tuple[bytes, int, int]],
  head: Callable[[bytes], bytes],
  skipped: list[LeftOut],
) -> Iterator[tuple[bytes, int, int]]:
  """Leaves out files that are certainly no images, such as Thumbs.db and notes.txt.

  These have neither the extension of an image nor the first bytes of one. Only files of
  other extensions are opened.

  Args:
    files: path below their folder, size and time of change of each.
    head: reads the first HEAD bytes of the file at a path, or raises OSError.
    skipped: gets those that are left out.

  Yields:
    The others, in their order.
  """
  files = iter(files)
  with ThreadPoolExecutor(_READS) as pool:
    while chunk := list(itertools.islice(files, _CHUNK)):
      doubtful = [path for path, _, _ in chunk if not is_named_so(path)]
      found = pool.map(_may_be_image, doubtful, itertools.repeat(head))
      none = {path for path, is_image in zip(doubtful, found) if not is_image}
      skipped += [LeftOut(os.fsdecode(p), REASON) for p, _, _ in chunk if p in none]
      yield from (file for file in chunk if file[0] not in none)
