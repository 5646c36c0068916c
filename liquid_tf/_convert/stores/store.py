"""A folder of a store, as one who fills it sees it."""

from typing import NamedTuple, Protocol


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
    begun: names of files whose sending was begun.
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
