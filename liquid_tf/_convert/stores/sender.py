"""Sends the files of a conversion to a store, while others are made."""

from collections.abc import Callable
from concurrent import futures

from liquid_tf._convert.stores.store import Store, Stored

# Files that are being sent, or wait for it; as many shards take room on the disk.
_FILES = 4


class Sender:
  """Sends files; for a `with` statement, at the end of which none is being sent.

  Args:
    store: where they go.
    sent: is called, by the caller of `add` or `finish`, with the name of each file that
      is there, and what the store says of it.
  """

  def __init__(self, store: Store, sent: Callable[[str, Stored], None]):
    self._store = store
    self._sent = sent
    self._pool = futures.ThreadPoolExecutor(_FILES)
    self._names: dict[futures.Future, str] = {}

  def add(self, path: str, name: str, crc: int) -> None:
    """Begins to send a file; waits first while too many are under way.

    Args:
      path: of the local file, which stays as it is until `sent` is called.
      name: that it gets.
      crc: its CRC-32C.

    Raises:
      OSError: an earlier file could not be sent.
    """
    while len(self._names) >= _FILES:
      self._wait()
    self._names[self._pool.submit(self._store.send, path, name, crc)] = name

  def finish(self) -> None:
    """Waits until all are there.

    Raises:
      OSError: one could not be sent.
    """
    while self._names:
      self._wait()

  def _wait(self) -> None:
    """Waits until one has ended, or more."""
    done, _ = futures.wait(self._names, return_when=futures.FIRST_COMPLETED)
    for future in done:
      self._sent(self._names.pop(future), future.result())

  def __enter__(self) -> "Sender":
    return self

  def __exit__(self, kind, *unused) -> None:
    self._pool.shutdown(wait=False, cancel_futures=True)
    if kind is not None:
      # The rest of what is being sent is not waited for.
      self._store.close()
    self._pool.shutdown()
