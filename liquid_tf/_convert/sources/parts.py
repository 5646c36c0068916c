"""Sets of files whose names say how many they are, as data-00000-of-00004."""

import posixpath
import re
from collections.abc import Iterator, Sequence

from liquid_tf._convert.sources.left_out import LeftOut
from liquid_tf._store import schemes

_PART = re.compile(r"(.*?)(\d+)([-_]of[-_])(\d{1,6})(?!\d)(.*)", re.DOTALL)


def missing(paths: Sequence[str], samples: int) -> Iterator[LeftOut]:
  """Yields the files that are not among the parts of their sets.

  Args:
    paths: of the files.
    samples: that a file has, roughly.
  """
  sets: dict[tuple[str, ...], dict[int, int]] = {}
  for path in map(schemes.shown, paths):
    folder, name = posixpath.split(path)
    match = _PART.fullmatch(name)
    if match:
      before, number, of, count, after = match.groups()
      found = sets.setdefault((folder, before, of, count, after), {})
      found[int(number)] = len(number)
  for (folder, before, of, count, after), found in sets.items():
    digits = max(found.values())
    # Some count from 1.
    first = int(int(count) in found and 0 not in found)
    for number in range(first, first + int(count)):
      if number not in found:
        name = f"{before}{number:0{digits}}{of}{count}{after}"
        reason = f"is missing: the names of the others say that there are {int(count)}"
        yield LeftOut(posixpath.join(folder, name), reason, samples)
