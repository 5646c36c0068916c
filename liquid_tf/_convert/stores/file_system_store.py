"""Folders of TensorFlow's file systems."""

from collections.abc import Iterator
from contextlib import contextmanager

from liquid_tf._convert.stores.store import Stored
from liquid_tf._native import ops
from liquid_tf._store import schemes, storage


class FileSystemStore:
  """A folder of a file system that TensorFlow has, as gs://.

  A file that was sent in part is sent anew: the file systems keep no parts.

  Args:
    url: of the folder.

  Raises:
    ImportError: nothing that is installed has the file system.
    OSError: the folder cannot be listed.
  """

  def __init__(self, url: str):
    schemes.require(url)
    self.url = url
    self.files = {
      name: Stored(storage.file_size(storage.join(url, name)) or 0, "")
      for name in sorted(storage.names_in(url))
    }

  @property
  def begun(self) -> set[str]:
    return set()

  def send(self, path: str, name: str, crc: int) -> Stored:
    import tensorflow as tf

    size = storage.file_size(path)
    url = storage.join(self.url, name)
    found = self.files.get(name)
    if found is not None and found.size == size and storage.checksum(url) == crc:
      return found
    with _clear_errors(url):
      with tf.io.gfile.GFile(url, "wb") as file:
        for data in storage.read_chunks(path):
          file.write(data)
    arrived = storage.file_size(url)
    if arrived != size:
      raise OSError(f"{url} has {arrived} bytes instead of {size}")
    self.files[name] = Stored(size, "")
    return self.files[name]

  def put(self, data: bytes, name: str) -> None:
    import tensorflow as tf

    url = storage.join(self.url, name)
    with _clear_errors(url):
      tf.io.gfile.makedirs(self.url)
      with tf.io.gfile.GFile(url, "wb") as file:
        file.write(data)
    self.files[name] = Stored(len(data), "")

  def remove(self, name: str) -> None:
    import tensorflow as tf

    url = storage.join(self.url, name)
    with _clear_errors(url):
      tf.io.gfile.remove(url)
    del self.files[name]

  def close(self) -> None:
    """Nothing is kept open."""


@contextmanager
def _clear_errors(url: str) -> Iterator[None]:
  """Makes an OSError of what TensorFlow says of a file."""
  import tensorflow as tf

  try:
    yield
  except tf.errors.OpError as error:
    raise OSError(f"{url}: {ops.reason(error, url)}") from error
