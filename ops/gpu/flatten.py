"""Writes one source file from one that includes others of this project.

  python ops/gpu/flatten.py OUTPUT SOURCE HEADER...

Each header is put where it is first included; those of the system stay. The result
needs no search path, which a compiler at run time does not have.
"""

import pathlib
import re
import sys

_INCLUDE = re.compile(r'\s*#\s*include\s+"([^"]+)"')


def flatten(source: pathlib.Path, headers: list[pathlib.Path]) -> str:
  """The text of `source` with every header in place of its first include.

  Args:
    source: the file to begin with.
    headers: all that may be included, by paths that end as the includes do.

  Raises:
    ValueError: an include names no header, or more than one.
  """
  seen = set()

  def lines(path: pathlib.Path):
    for line in path.read_text().splitlines():
      include = _INCLUDE.match(line)
      if include is None:
        yield line
        continue
      name = include.group(1)
      found = [
        header for header in headers if f"/{header.as_posix()}".endswith("/" + name)
      ]
      if len(found) != 1:
        raise ValueError(f'{path} includes "{name}", which fits {len(found)} headers')
      if name not in seen:
        seen.add(name)
        yield from lines(found[0])

  return "\n".join(lines(source)) + "\n"


def main(output: str, source: str, *headers: str) -> None:
  text = flatten(pathlib.Path(source), [pathlib.Path(header) for header in headers])
  pathlib.Path(output).write_text(text)


if __name__ == "__main__":
  main(*sys.argv[1:])
