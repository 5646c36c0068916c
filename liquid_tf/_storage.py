"""Files of a dataset, local or of a file system that TensorFlow has."""

import json
import os
import posixpath
from collections.abc import Callable, Iterator

import numpy as np

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


def is_json(contents: bytes) -> bool:
  """Whether this is what `read_right` looks for in a JSON file."""
  try:
    json.loads(contents)
  except ValueError:
    return False
  return True


def file_size(path: str) -> int | None:
  """Size of a file at a path or URL, or None where there is none."""
  if is_remote(path):
    import tensorflow as tf

    try:
      return tf.io.gfile.stat(path).length
    except tf.errors.NotFoundError:
      return None
    except tf.errors.OpError as error:
      raise OSError(_reason(error)) from error
  try:
    return os.stat(path).st_size
  except (FileNotFoundError, NotADirectoryError):
    return None


def read_file(path: str) -> bytes:
  """Bytes of a file at a path or URL."""
  return b"".join(read_chunks(path))


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
  return np.memmap(path, np.uint8, mode="r")


def read_chunks(path: str, size: int = 16 << 20) -> Iterator[bytes]:
  """Yields the bytes of a file at a path or URL, `size` at a time.

  Raises:
    OSError: it cannot be read.
  """
  if not is_remote(path):
    with open(path, "rb") as file:
      while data := file.read(size):
        yield data
    return
  import tensorflow as tf

  try:
    with tf.io.gfile.GFile(path, "rb") as file:
      while data := file.read(size):
        yield data
  except tf.errors.OpError as error:
    raise OSError(_reason(error)) from error


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


def _reason(error) -> str:
  """What a file system of TensorFlow says, which may be its kind of error alone."""
  return error.message.strip(" :") or type(error).__name__


def crc32c(data: bytes, crc: int = 0) -> int:
  """CRC-32C of `data`, extending `crc`."""
  from liquid_tf import _ops

  # Of a number of Python's TensorFlow would keep a tensor for ever.
  return int(_ops.lib().liquid_crc32c(data, np.int64(crc)))
