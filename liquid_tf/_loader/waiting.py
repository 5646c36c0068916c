"""Waiting that Ctrl-C ends."""

import queue
import threading
import weakref
from collections.abc import Callable
from typing import Any


class _Task:
  """A call on its way.

  Args:
    function: that is called once, however often the task is handed over.
  """

  def __init__(self, function: Callable[[], Any]):
    self._function: Callable[[], Any] | None = function
    self._ended = threading.Event()
    self.result: Any = None
    self.error: BaseException | None = None

  def run(self) -> None:
    """Calls the function, unless that was done."""
    function, self._function = self._function, None
    if function is None:
      return
    try:
      self.result = function()
    except BaseException as error:  # noqa: BLE001 - raised where it is waited for
      self.error = error
    self._ended.set()

  def wait(self) -> None:
    """Waits for its end."""
    self._ended.wait()


class Waiter:
  """Calls functions that wait on a thread of its own.

  Python runs the handler of Ctrl-C between steps of its own, and so not while a C
  function waits; but it does while it waits for another thread. One thread at a time
  may call.
  """

  def __init__(self):
    self._tasks: queue.SimpleQueue[_Task | None] = queue.SimpleQueue()
    self._thread: threading.Thread | None = None
    self._task: _Task | None = None
    weakref.finalize(self, self._tasks.put, None).atexit = False

  @property
  def waits(self) -> bool:
    """Whether a wait was interrupted whose call goes on."""
    return self._task is not None

  def call(self, function: Callable[[], Any]) -> Any:
    """Calls a function and waits for its end.

    Where the wait before was interrupted, its call goes on, and this waits for that
    one's result: it must be of the same function.
    """
    if self._thread is None:
      # Python does not wait for it at its end.
      self._thread = threading.Thread(target=_run, args=(self._tasks,), daemon=True)
      self._thread.start()
    # An interrupt may come between any two of these.
    if self._task is None:
      self._task = _Task(function)
    task = self._task
    self._tasks.put(task)
    task.wait()
    self._task = None
    if task.error is not None:
      raise task.error
    return task.result

  def forget(self) -> bool:
    """Waits for a call that goes on, and drops its result.

    Returns:
      Whether it has had one.
    """
    task, self._task = self._task, None
    if task is None:
      return False
    self._tasks.put(task)
    task.wait()
    return task.result is not None

  def close(self) -> None:
    """Ends the thread, once what it calls has come back."""
    if self._thread is not None:
      self._tasks.put(None)
      self._thread.join()
      self._thread = None


def _run(tasks: "queue.SimpleQueue[_Task | None]") -> None:
  while (task := tasks.get()) is not None:
    task.run()
    del task  # What it holds may be large.
