"""The evidence of a measurement: machine, versions, command."""

import importlib.metadata
import os
import pathlib
import platform
import shlex
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from liquid_tf._version import __version__

_PACKAGES = ("tensorflow", "tensorflow-cpu", "keras", "numpy", "pillow")


def evidence(path: str | os.PathLike | None = None) -> dict[str, Any]:
  """Collects what a reader needs to judge, and to repeat, a measurement.

  Args:
    path: a file or folder that was read.

  Returns:
    `command`, `versions`, `cpu`, `cpus` that this process may use, `memory_bytes`,
    `disk` of `path`, and `revision` of
    the checkout; None where unknown.
  """
  return {
    "command": _command(),
    "versions": _versions(),
    "cpu": _cpu(),
    "cpus": len(os.sched_getaffinity(0)),
    "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
    "disk": None if path is None else _disk(path),
    "revision": _revision(),
  }


def load() -> float:
  """Processes that the whole machine ran at once, over the last minute."""
  return round(os.getloadavg()[0], 1)


def with_evidence(place: str, measure: Callable[[], dict[str, Any]]) -> dict[str, Any]:
  """Measures; adds what shows how: machine, versions, command, load.

  Args:
    place: on the disk that is measured.
    measure: gives the result.
  """
  before = load()
  return measure() | {"evidence": {**evidence(place), "load_before": before}}


def _command() -> str:
  """This process's, in the words of a user: a checkout runs `liquid-tf` as a module."""
  spec = getattr(sys.modules["__main__"], "__spec__", None)
  module = "" if spec is None else spec.name
  if pathlib.Path(sys.argv[0]).name == "liquid-tf":
    program = ["liquid-tf"]
  elif module.startswith("tools.") and not module.startswith("tools.bench"):
    program = ["liquid-tf", module.removeprefix("tools.").replace("_", "-")]
  else:
    module = module.removesuffix(".__main__")
    program = ["python", "-m", module] if module else ["python", sys.argv[0]]
  return shlex.join([*program, *sys.argv[1:]])


def _versions() -> dict[str, str]:
  versions = {"liquid_tf": __version__, "python": platform.python_version()}
  for name in _PACKAGES:
    try:
      versions[name] = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
      continue
  versions["kernel"] = platform.release()
  return versions


def _cpu() -> str | None:
  with open("/proc/cpuinfo") as file:
    for line in file:
      if line.startswith("model name"):
        return line.split(":", 1)[1].strip()
  return platform.machine() or None


def _disk(path: str | os.PathLike) -> dict[str, str] | None:
  """The file system and device that hold a path."""
  device = os.stat(path).st_dev
  number = f"{os.major(device)}:{os.minor(device)}"
  with open("/proc/self/mountinfo") as file:
    for line in file:
      fields, _, rest = line.partition(" - ")
      if fields.split()[2] == number:
        filesystem, source = rest.split()[:2]
        return {"filesystem": filesystem, "device": source}
  return None


def _revision() -> str | None:
  """Commit of the checkout this package lies in, "+" where files differ from it."""
  folder = pathlib.Path(__file__).resolve().parent

  def git(*arguments: str) -> str:
    return subprocess.run(
      ["git", "-C", os.fspath(folder), *arguments],
      capture_output=True,
      text=True,
      check=True,
      timeout=10,
    ).stdout.strip()

  try:
    if not git("ls-files", pathlib.Path(__file__).name):
      return None  # Some other repository around an installed package.
    return git("rev-parse", "--short=12", "HEAD") + (
      "+" if git("status", "--porcelain", "--untracked-files=no") else ""
    )
  except (OSError, subprocess.SubprocessError):
    return None
