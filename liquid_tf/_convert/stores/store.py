"""A folder of a store, as one who fills it sees it."""

from typing import NamedTuple, Protocol

from liquid_tf._store import schemes


class Stored(NamedTuple):
  """A file in a store.

  Attributes:
    size: in bytes.
    tag: changes when the file is written anew; "" where the store has no such thing.
  """

  size: int
  tag: str


class Store(Protocol):
  """A folder of a store that one process writes, from several threads.

  Attributes:
    url: of the folder.
    files: what is in it, by name: as it was listed at first, and changed since.
    begun: names of files that somebody began to send.
  """

  url: str
  files: dict[str, Stored]

  @property
  def begun(self) -> set[str]: ...

  def send(self, path: str, name: str, crc: int) -> Stored:
    """Makes a file there that appears when it is whole; nothing where it is there.

    What an earlier, killed process sent of it is not sent again.

    Args:
      path: of a local file.
      name: that it gets.
      crc: its CRC-32C.

    Raises:
      OSError: it cannot be read or sent; one sentence.
    """

  def put(self, data: bytes, name: str) -> None:
    """Makes a small file there.

    Raises:
      OSError: it cannot be sent.
    """

  def remove(self, name: str) -> None:
    """Removes a file that is there, and what was begun of it.

    Raises:
      OSError: it cannot be removed.
    """

  def close(self) -> None:
    """Lets what is being sent end, and begins nothing more."""


def open_store(url: str) -> Store:
  """Lists a folder of a store, which need not be there.

  Raises:
    ImportError: a library for it is not installed.
    OSError: the store does not answer, or refuses.
  """
  if schemes.is_s3(url):
    from liquid_tf._convert.stores.s3_store import S3Store

    return S3Store(url)
  from liquid_tf._convert.stores.file_system_store import FileSystemStore

  return FileSystemStore(url)
