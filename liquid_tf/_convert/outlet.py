"""Where finished shards go: they stay where they are made, or a store gets them."""

import contextlib
import dataclasses
import os

from liquid_tf._convert.job import ShardResult
from liquid_tf._convert.journal import Journal
from liquid_tf._convert.stores import publish
from liquid_tf._convert.stores.sender import Sender
from liquid_tf._convert.stores.store import Store, Stored
from liquid_tf._store import storage


class Outlet(contextlib.AbstractContextManager):
  """Takes the shards of a conversion, and keeps them in the folder where they are made.

  Args:
    directory: the folder.
  """

  def __init__(self, directory: str):
    self._directory = directory

  def has(self, name: str, result: ShardResult) -> bool:
    """Whether a journaled shard is where it belongs, or on its way there.

    Raises:
      OSError: the file system does not say.
    """
    return _is_right(os.path.join(self._directory, name), result)

  def take(self, name: str, result: ShardResult) -> None:
    """Takes a shard that is in the folder and was journaled.

    Raises:
      ConvertError: it must not be where it belongs.
      OSError: it, or an earlier one, cannot be brought there.
    """

  def finish(self) -> None:
    """Waits until all shards are where they belong.

    Raises:
      OSError: one cannot be brought there.
    """

  def __exit__(self, *error) -> None:
    """Lets go of what is still on its way."""


class _Sending(Outlet):
  """Sends shards to a store, and removes those that are there from their folder."""

  def __init__(self, directory: str, journal: Journal, destination: "Destination"):
    super().__init__(directory)
    self._journal = journal
    self._destination = destination
    self._store = destination.store
    self._sent = journal.sent()
    self._sender = Sender(self._store, self._note)
    self._is_begun = False

  def has(self, name: str, result: ShardResult) -> bool:
    if self._store.files.get(name) == self._sent.get(name, ()):
      with contextlib.suppress(FileNotFoundError):
        os.unlink(os.path.join(self._directory, name))
      return True
    found = super().has(name, result)
    if found:
      self.take(name, result)
    return found

  def take(self, name: str, result: ShardResult) -> None:
    if not self._is_begun:
      publish.begin(self._store, self._destination.replaces)
      self._is_begun = True
    self._sender.add(os.path.join(self._directory, name), name, result.crc32c)

  def _note(self, name: str, stored: Stored) -> None:
    self._journal.add_sent(name, stored)
    os.unlink(os.path.join(self._directory, name))

  def finish(self) -> None:
    self._sender.finish()

  def __exit__(self, *error) -> None:
    self._sender.__exit__(*error)


@dataclasses.dataclass(frozen=True)
class Destination:
  """A store that gets a dataset while it is made.

  Attributes:
    store: the folder, which was checked.
    replaces: whether a dataset that is there may go.
  """

  store: Store
  replaces: bool


def open_outlet(
  directory: str, journal: Journal, destination: Destination | None
) -> Outlet:
  """Where the shards of a folder go; None: they stay there."""
  if destination is None:
    return Outlet(directory)
  return _Sending(directory, journal, destination)


def _is_right(path: str, result: ShardResult) -> bool:
  """Whether a file has the size and the checksum of a shard."""
  size = storage.file_size(path)
  return size == result.bytes and storage.checksum(path) == result.crc32c
