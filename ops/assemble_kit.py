"""Makes the folder of ops/kit.bzl.

It holds core.a, all members of the given archives; kit.json, the recipe; exports.lds;
libraries.json, which says what core.a contains; and the sources under their own
paths, those that the build makes too. The same inputs give the same bytes.
"""

import argparse
import pathlib
import shutil
import subprocess


def _merge(ar: str, archives: list[str], output: pathlib.Path) -> None:
  lines = [f"create {output}", *(f"addlib {name}" for name in archives), "save", "end"]
  # D: no times or owners.
  subprocess.run([ar, "-MD"], input="\n".join(lines) + "\n", text=True, check=True)


def _copy(path: str, to: pathlib.Path) -> None:
  to.parent.mkdir(parents=True, exist_ok=True)
  shutil.copyfile(path, to)


def main() -> None:
  parser = argparse.ArgumentParser(description=__doc__)
  for name in ("ar", "folder", "made", "recipe", "exports", "parts"):
    parser.add_argument(f"--{name}", required=True)
  parser.add_argument("--archives", nargs="+", required=True)
  parser.add_argument("--sources", nargs="+", required=True)
  flags = parser.parse_args()
  folder = pathlib.Path(flags.folder)
  folder.mkdir(parents=True, exist_ok=True)
  _merge(flags.ar, flags.archives, folder / "core.a")
  _copy(flags.recipe, folder / "kit.json")
  _copy(flags.exports, folder / "exports.lds")
  _copy(flags.parts, folder / "libraries.json")
  for path in flags.sources:
    _copy(path, folder / path.removeprefix(f"{flags.made}/"))


if __name__ == "__main__":
  main()
