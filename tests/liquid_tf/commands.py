"""Runs commands of `liquid-tf` in this process, which has imported TensorFlow."""

import contextlib
import io
import os
import signal
from collections.abc import Mapping
from typing import Any, NamedTuple
from unittest import mock

import runs
import steady
from absl.testing import flagsaver

from liquid_tf import _words
from liquid_tf._measure import fresh
from liquid_tf.cli import main


class Done(NamedTuple):
  """What a command left.

  Attributes:
    returncode: its exit code.
    stdout: text.
    stderr: text.
  """

  returncode: int
  stdout: str
  stderr: str


def run(*words: str, program: main.Program = main.LIQUID_TF) -> Done:
  """Runs a program with these words, such as ("convert", "--input=photos").

  Flags have their defaults again afterwards, and signals their handlers.
  """
  numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)
  handlers = [signal.getsignal(number) for number in numbers]
  stdout, stderr = io.StringIO(), io.StringIO()
  code = None
  with contextlib.ExitStack() as stack:
    for values in (program.load(name).flags for name in program.commands):
      saved = flagsaver.save_flag_values(values)
      stack.callback(flagsaver.restore_flag_values, saved, values)
    stack.enter_context(contextlib.redirect_stdout(stdout))
    stack.enter_context(contextlib.redirect_stderr(stderr))
    try:
      program.run(words)
    except SystemExit as done:
      code = done.code
  for number, handler in zip(numbers, handlers):
    signal.signal(number, handler)
  return Done(code, stdout.getvalue(), stderr.getvalue())


def measuring_in_children(profiling: str = "") -> contextlib.AbstractContextManager:
  """What would be measured in fresh processes is so in children of one.

  That one has imported TensorFlow, and run nothing of it.

  Args:
    profiling: function of a request, MODULE:NAME, that profiles: a machine whose speed
      is known, as others may keep this one too busy for advice.
  """

  def measured(
    request: dict[str, Any], environment: Mapping[str, str] | None = None
  ) -> dict[str, Any]:
    answer, _ = runs.in_new_process(
      _answer,
      request=request,
      environment=dict(environment or {}),
      steadily=request["function"] == profiling,
    )
    return fresh.measurement(answer)

  return mock.patch.object(fresh, "run", measured)


def _answer(
  request: dict[str, Any], environment: dict[str, str], steadily: bool
) -> dict[str, Any]:
  os.environ.update(environment)
  machine = steady.Machine().timed() if steadily else contextlib.nullcontext()
  with _words.worded(_words.marked), machine:
    return fresh.answer(request)
