"""Files of a dataset: local, of a server or store, or of TensorFlow's file systems."""

import errno
import json
import os
import posixpath
import stat
from collections.abc import Callable, Iterator

import numpy as np

from liquid_tf._native import direct, ops
from liquid_tf._native.http_file import HttpFile
from liquid_tf._store import s3, schemes
from liquid_tf.errors import WrongArgument

# How often a remote file is read until it is right.
REMOTE_ATTEMPTS = 4


def join(directory: str, name: str) -> str:
  """Path of a file in a directory."""
  if "://" in directory:
    return posixpath.join(directory, name)
  return os.path.join(directory, name)


def is_remote(path: str) -> bool:
  """Whether a path is a URL."""
  return "://" in path


def absolute(path: str | os.PathLike) -> str:
  """A path that means the same wherever the process goes; a URL as it is.

  Raises:
    ValueError: it is empty, and so the folder where the process is.
  """
  text = os.fspath(path)
  if not text:
    raise WrongArgument("path", "", "must not be empty")
  if is_remote(text):
    return text
  # What ".." is above is told by the folder, which may be a link, and not by the text.
  climbs = os.pardir in text.split(os.sep)
  return os.path.realpath(text) if climbs else os.path.abspath(text)


def leaves(path: str) -> str | None:
  """Where a file is that is a link to outside its folder; None where it is none.

  The folder itself may be a link.
  """
  if schemes.scheme_of(path) == "file":
    path = path.partition("://")[2]
  # A pipe or a device is refused as such.
  if is_remote(path) or not os.path.islink(path) or not os.path.isfile(path):
    return None
  folder, target = os.path.realpath(os.path.dirname(path)), os.path.realpath(path)
  return None if os.path.commonpath([folder, target]) == folder else target


def is_json(contents: bytes) -> bool:
  """Whether this is what `read_right` looks for in a JSON file."""
  try:
    json.loads(contents)
  except (ValueError, RecursionError):
    return False
  return True


def check_regular(path: str, mode: int) -> None:
  """Raises OSError unless `mode`, as stat gives it, is that of a regular file.

  A pipe, a socket or a device would be waited for, or read, for ever.
  """
  if stat.S_ISREG(mode):
    return
  kinds = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}
  kind = kinds.get(stat.S_IFMT(mode), "a device")
  raise OSError(errno.EINVAL, f"is {kind}, and must be a regular file", path)


def regular(path: str, flags: int) -> int:
  """An `opener` of Python's `open`, for files that are there to be read.

  Raises:
    OSError: what is there is no regular file.
  """
  # Without O_NONBLOCK, opening a pipe waits for a writer.
  fd = os.open(path, flags | os.O_NONBLOCK)
  try:
    check_regular(path, os.fstat(fd).st_mode)
  except OSError:
    os.close(fd)
    raise
  return fd


def file_size(path: str) -> int | None:
  """Size of a file at a path or URL, or None where there is none.

  Raises:
    OSError: it cannot be looked at, or is no regular file.
  """
  if schemes.is_http(path):
    try:
      return HttpFile(path).size()
    except FileNotFoundError:
      return None
  if schemes.is_s3(path):
    return s3.size(path)
  if is_remote(path):
    from liquid_tf._tensorflow import tf

    try:
      return tf.io.gfile.stat(path).length
    except tf.errors.NotFoundError:
      return None
    except tf.errors.OpError as error:
      raise OSError(ops.reason(error, path)) from error
  try:
    found = os.stat(path)
  except (FileNotFoundError, NotADirectoryError):
    return None
  check_regular(path, found.st_mode)
  return found.st_size


def names_in(directory: str) -> set[str]:
  """Names of what is in a directory, or at a URL; none where there is nothing.

  Raises:
    OSError: it cannot be listed.
  """
  if not is_remote(directory):
    try:
      return set(os.listdir(directory))
    except (FileNotFoundError, NotADirectoryError):
      return set()
  if schemes.is_http(directory):
    raise OSError(f"{directory}: {schemes.scheme_of(directory)}:// lists no folders")
  if schemes.is_s3(directory):
    return s3.names_in(directory)
  from liquid_tf._tensorflow import tf

  try:
    # Object storage has no folders, so one that is missing is empty.
    if not tf.io.gfile.exists(directory):
      return set()
    return {name.rstrip("/") for name in tf.io.gfile.listdir(directory)} - {""}
  except tf.errors.OpError as error:
    raise OSError(ops.reason(error, directory)) from error


def read_file(path: str) -> bytes:
  """Bytes of a file at a path or URL."""
  return b"".join(read_chunks(path))


def read_range(path: str, offset: int, size: int) -> bytes:
  """Bytes of a file at a URL, from an offset on; fewer come at its end.

  Raises:
    OSError: they cannot be read.
  """
  if schemes.is_http(path) or schemes.is_s3(path):
    return HttpFile(path).read(offset, size)
  from liquid_tf._tensorflow import tf

  try:
    with tf.io.gfile.GFile(path, "rb") as file:
      file.seek(offset)
      return file.read(size)
  except tf.errors.OpError as error:
    raise OSError(ops.reason(error, path)) from error


def read_right(path: str, is_right: Callable[[bytes], bool]) -> bytes:
  """Bytes of a file; a remote one is read again where they are not right.

  Where a connection breaks, some file systems give what came until then as if it were
  all.
  """
  contents = read_file(path)
  for _ in range(REMOTE_ATTEMPTS - 1 if is_remote(path) else 0):
    if is_right(contents):
      break
    contents = read_file(path)
  return contents


def map_right(path: str, crc: int) -> np.ndarray:
  """The bytes of a file as a read-only uint8 array, right or not.

  A local one is mapped; a remote one read until it has that CRC-32C.
  """
  if is_remote(path) or os.path.getsize(path) == 0:
    contents = read_right(path, lambda contents: crc32c(contents) == crc)
    return np.frombuffer(contents, np.uint8)
  with open(path, "rb", opener=regular) as file:
    return np.memmap(file, np.uint8, mode="r")


def read_chunks(path: str, size: int = 16 << 20) -> Iterator[bytes]:
  """Yields the bytes of a file at a path or URL, `size` at a time.

  Raises:
    OSError: it cannot be read.
  """
  if not is_remote(path):
    with open(path, "rb", opener=regular) as file:
      while data := file.read(size):
        yield data
    return
  if schemes.is_http(path) or schemes.is_s3(path):
    file, offset = HttpFile(path), 0
    while data := file.read(offset, size):
      yield data
      offset += len(data)
    return
  from liquid_tf._tensorflow import tf

  try:
    with tf.io.gfile.GFile(path, "rb") as file:
      while data := file.read(size):
        yield data
  except tf.errors.OpError as error:
    raise OSError(ops.reason(error, path)) from error


def checksum(path: str, consume: Callable[[bytes], object] = lambda data: None) -> int:
  """The CRC-32C of a file at a path or URL, whose bytes are handed on.

  Raises:
    OSError: it cannot be read.
  """
  crc = 0
  for data in read_chunks(path):
    crc = crc32c(data, crc)
    consume(data)
  return crc


def wrong_crc(found: int, wanted: int, says: str) -> str:
  """Says that a file or a record has another CRC-32C than `says` says."""
  return f"is damaged: its CRC-32C is 0x{found:08x}, {says} says 0x{wanted:08x}"


def crc32c(data: bytes, crc: int = 0) -> int:
  """CRC-32C of `data`, extending `crc`."""
  return direct.crc32c(np.frombuffer(data, np.uint8), crc)
