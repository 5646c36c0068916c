"""Finds docstrings and words that the house's English does without.

usage: wording.py [FOLDER]

A docstring begins with a verb or names the thing, never with What, Which or Of; and no
line has nobody, somebody, anybody or whoever, in code or text. Prints each offender of
the Python below FOLDER, by default the package, as path:line. tests/layers_test.py
allows none.
"""

import ast
import pathlib
import re
import sys

_BEGINNING = re.compile(r"\s*(What|Which|Of)\b")
_WORDS = re.compile(r"\b(nobody|somebody|anybody|whoever)\b", re.IGNORECASE)
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def beginnings(source: str) -> list[int]:
  """Lines of the docstrings that begin with one of those words."""
  return sorted(
    node.body[0].lineno
    for node in ast.walk(ast.parse(source))
    if isinstance(node, _DOCUMENTED)
    and _BEGINNING.match(ast.get_docstring(node, clean=False) or "")
  )


def words(source: str) -> list[int]:
  """Lines that have one of those words, once for each."""
  return [
    number
    for number, line in enumerate(source.split("\n"), start=1)
    for _ in _WORDS.findall(line)
  ]


def offenders(folder: pathlib.Path) -> tuple[list[str], list[str]]:
  """Docstrings and words to rewrite in the Python below a folder, as path:line."""
  found: tuple[list[str], list[str]] = [], []
  for path in sorted(folder.rglob("*.py")):
    source = path.read_text(encoding="utf-8")
    for places, find in zip(found, (beginnings, words)):
      places += [f"{path}:{line}" for line in find(source)]
  return found


def main(folder: str = "liquid_tf") -> None:
  begun, said = offenders(pathlib.Path(folder))
  print("\n".join([*begun, *said]))
  print(f"{len(begun)} docstrings and {len(said)} words", file=sys.stderr)


if __name__ == "__main__":
  if len(sys.argv) > 2:
    sys.exit(__doc__)
  main(*sys.argv[1:])
