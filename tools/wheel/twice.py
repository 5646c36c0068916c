"""Makes the wheel and the source distribution twice, and compares their bytes.

usage: twice.py [NAME=VALUE ...]

Two clones of the last commit lie in folders of different depth. In each, `make wheels
sdist` runs with the given variables of make, such as WHEEL_VERSIONS=2.21.0, and with an
umask, locale, time zone and hash seed of its own. Bazel's cache on disk is left out, so
that everything is compiled twice: give BUILD_FLAGS= to let it be used. Prints the sums,
and exits with 1 if they differ.
"""

import hashlib
import os
import pathlib
import subprocess
import sys
import tempfile

_ROOT = pathlib.Path(__file__).resolve().parents[2]
# Headers of TensorFlow, 2 GB of downloads for all versions, are the same ones.
_MAKE = f"BUILD_FLAGS=--disk_cache= HEADERS={_ROOT / 'build' / 'tensorflow'}"
_BUILDS = {
  "a": (0o022, {"LC_ALL": "C", "TZ": "UTC", "PYTHONHASHSEED": "1"}),
  "deep/er/b": (
    0o077,
    {"LC_ALL": "C.UTF-8", "TZ": "Asia/Tokyo", "PYTHONHASHSEED": "2"},
  ),
}


def _make(folder: pathlib.Path, umask: int, env: dict[str, str], *words: str) -> None:
  command = ["make", "-C", str(folder), *words]
  environment = {**os.environ, **env}
  subprocess.run(command, env=environment, umask=umask, check=True, stdout=sys.stderr)


def _sums(folder: pathlib.Path) -> dict[str, str]:
  paths = sorted((folder / "dist").iterdir())
  return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}


def main(variables: list[str]) -> int:
  found = []
  with tempfile.TemporaryDirectory() as parent:
    for name, (umask, env) in _BUILDS.items():
      folder = pathlib.Path(parent, name)
      words = ["git", "clone", "--quiet", str(_ROOT), str(folder)]
      subprocess.run(words, umask=umask, check=True)
      try:
        _make(folder, umask, env, "wheels", "sdist", *_MAKE.split(), *variables)
        found.append(_sums(folder))
      finally:
        _make(folder, umask, env, "clean")
  for sums in found:
    for name, value in sums.items():
      print(f"{value}  {name}")
  print("the same bytes" if found[0] == found[1] else "DIFFERENT bytes")
  return 0 if found[0] == found[1] else 1


if __name__ == "__main__":
  sys.exit(main(sys.argv[1:]))
