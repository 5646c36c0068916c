"""Other loaders, each measured in an interpreter that has it installed."""

import dataclasses
import os
import pathlib
import subprocess
from typing import Any

from liquid_tf._measure import fresh
from liquid_tf.errors import WrongArgument


@dataclasses.dataclass(frozen=True)
class Peer:
  """Another loader.

  Attributes:
    title: on pages.
    script: of this folder, run by its interpreter; None for stock tf.data, which is
      here.
    module: that its interpreter must be able to import.
  """

  title: str
  script: str | None = None
  module: str = ""


PEERS = {
  "stock": Peer("tf.data"),
  "dali": Peer("DALI", "peer_dali.py", "nvidia.dali"),
  "ffcv": Peer("FFCV", "peer_ffcv.py", "ffcv"),
  "torchvision": Peer("torchvision", "peer_torchvision.py", "torchvision"),
  "grain": Peer("Grain", "peer_grain.py", "grain"),
  "spdl": Peer("SPDL", "peer_spdl.py", "spdl.io"),
}


def run(name: str, python: str | None, request: dict[str, Any]) -> dict[str, Any]:
  """Measures a peer in a fresh process.

  Args:
    name: of PEERS.
    python: an interpreter that has it; None for stock tf.data.
    request: see its script, or `liquid_tf._measure.stock.measure`.

  Returns:
    Its measurement.

  Raises:
    ChildProcessError: it could not measure.
  """
  script = PEERS[name].script
  if script is None:
    return fresh.run({"function": fresh.STOCK, **request})
  path = pathlib.Path(__file__).with_name(script)
  # Isolated: neither this interpreter's packages nor this folder's modules.
  return fresh.ask([python, "-I", os.fspath(path)], request, {})


def why_not(name: str, python: str) -> str | None:
  """Why an interpreter cannot import a peer, in its own words; None where it can.

  Raises:
    ValueError: there is no such interpreter.
  """
  try:
    done = subprocess.run(
      [python, "-I", "-c", f"import {PEERS[name].module}"],
      capture_output=True,
      text=True,
    )
  except OSError as error:
    raise WrongArgument(
      f"{name}_python", python, f"must be a Python interpreter: {error.strerror}"
    ) from error
  if done.returncode == 0:
    return None
  said = done.stderr.strip() or f"it ended with code {done.returncode}"
  return f"{python} cannot import {PEERS[name].module}: {said.splitlines()[-1]}"


def used(answers: list[dict[str, Any]]) -> dict[str, Any]:
  """Versions of a peer, and the different settings of its answers."""
  settings = dict.fromkeys(answer["settings"] for answer in answers)
  return {"versions": answers[-1]["versions"], "settings": list(settings)}
