"""Work in processes of their own, whose files misbehave as rules say."""

import contextlib
import dataclasses
import inspect
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from collections.abc import Callable, Iterator, Sequence
from typing import Any

_SHIM = "libfault_shim.so"


def shim() -> str:
  """Path of the library to preload; fault_shim.cc says what it does."""
  checkout = pathlib.Path(__file__).absolute().parents[2]
  # Bazel's own first: this file may be found by a link into the checkout.
  runfiles = pathlib.Path(os.environ.get("TEST_SRCDIR", "."), "org_liquid_tf")
  for folder in (runfiles, checkout / "build" / "bazel" / "bin"):
    built = folder / "tests" / "faults" / _SHIM
    if built.exists():
      return str(built.absolute())
  raise FileNotFoundError(f"{_SHIM} is not built: bazel build //tests/faults/...")


class Rules:
  """The rules file of this process or another, and what they have done.

  Args:
    path: of the file; None for the one that this process was started with.
  """

  def __init__(self, path: str | None = None):
    self.path = path or os.environ["LIQUID_FAULT_RULES"]

  def set(self, *rules: str) -> None:
    """Replaces the rules; with none, what hangs goes on."""
    new = self.path + ".new"
    pathlib.Path(new).write_text("".join(rule + "\n" for rule in rules))
    os.rename(new, self.path)

  def done(self) -> list[str]:
    """A line for every fault so far: call, path, offset, length, action."""
    log = pathlib.Path(self.path + ".log")
    return log.read_text().splitlines() if log.exists() else []

  def wait(self, action: str, count: int = 1, seconds: float = 20) -> None:
    """Returns once an action was taken so many times.

    Raises:
      TimeoutError: it was not, in time.
    """
    end = time.monotonic() + seconds
    while sum(line.endswith(" " + action) for line in self.done()) < count:
      if time.monotonic() > end:
        raise TimeoutError(f"no {action} in {seconds} s")
      time.sleep(0.005)


@dataclasses.dataclass
class Ended:
  """How a process ended.

  Attributes:
    value: what the function returned; None where it did not.
    exit_code: negative for a signal.
    stderr: all of it.
    faults: `Rules.done` at its end.
    seconds: from the function's return, or from the signal sent, to the end.
  """

  value: Any
  exit_code: int
  stderr: str
  faults: list[str]
  seconds: float


@contextlib.contextmanager
def mirrored(folder: str, control: Rules) -> Iterator[str]:
  """A mount that shows a folder and obeys the rules, io_uring included.

  Raises:
    unittest.SkipTest: mounting is not permitted.
  """
  with tempfile.TemporaryDirectory() as mount:
    server = subprocess.Popen(
      [sys.executable, pathlib.Path(__file__).with_name("mirror.py"), folder, mount],
      env={**os.environ, "LD_PRELOAD": shim(), "LIQUID_FAULT_RULES": control.path},
      stdout=subprocess.PIPE,
      stderr=subprocess.PIPE,
      text=True,
    )
    with server:
      if server.stdout.readline() != "ready\n":
        raise unittest.SkipTest(f"no mount by FUSE here: {server.communicate()[1]}")
      try:
        yield mount
      finally:
        # With it go the reads that still wait for an answer.
        server.kill()
        server.wait()
        subprocess.run(["umount", "--lazy", mount], check=True)


_CHILD = """
import json, sys, time, {module} as module
value = module.{name}(**json.loads(sys.argv[1]))
with open(sys.argv[2], "w") as file:
  json.dump([value, time.time()], file)
"""


def run(
  function: Callable,
  *,
  rules: Sequence[str] = (),
  timeout: float = 200,
  send: signal.Signals | None = None,
  after: str = "",
  preload: bool = True,
  mirror: bool = False,
  **arguments,
) -> Ended:
  """Calls a function of a test file in a fresh Python.

  Args:
    function: at the top level of its module; arguments and result are JSON.
    rules: in force from the start.
    timeout: seconds; a process that hangs is killed then, and fails the test.
    send: a signal for it.
    after: a line of its stdout that the signal waits for.
    preload: whether the files of the process misbehave.
    mirror: whether, instead, those of a mount do, which shows the folder `path`.
    **arguments: of the function.

  Raises:
    AssertionError: it hung.
  """
  module = pathlib.Path(inspect.getfile(function)).stem
  with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
    control = Rules(os.path.join(folder, "rules"))
    control.set(*rules)
    output = os.path.join(folder, "result.json")
    environment = {
      **os.environ,
      "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
      "LIQUID_FAULT_RULES": control.path,
    }
    if mirror:
      arguments["path"] = stack.enter_context(mirrored(arguments["path"], control))
    elif preload:
      environment["LD_PRELOAD"] = shim()
    code = _CHILD.format(module=module, name=function.__name__)
    with (
      open(os.path.join(folder, "stderr"), "w+") as stderr,
      subprocess.Popen(
        [sys.executable, "-u", "-c", code, json.dumps(arguments), output],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
      ) as process,
    ):
      began = time.time()
      try:
        if send is not None:
          for line in process.stdout:
            if line.strip() == after:
              break
          began = time.time()
          process.send_signal(send)
        process.communicate(timeout=timeout)
        hung = False
      except subprocess.TimeoutExpired:
        control.set()  # What waits in the kernel cannot be killed.
        process.kill()
        process.wait()
        hung = True
      ended = time.time()
      stderr.seek(0)
      said = stderr.read()
    if hung:
      raise AssertionError(f"still running after {timeout} s\n{said}")
    value = None
    if os.path.exists(output):
      value, began = json.loads(pathlib.Path(output).read_text())
    return Ended(value, process.returncode, said, control.done(), ended - began)
