"""Waiting that Ctrl-C ends."""

import queue
import threading
from collections.abc import Callable
from typing import Any


class Waiter:
  """Calls functions that wait on a thread of its own.

  Python runs the handler of Ctrl-C between steps of its own, and so not while a C
  function waits; but it does while it waits for another thread.
  """

  def __init__(self):
    self._calls: queue.SimpleQueue = queue.SimpleQueue()
    self._results: queue.SimpleQueue = queue.SimpleQueue()
    self._thread: threading.Thread | None = None
    self._asked: Callable[[], Any] | None = None

  @property
  def waits(self) -> bool:
    """Whether a call was begun whose result was not taken."""
    return self._asked is not None

  def call(self, function: Callable[[], Any]) -> Any:
    """Calls a function and waits for its end.

    Where the wait before was interrupted, its call goes on, and this waits for the
    result of that: the functions must be equal.
    """
    if self._thread is None:
      # Python does not wait for it at its end.
      self._thread = threading.Thread(
        target=_run, args=(self._calls, self._results), daemon=True
      )
      self._thread.start()
    if self._asked is None:
      self._asked = function
      self._calls.put(function)
    result, error = self._results.get()
    self._asked = None
    if error is not None:
      try:
        raise error
      finally:
        del error  # It holds this frame.
    return result

  def forget(self) -> bool:
    """Waits for a call that goes on, and drops its result.

    Returns:
      Whether it has had one.
    """
    if self._asked is None:
      return False
    result, error = self._results.get()
    self._asked = None
    return error is None and result is not None

  def close(self) -> None:
    """Ends the thread, once what it calls has come back."""
    if self._thread is not None:
      self._calls.put(None)
      self._thread.join()
      self._thread = None


def _run(calls: queue.SimpleQueue, results: queue.SimpleQueue) -> None:
  while (function := calls.get()) is not None:
    try:
      results.put((function(), None))
    except BaseException as error:  # noqa: BLE001 - raised where it is waited for
      results.put((None, error))
    del function
