"""Children of a test that kill themselves in the middle of their work.

A test that imports TensorFlow and runs nothing of it can fork children that do, without
the seconds of an import each.
"""

import os
import random
import signal
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import Any

# How often a test kills: few find what broke, and `make nightly` looks at more moments.
COUNT = int(os.environ.get("LIQUID_TEST_KILLS", "4"))


def fork(work: Callable[[], object]) -> int:
  """Runs `work` in a child of this process; returns its number."""
  child = os.fork()
  if child:
    return child
  status = 1
  try:
    work()
    status = 0
  except BaseException:
    traceback.print_exc()
  finally:
    os._exit(status)


def status(work: Callable[[], object]) -> int:
  """Runs `work` in a child of this process; returns how that ended: 0 is well."""
  return os.waitpid(fork(work), 0)[1]


def at_random(
  work: Callable[[], object], seconds: float, begun: Callable[[], bool]
) -> Iterator[None]:
  """Kills children that do `work`, each at another moment of `seconds`.

  Goes on after COUNT kills until one of them has found work under way, at moments from
  far sooner to far later: the machine may have become faster or slower since `seconds`
  were measured.

  Args:
    work: of a child.
    seconds: about as long as `work` takes.
    begun: whether the kill left work that has begun and has not ended.

  Yields:
    After each kill.
  """
  moments, found, kill, begin = random.Random(5), False, 0, time.monotonic()
  while kill < COUNT or not found:
    if kill == COUNT + 100:
      raise AssertionError(f"none of {kill} kills in {seconds:.3f} s came under way")
    moment = moments.uniform(0, seconds)
    if kill >= COUNT:
      moment = seconds * 2 ** moments.uniform(-5, 2)
    child = fork(work)
    time.sleep(moment)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    found = begun() or found
    kill += 1
    yield
  taken = time.monotonic() - begin
  print(f"{seconds:.1f} s; killed {kill} times in {taken:.1f} s", flush=True)


def die_at(step: int, steps: Sequence[tuple[Any, str]]) -> None:
  """Makes this process kill itself at its n-th step.

  Args:
    step: n, from 1.
    steps: (module, function) of what is a step: what touches the disk for good, as a
      kill between two of these finds another state.
  """
  left = step

  def wrap(function):
    def wrapped(*args, **kwargs):
      nonlocal left
      left -= 1
      if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
      return function(*args, **kwargs)

    return wrapped

  for module, name in steps:
    setattr(module, name, wrap(getattr(module, name)))
