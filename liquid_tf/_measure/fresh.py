"""Measurements in fresh processes, so that none inherits another's memory.

A request is one JSON object. Its `function` is MODULE:NAME, as
tools.bench.scale:measure, and all else are the function's arguments; `transforms` are
steps, each as {"step": its class, its fields}. This module, run by a fresh process,
reads it from stdin and answers in the last line of stdout: the measurement, or
{"error": sentence, "argument": whether one is wrong}. The sentence is for
`_words.reworded`.
"""

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from liquid_tf import _words, errors, transforms

# Functions for a request: a Liquid dataset, and image files through stock tf.data.
OURS = "liquid_tf._measure.pipeline:measure"
STOCK = "liquid_tf._measure.stock:measure"


def run(
  request: dict[str, Any], environment: Mapping[str, str] | None = None
) -> dict[str, Any]:
  """Measures what a request asks for, in a fresh process.

  Args:
    request: see the module.
    environment: variables that it has beside this process's.

  Returns:
    Its measurement.

  Raises:
    ValueError: an argument is wrong; the message names it.
    ChildProcessError: it could not measure, or ended without an answer, as when memory
      ran out.
  """
  command = [sys.executable, "-m", "liquid_tf._measure.fresh"]
  return measurement(ask(command, request, environment or {}))


def measurement(answer: dict[str, Any]) -> dict[str, Any]:
  """The measurement of an answer; raises what `run` does where it has none."""
  if "error" in answer:
    kind = ValueError if answer["argument"] else ChildProcessError
    raise kind(_words.reworded(answer["error"]))
  return answer


def ask(
  command: list[str], request: dict[str, Any], environment: Mapping[str, str]
) -> dict[str, Any]:
  """Runs a command, which reads a request of JSON and answers in its last line.

  Raises:
    ChildProcessError: it failed, or said nothing.
  """
  path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
  done = subprocess.run(
    command,
    input=json.dumps(request),
    env={**os.environ, "PYTHONPATH": path, **environment},
    capture_output=True,
    text=True,
  )
  if done.returncode != 0:
    last = (done.stderr.strip() or "it said nothing").splitlines()[-1]
    raise ChildProcessError(
      f"the measuring process ended with code {done.returncode}: {last}"
    )
  return json.loads(done.stdout.splitlines()[-1])


def steps(told: Iterable[Mapping[str, Any]]) -> list[transforms.Step]:
  """The steps that a request tells of, as `liquid_tf.dataset` takes them."""
  given = [dict(step) for step in told]
  return [getattr(transforms, step.pop("step"))(**step) for step in given]


def answer(request: dict[str, Any]) -> dict[str, Any]:
  """Measures what a request asks for, in this process."""
  import tensorflow as tf

  from liquid_tf._native import ops

  arguments = dict(request)
  module, _, name = arguments.pop("function").partition(":")
  function = getattr(importlib.import_module(module), name)
  if "transforms" in arguments:
    arguments["transforms"] = steps(arguments["transforms"])
  try:
    return function(**arguments)
  except (
    ValueError,
    ImportError,
    OSError,
    errors.TooNoisyError,
    tf.errors.OpError,
  ) as error:
    of_dataset = isinstance(error, errors.ManifestError)
    return {
      "error": ops.reason(error),
      "argument": isinstance(error, ValueError) and not of_dataset,
    }


if __name__ == "__main__":
  os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
  with _words.worded(_words.marked):
    print(json.dumps(answer(json.loads(sys.stdin.read()))), flush=True)
