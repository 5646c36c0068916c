"""Other loaders, measured in interpreters that have them installed."""

import os
import pathlib
import subprocess
from typing import Any

from liquid_tf._measure import fresh


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
  return fresh.ask([python, "-I", os.fspath(path)], request, {})


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
