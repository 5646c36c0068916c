"""Measurements in fresh processes, so that none inherits another's memory."""

import json
import os
import pathlib
import subprocess
import sys
from collections.abc import Mapping
from typing import Any


def run(
  request: dict[str, Any], environment: Mapping[str, str] | None = None
) -> dict[str, Any]:
  """Runs `liquid_tf.cli.bench.worker` on a request.

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
  command = [sys.executable, "-m", "liquid_tf.cli.bench.worker"]
  answer = _run(command, request, environment or {})
  if "error" in answer:
    raise (ValueError if answer["argument"] else ChildProcessError)(answer["error"])
  return answer


def run_peer(python: str, script: str, request: dict[str, Any]) -> dict[str, Any]:
  """Runs a script of this folder in another interpreter, which has a peer installed.

  Args:
    python: the interpreter.
    script: name of the file.
    request: see the script.

  Returns:
    Its measurement.

  Raises:
    ChildProcessError: it could not measure.
  """
  path = pathlib.Path(__file__).with_name(script)
  # Isolated: neither this interpreter's packages nor this folder's modules.
  return _run([python, "-I", os.fspath(path)], request, {})


def why_not(python: str, module: str) -> str | None:
  """Why an interpreter cannot import a module, in its own words; None where it can.

  Raises:
    OSError: there is no such interpreter.
  """
  done = subprocess.run(
    [python, "-I", "-c", f"import {module}"], capture_output=True, text=True
  )
  if done.returncode == 0:
    return None
  said = done.stderr.strip() or f"it ended with code {done.returncode}"
  return said.splitlines()[-1]


def _run(
  command: list[str], request: dict[str, Any], environment: Mapping[str, str]
) -> dict[str, Any]:
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
