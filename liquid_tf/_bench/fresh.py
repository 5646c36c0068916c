"""Measurements in fresh processes, so that none inherits another's memory."""

import json
import os
import subprocess
import sys
from typing import Any


def run(request: dict[str, Any]) -> dict[str, Any]:
  """Runs `liquid_tf._bench.worker` on a request.

  Args:
    request: see the worker.

  Returns:
    Its measurement.

  Raises:
    ValueError: an argument is wrong; the message names it.
    ChildProcessError: it could not measure, or ended without an answer, as when memory
      ran out.
  """
  path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
  done = subprocess.run(
    [sys.executable, "-m", "liquid_tf._bench.worker"],
    input=json.dumps(request),
    env={**os.environ, "PYTHONPATH": path},
    capture_output=True,
    text=True,
  )
  if done.returncode != 0:
    last = (done.stderr.strip() or "it said nothing").splitlines()[-1]
    raise ChildProcessError(
      f"the measuring process ended with code {done.returncode}: {last}"
    )
  answer = json.loads(done.stdout.splitlines()[-1])
  if "error" in answer:
    raise (ValueError if answer["argument"] else ChildProcessError)(answer["error"])
  return answer
