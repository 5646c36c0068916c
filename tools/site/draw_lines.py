"""Draws lines of the source at random, for a reader to say where each stands.

usage: draw_lines.py [COUNT [SEED [places]]]

docs/architecture.md alone should place them: the folders of 19 of 20 lines, and the
files of 14. By default COUNT is 20, and SEED the last commit's hash; `places` shows
where the lines stand.
"""

import pathlib
import random
import subprocess
import sys

_ROOT = pathlib.Path(__file__).resolve().parents[2]
_ROOMS = ("liquid_tf", "ops", "tools")
_SOURCES = ("*.py", "*.h", "*.cc", "*.cuh", "*.cu")
# Lines before and behind a drawn one, since few can be told by themselves.
_AROUND = 2


def _git(*words: str) -> list[str]:
  return subprocess.check_output(["git", *words], cwd=_ROOT, text=True).split()


def main(count: str = "20", seed: str = "", places: str = "") -> None:
  paths = _git("ls-files", *(f"{room}/{s}" for room in _ROOMS for s in _SOURCES))
  texts = {path: (_ROOT / path).read_text().splitlines() for path in paths}
  lines = [(p, i) for p in paths for i, s in enumerate(texts[p]) if s.strip(" {}();")]
  seed = seed or _git("rev-parse", "HEAD")[0]
  for n, (path, i) in enumerate(random.Random(seed).sample(lines, int(count)), start=1):
    print(f"--- {n}", f"{path}:{i + 1}" if places else "")
    print("\n".join(texts[path][max(0, i - _AROUND) : i + _AROUND + 1]))


if __name__ == "__main__":
  main(*sys.argv[1:])
