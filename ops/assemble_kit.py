"""Makes the folder of ops/kit.bzl.

It holds kit.json, the recipe; exports.lds; engine.lds, which has the id of the engine
that the sources are for; libraries.json, which says what that engine contains; and the
sources under their own paths, those that the build makes too. The same inputs give the
same bytes.
"""

import argparse
import pathlib
import shutil


def _copy(path: str, to: pathlib.Path) -> None:
  to.parent.mkdir(parents=True, exist_ok=True)
  shutil.copyfile(path, to)


def main() -> None:
  parser = argparse.ArgumentParser(description=__doc__)
  for name in ("folder", "made", "recipe", "exports", "engine", "parts"):
    parser.add_argument(f"--{name}", required=True)
  parser.add_argument("--sources", nargs="+", required=True)
  flags = parser.parse_args()
  folder = pathlib.Path(flags.folder)
  folder.mkdir(parents=True, exist_ok=True)
  _copy(flags.recipe, folder / "kit.json")
  _copy(flags.exports, folder / "exports.lds")
  _copy(flags.engine, folder / "engine.lds")
  _copy(flags.parts, folder / "libraries.json")
  for path in flags.sources:
    _copy(path, folder / path.removeprefix(f"{flags.made}/"))


if __name__ == "__main__":
  main()
