"""Runs figures, and keeps what they measured.

The evidence of a figure is FOLDER/NAME.json: {figure, settings, command, parts {name:
{revision, load_before, others, seconds, result}}, complete, evidence}. `others` are the
processors that other programs kept busy meanwhile. It is written after every part, so
that a run that was interrupted goes on with the next one.
"""

import json
import os
import pathlib
import time
from collections.abc import Mapping
from typing import Any

from liquid_tf._measure import evidence
from tools.bench import machine
from tools.bench.papers.figure import FIGURES, Figure, Setting


def path_of(folder: str | os.PathLike, figure: Figure) -> pathlib.Path:
  """Where the evidence of a figure is."""
  return pathlib.Path(folder, f"{figure.name}.json")


def read(folder: str | os.PathLike, figure: Figure) -> dict[str, Any] | None:
  """The evidence of a figure, whole or not; None where there is none.

  Raises:
    ValueError: the file holds no evidence of this figure.
  """
  path = path_of(folder, figure)
  if not path.exists():
    return None
  try:
    found = json.loads(path.read_text())
  except ValueError as error:
    raise ValueError(f"{path} is no JSON: {error}") from error
  if not isinstance(found, dict) or found.get("figure") != figure.name:
    raise ValueError(f"{path} holds no evidence of {figure.name}")
  return found


def whole(folder: str | os.PathLike) -> dict[str, dict[str, Any]]:
  """The evidence of all figures that have it all, by name.

  Raises:
    ValueError: a file of the folder holds no evidence of its figure.
  """
  every = {name: read(folder, figure) for name, figure in FIGURES.items()}
  return {name: found for name, found in every.items() if found and found["complete"]}


def run(
  figure: Figure, setting: Setting, folder: str | os.PathLike
) -> dict[str, Any] | None:
  """Runs the parts of a figure that have not been run, and stores each.

  Args:
    figure: which.
    setting: what it is given; `setting.folder` is made where it is not there.
    folder: of the evidence; made where it is not there.

  Returns:
    The whole evidence; None where the figure cannot be run here, or with these images.

  Raises:
    ValueError: what is there was measured with another setting, or a part says so.
    ChildProcessError: a measurement failed, or was refused.
  """
  path, say = path_of(folder, figure), setting.say
  found = read(folder, figure)
  if found and found["complete"]:
    say(
      f"{figure.name} is there, {minutes(found):.1f} minutes: remove {path} to run it "
      "again"
    )
    return found
  if found and found["settings"] != setting.record:
    raise ValueError(
      f"{path} was begun with {json.dumps(found['settings'])}, not "
      f"{json.dumps(setting.record)}: remove it, or give what it was begun with"
    )
  reason = figure.why_not() or figure.lacks(setting)
  if reason:
    say(f"{figure.name} is left out: {reason}")
    return None
  found = found or {
    "figure": figure.name,
    "settings": setting.record,
    "command": _command(figure, setting),
    "parts": {},
    "complete": False,
  }
  setting.folder.mkdir(parents=True, exist_ok=True)
  pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
  around = evidence.evidence(setting.folder)
  del around["command"]  # It names folders of this machine.
  revision = around.pop("revision")  # Parts may be of several.
  for name, measure in figure.parts(setting).items():
    if name in found["parts"]:
      say(f"{figure.name}, {name}: is there")
      continue
    say(f"{figure.name}, {name}")
    load, others = evidence.load(), machine.Others()
    begin = time.perf_counter()
    result = measure()
    found["parts"][name] = {
      "revision": revision,
      "load_before": load,
      "others": round(others.busy(), 1),
      "seconds": round(time.perf_counter() - begin, 1),
      "result": result,
    }
    found["evidence"] = around
    _write(path, found)
  found["complete"] = True
  _write(path, found)
  say(f"{figure.name}: {minutes(found):.1f} minutes")
  return found


def minutes(found: Mapping[str, Any]) -> float:
  """How long the parts took together."""
  return sum(part["seconds"] for part in found["parts"].values()) / 60


def _command(figure: Figure, setting: Setting) -> str:
  """The command, without this machine's folders."""
  words = ["python -m tools.bench papers", figure.name]
  named = [f"{images.name}=FOLDER" for images in setting.sets if images.paths]
  if named:
    words.append(f"--data={','.join(named)}")
  if setting.dali_python:
    words.append("--dali_python=dali/bin/python")
  return " ".join(words + ["--quick"] * setting.quick)


def _write(path: pathlib.Path, found: dict[str, Any]) -> None:
  temporary = path.with_name(f".{path.name}.tmp")
  temporary.write_text(json.dumps(found, indent=1) + "\n")
  temporary.rename(path)
