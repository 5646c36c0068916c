"""Files compressed by gzip, zlib, bzip2 or xz: decompressed once, beside the output.

Their records are read in a random order, which needs positions. What is decompressed is
part of the journal, and goes with it; a run that resumes finds it by its name.
"""

import bz2
import dataclasses
import lzma
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from liquid_tf._convert.sources import reading
from liquid_tf._convert.sources.iterable import FOLDER, Unlisted
from liquid_tf._convert.sources.left_out import LeftOut, mend_or_skip
from liquid_tf._convert.sources.samples import SampleError, SampleSource, stat_files
from liquid_tf._native import ops
from liquid_tf._store.files import sync_directory
from liquid_tf._store.progress import Progress
from liquid_tf.errors import ConvertError

_GZIP, _BZIP2, _XZ = b"\x1f\x8b\x08", b"BZh", b"\xfd7zXZ\0"
# Bytes that are read, and that are made of them at most, at a time.
_CHUNK, _PIECE = 1 << 20, 8 << 20
# A file that grows to more bytes, and so many times, holds no images, but was made to
# fill a disk.
_LARGE, _MOST_RATIO = 1 << 30, 200
# Memory that a file of xz may ask for; `xz -9` asks for 65 MiB.
_MOST_MEMORY = 256 << 20
# Behind the name of a file that is not whole.
_PART = ".part"


def begins_so(head: bytes) -> bool:
  """Whether a file begins as one of gzip, bzip2 or xz."""
  return head.startswith((_GZIP, _BZIP2, _XZ))


def is_zlib(head: bytes) -> bool:
  """Whether a file may begin as one of zlib, as one in some hundred others does."""
  # A window of up to 32 KiB, no dictionary, and a checksum of five bits.
  if len(head) < 2:
    return False
  word = int.from_bytes(head[:2], "big")
  return head[0] & 15 == 8 and head[0] >> 4 <= 7 and not word & 32 and word % 31 == 0


@dataclasses.dataclass(frozen=True, kw_only=True)
class Compressed(Unlisted):
  """Compressed files, which are listed when there is an output.

  Attributes:
    paths: of the files, or URLs.
    skips: whether what is damaged in one is passed over.
    read: lists what the files hold, by the paths where that is.
  """

  paths: Sequence[str]
  skips: bool
  read: Callable[[Sequence[str]], SampleSource]

  def list(
    self, directory: str, progress: Progress, replaces: bool = False
  ) -> SampleSource:
    """Decompresses all files, or goes on with that; see `Unlisted.list`."""
    del replaces
    folder = os.path.join(directory, FOLDER)
    os.makedirs(folder, exist_ok=True)
    _, files = stat_files(self.paths)
    names = [
      f"{number}-{file.size}-{file.mtime_ns}" for number, file in enumerate(files)
    ]
    for name in set(os.listdir(folder)) - set(names):
      os.unlink(os.path.join(folder, name))
    damage: list[LeftOut] = []
    progress.start("decompress", len(files), unit="file")
    try:
      for path, file, name in zip(self.paths, files, names):
        done = os.path.join(folder, name)
        if not os.path.exists(done):
          problem = _decompress(path, done, file.path)
          if problem and not self.skips:
            raise ConvertError(f"{file.path} {problem}; {mend_or_skip()}")
          if problem:
            damage.append(LeftOut(file.path, problem, 1))
        progress.step()
    finally:
      progress.close()
    paths = [os.path.join(folder, name) for name in names]
    for number, path in enumerate(paths):
      if not os.path.exists(path):
        paths[number] = path + _PART
    found = self.read(paths)
    found.skipped += damage
    size = sum(map(os.path.getsize, paths))
    found.notes.append(
      f"{self.origin.named}: the decompressed files took {size:,} bytes more beside "
      "the shards while they were converted"
    )
    return found


def _decompress(path: str, done: str, shown: str) -> str:
  """Decompresses a file; returns what is damaged, or "".

  Args:
    path: of the file, or its URL.
    done: where it is when it is whole; what a damaged one has is beside that.
    shown: the file, for errors.

  Raises:
    ConvertError: it cannot be read, or grows too large.
  """
  problem = ""
  with open(done + _PART, "wb") as target:
    try:
      with reading.opened(path) as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        most = max(_LARGE, _MOST_RATIO * size)
        for piece in _pieces(iter(lambda: file.read(_CHUNK), b"")):
          if target.tell() + len(piece) > most:
            raise ConvertError(
              f"{shown} grows from {size:,} to more than {most:,} bytes, as no images "
              "do: decompress it by hand, if it is to be read"
            )
          target.write(piece)
    except SampleError as error:
      problem = f"{error} (behind {target.tell():,} decompressed bytes)"
    except OSError as error:
      raise ConvertError(f"cannot decompress {ops.reason(error)}") from error
    target.flush()
    os.fsync(target.fileno())
  if not problem:
    os.rename(done + _PART, done)
    sync_directory(os.path.dirname(done))
  return problem


class _Stream(Protocol):
  """A decompressor of one member, as bz2 and lzma have it."""

  @property
  def eof(self) -> bool: ...

  @property
  def needs_input(self) -> bool: ...

  @property
  def unused_data(self) -> bytes: ...

  def decompress(self, data: bytes, max_length: int) -> bytes: ...


class _Inflate:
  """zlib's decompressor as a `_Stream`."""

  def __init__(self):
    self._stream = zlib.decompressobj(zlib.MAX_WBITS | 32)
    self._has_more = False

  @property
  def eof(self) -> bool:
    return self._stream.eof

  @property
  def needs_input(self) -> bool:
    # All of a chunk may be taken, and not all be given that it holds.
    return not self._stream.unconsumed_tail and not self._has_more

  @property
  def unused_data(self) -> bytes:
    return self._stream.unused_data

  def decompress(self, data: bytes, max_length: int) -> bytes:
    piece = self._stream.decompress(self._stream.unconsumed_tail + data, max_length)
    self._has_more = len(piece) == max_length
    return piece


def _stream_of(head: bytes) -> _Stream:
  if head.startswith(_BZIP2):
    return bz2.BZ2Decompressor()
  if head.startswith(_XZ):
    return lzma.LZMADecompressor(lzma.FORMAT_XZ, _MOST_MEMORY)
  return _Inflate()


def _pieces(chunks: Iterator[bytes]) -> Iterator[bytes]:
  """Yields what compressed bytes hold, in pieces; one member after another.

  Raises:
    SampleError: they are damaged, or cut off.
  """
  head, stream = b"", None
  for chunk in chunks:
    while chunk or (stream is not None and not stream.needs_input):
      if stream is None:
        # Tapes and some tools fill up with zeros.
        chunk = chunk.lstrip(b"\0") if head else chunk
        if not chunk:
          break
        # All members are of one kind, as a chunk may end in the begin of one.
        head = head or chunk
        stream = _stream_of(head)
      try:
        piece = stream.decompress(chunk, _PIECE)
      except (zlib.error, lzma.LZMAError, OSError) as error:
        raise SampleError(f"is damaged: {error}") from error
      yield piece
      chunk = b""
      if stream.eof:
        chunk, stream = stream.unused_data, None
  if stream is not None or not head:
    raise SampleError("is cut off: its compressed data has no end")
