"""Installs a wheel in clean systems, beside each TensorFlow, and uses it there.

usage: release_check.py WHEEL [FLAGS]

Needs root and debootstrap. Each suite of Debian becomes a minimal system with Python
and without a compiler. There, each TensorFlow of requirements/wheels.txt that pip finds
for that Python is installed with the wheel into a virtual environment, and
tests/release_steps.py runs. Then a TensorFlow is tried that the wheel does not serve,
and `liquid-tf build-ops`, in a system with g++, for one whose op library was removed.
Prints a table in Markdown, and exits with 1 if a step failed. Nothing outside the
folder of the systems is changed.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import types
from collections.abc import Mapping
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[2]
_STEPS = ROOT / "tests" / "release_steps.py"
_PACKAGES = "python3,python3-venv,ca-certificates"
_USES = ("readme_lines", "convert", "inspect", "profile", "fit", "kill_and_resume")
# What this machine trusts and how it finds others hold there too.
_SHARED = ("/etc/resolv.conf", "/etc/ssl/certs/ca-certificates.crt")
# $1: the system; the rest runs in it. The mounts vanish with the process. A network of
# its own has no more than this machine itself, which must be told.
_ENTER = """
ip link set lo up
mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev" &&
mount --bind "$1/../pip" "$1/var/cache/pip" && exec chroot "$@"
"""


class Row(NamedTuple):
  """What became of one TensorFlow in one system.

  Attributes:
    system: suite and Python.
    tensorflow: version.
    steps: name and seconds of what ended well.
    problem: what failed, or is not to be had.
    failed: whether it is a failure.
  """

  system: str
  tensorflow: str
  steps: dict[str, int]
  problem: str
  failed: bool


def enter(
  root: pathlib.Path,
  *command: str,
  env: Mapping[str, str] = types.MappingProxyType({}),
  network: bool = True,
  quiet: bool = True,
) -> subprocess.CompletedProcess:
  """Runs a command in a system, with nothing of this environment but pip's settings.

  Args:
    root: the system.
    command: program and arguments.
    env: more of the environment.
    network: whether it has one.
    quiet: whether its output is caught, and not shown.
  """
  names = [name for name in os.environ if name.startswith("PIP_")]
  kept = {name: os.environ[name] for name in names if name != "PIP_FIND_LINKS"}
  unshare = ["unshare", "--mount", *([] if network else ["--net"])]
  return subprocess.run(
    [*unshare, "sh", "-c", _ENTER, "sh", str(root), *command],
    env={
      "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
      "HOME": "/root",
      "LANG": "C.UTF-8",
      "DEBIAN_FRONTEND": "noninteractive",
      "TF_CPP_MIN_LOG_LEVEL": "2",
      **kept,
      "PIP_CACHE_DIR": "/var/cache/pip",
      **env,
    },
    capture_output=quiet,
    text=True,
  )


def make_root(
  folder: pathlib.Path, suite: str, mirror: str, name: str = "", more: str = ""
) -> pathlib.Path:
  """A system of Debian, in a folder of its name, with more packages; kept if there."""
  root = folder / (name or suite)
  if not (root / "usr/bin/python3").exists():
    shutil.rmtree(root, ignore_errors=True)
    packages = f"--include={_PACKAGES}{more}"
    words = ["--variant=minbase", packages, suite, str(root), mirror]
    with open(f"{root}.log", "w") as log:
      subprocess.run(["debootstrap", *words], stdout=log, stderr=log, check=True)
  for path in _SHARED:
    if os.path.exists(path):
      shutil.copyfile(path, root / path[1:])
  (root / "var/cache/pip").mkdir(parents=True, exist_ok=True)
  (folder / "pip").mkdir(exist_ok=True)
  return root


class _Place:
  """A virtual environment in a system, and the row that it fills."""

  def __init__(self, root: pathlib.Path, wheel: pathlib.Path, tensorflow: str):
    self._root, self._wheel, self._tensorflow = root, wheel, tensorflow
    python = enter(root, "python3", "--version").stdout.strip()
    self.row = Row(f"{root.name}, {python}", tensorflow, {}, "", False)
    self._folder = root / "release"
    shutil.rmtree(self._folder, ignore_errors=True)
    (self._folder / "work").mkdir(parents=True)
    for path in (wheel, _STEPS, ROOT / "README.md"):
      shutil.copyfile(path, self._folder / path.name)

  def _fail(self, problem: str, failed: bool = True) -> bool:
    self.row = self.row._replace(problem=problem, failed=failed)
    return False

  def _timed(self, name: str, *command: str) -> subprocess.CompletedProcess:
    start = time.monotonic()
    done = enter(self._root, *command)
    if not done.returncode:
      self.row.steps[name] = round(time.monotonic() - start)
    return done

  def make(self) -> bool:
    done = self._timed("venv", "python3", "-m", "venv", "/release/venv")
    return not done.returncode or self._fail(f"venv: {done.stderr}")

  def install(self, name: str, *packages: str) -> bool:
    """Installs the wheel, with "[EXTRA]" or nothing, and other packages."""
    extra, *others = packages
    words = ["/release/venv/bin/python", "-m", "pip", "install", "--quiet"]
    words += ["--only-binary=:all:", f"/release/{self._wheel.name}{extra}", *others]
    done = self._timed(name, *words)
    if not done.returncode:
      return True
    if "No matching distribution found for tensorflow-cpu" in done.stderr:
      return self._fail("pip finds none for this Python", failed=False)
    return self._fail(f"{name}: {done.stderr[-2000:]}")

  def run(self, *steps: str) -> bool:
    words = [f"/release/{_STEPS.name}", "/release/README.md", "/release/work", *steps]
    done = enter(self._root, "/release/venv/bin/python", "-I", *words)
    for name, seconds in re.findall(r"^(\w+)\t(\d+)$", done.stdout, re.MULTILINE):
      self.row.steps[name] = int(seconds)
    return not done.returncode or self._fail(f"{done.stdout}\n{done.stderr[-4000:]}")

  def end(self) -> Row:
    shutil.rmtree(self._folder)
    return self.row


def _used(
  root: pathlib.Path, wheel: pathlib.Path, tensorflow: str, extras: bool
) -> Row:
  """A TensorFlow that the wheel serves; what other extras bring, if `extras`."""
  place = _Place(root, wheel, tensorflow)
  if place.make() and place.install("install", "") and place.run("without_tensorflow"):
    if place.install("install_tensorflow", "[cpu]", f"tensorflow-cpu=={tensorflow}"):
      place.run("photographs", *(("other_extras",) if extras else ()), *_USES)
  return place.end()


def _refused(root: pathlib.Path, wheel: pathlib.Path, tensorflow: str) -> Row:
  """A TensorFlow that the wheel does not serve, and one that is made up."""
  place = _Place(root, wheel, tensorflow)
  if place.make() and place.install("install", "", f"tensorflow-cpu=={tensorflow}"):
    place.run("refusal", "made_up_refusal")
  return place.end()


def _built(root: pathlib.Path, wheel: pathlib.Path, tensorflow: str) -> Row:
  """A TensorFlow whose op library is left out, and built with the system's compiler."""
  place = _Place(root, wheel, tensorflow)
  if place.make() and place.install("install", "", f"tensorflow-cpu=={tensorflow}"):
    place.run("photographs", "leave_out", "build_ops", *_USES)
  return place.end()


def _cell(row: Row, step: str) -> str:
  if step in row.steps:
    return f"{row.steps[step]} s"
  return "FAILED" if row.failed else "-"


def table(rows: list[Row]) -> str:
  """The rows in Markdown, with seconds for each step that ended well."""
  steps = list(dict.fromkeys(step for row in rows for step in row.steps))
  lines = ["| system | TensorFlow | " + " | ".join(steps) + " | |"]
  lines.append("| --- " * (len(steps) + 3) + "|")
  for row in rows:
    said = row.problem if not row.failed else "failed"
    cells = [row.system, row.tensorflow, *(_cell(row, step) for step in steps), said]
    lines.append(f"| {' | '.join(cells)} |".replace("|  |", "| |"))
  return "\n".join(lines)


def _versions() -> str:
  text = (ROOT / "requirements" / "wheels.txt").read_text()
  return ",".join(re.findall(r"^tensorflow-cpu==(\S+)", text, re.MULTILINE))


def main() -> int:
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument("wheel", type=pathlib.Path)
  parser.add_argument("--folder", default="build/roots", help="where the systems lie")
  parser.add_argument("--suites", default="bookworm,trixie", help="of Debian")
  parser.add_argument("--tensorflow", default=_versions(), help="versions")
  parser.add_argument(
    "--refused", default="2.15.1", help="TensorFlow, of the first suite"
  )
  parser.add_argument("--built", default="2.20.0", help="TensorFlow to build ops for")
  parser.add_argument("--mirror", default="http://deb.debian.org/debian")
  flags = parser.parse_args()
  folder = pathlib.Path(flags.folder).absolute()
  folder.mkdir(parents=True, exist_ok=True)
  start = time.monotonic()
  rows = []

  def note(row: Row) -> None:
    rows.append(row)
    print(f"{row.system}, TensorFlow {row.tensorflow}: {row.steps}", flush=True)
    if row.problem:
      print(row.problem, flush=True)

  first, *_ = suites = flags.suites.split(",")
  versions = list(filter(None, flags.tensorflow.split(",")))
  for suite in suites:
    root = make_root(folder, suite, flags.mirror)
    for tensorflow in versions:
      # The same sentences with each.
      extras = (suite, tensorflow) == (first, versions[0])
      note(_used(root, flags.wheel, tensorflow, extras))
  if flags.refused:
    note(_refused(folder / first, flags.wheel, flags.refused))
  if flags.built:
    root = make_root(folder, first, flags.mirror, f"{first}-g++", ",g++")
    note(_built(root, flags.wheel, flags.built))
  print(f"\n{table(rows)}\n\n{(time.monotonic() - start) / 60:.0f} minutes")
  return 1 if any(row.failed for row in rows) else 0


if __name__ == "__main__":
  sys.exit(main())
