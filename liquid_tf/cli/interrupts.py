"""SIGINT and SIGTERM as a KeyboardInterrupt that arrives.

Python raises one wherever the main thread is. Where C code runs Python code there, in a
destructor or inside TensorFlow, the exception may get lost, or come out as another one;
and TensorFlow, which calls Python code of its own from C++, may crash of it: with an
exception every 2 ms, 2.16 and 2.21 did so within seconds. So none is raised there.
"""

import contextlib
import signal
import sys
from collections.abc import Iterator
from types import FrameType

# Seconds until what got lost is raised again.
_AGAIN = 0.2


def _is_tracing() -> bool:
  """Says whether TensorFlow makes a graph, half of which would be of no use."""
  tensorflow = sys.modules.get("tensorflow")
  inside_function = getattr(tensorflow, "inside_function", None)
  return inside_function is not None and inside_function()


def _outside_tensorflow(frame: FrameType | None) -> FrameType | None:
  """The frame, or the one that called TensorFlow's code from there."""
  while frame is not None:
    if frame.f_globals.get("__name__", "").split(".")[0] != "tensorflow":
      return frame
    frame = frame.f_back
  return None


class _Interrupts:
  """The handlers of signals, and what has come."""

  def __init__(self):
    self.came = False

  def handle(self, number: int, frame: FrameType | None) -> None:
    """Raises KeyboardInterrupt, here or behind TensorFlow's code, and again later."""
    again = number == signal.SIGALRM
    self.came = True
    signal.setitimer(signal.ITIMER_REAL, _AGAIN)
    # An exception that is being handled may be ours, on its way out through `finally`.
    if _is_tracing() or (again and sys.exc_info()[1] is not None):
      return
    outside = _outside_tensorflow(frame)
    if outside is frame:
      raise KeyboardInterrupt
    if outside is not None:
      # As a debugger stops in a frame that is further up.
      outside.f_trace = self._interrupt
      sys.settrace(lambda *_: None)

  def _interrupt(self, frame: FrameType, event: str, argument: object) -> None:
    """Raises KeyboardInterrupt at the next line of a frame, and traces no more."""
    raise KeyboardInterrupt

  def quiet(self, hook):
    """A hook that says nothing of exceptions that an interrupt was made into."""
    return lambda *arguments: None if self.came else hook(*arguments)


@contextlib.contextmanager
def raised() -> Iterator[None]:
  """Raises KeyboardInterrupt inside, on a signal, until it comes out at the end.

  Where a signal came, KeyboardInterrupt comes out in any case: what runs inside may
  have been told of it as of any other error. For the main thread.
  """
  interrupts = _Interrupts()
  hooks = sys.excepthook, sys.unraisablehook
  sys.excepthook, sys.unraisablehook = map(interrupts.quiet, hooks)
  signal.signal(signal.SIGALRM, interrupts.handle)
  signal.signal(signal.SIGTERM, interrupts.handle)
  # A shell has what it runs in the background ignore Ctrl-C.
  if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
    signal.signal(signal.SIGINT, interrupts.handle)
  try:
    yield
  except BaseException as error:
    if not interrupts.came:
      raise
    raise KeyboardInterrupt from error
  finally:
    if interrupts.came:
      sys.settrace(None)
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, signal.SIG_IGN)
    sys.excepthook, sys.unraisablehook = hooks
  if interrupts.came:
    raise KeyboardInterrupt
