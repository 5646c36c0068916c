"""Measurements in fresh processes, so that none inherits another's memory."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

# Functions that a worker runs: a Liquid dataset, and image files through stock tf.data.
OURS = "liquid_tf._measure.pipeline:measure"
STOCK = "liquid_tf._measure.stock:measure"


def run(
  request: dict[str, Any], environment: Mapping[str, str] | None = None
) -> dict[str, Any]:
  """Runs `liquid_tf._measure.worker` on a request.

  Args:
    request: see the worker.
    environment: variables that it has beside this process's.

  Returns:
    Its measurement.

  Raises:
    ValueError: an argument is wrong; the message names it.
    ChildProcessError: it could not measure, or ended without an answer, as when memory
      ran out.
  """
  command = [sys.executable, "-m", "liquid_tf._measure.worker"]
  answer = ask(command, request, environment or {})
  if "error" in answer:
    raise (ValueError if answer["argument"] else ChildProcessError)(answer["error"])
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
