"""Files and rows of a source that are in no sample, and the samples lost with them.

Among them are missing files of a set, whose names say how many they are, as
data-00000-of-00004.
"""

import posixpath
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from liquid_tf._store import schemes
from liquid_tf._words import setting


class LeftOut(NamedTuple):
  """A file or a record that is in no sample.

  Attributes:
    path: where, for people.
    reason: why it is left out.
    samples: how many are lost with it. They count against what may be skipped; files
      that were never meant to be samples, as hidden ones, do not.
    advice: what to do instead, if the reason does not say it.
  """

  path: str
  reason: str
  samples: int = 0
  advice: str = ""


def mend_or_skip() -> str:
  """Says what to do about a file that cannot be read, for the end of an error."""
  skip = setting("on_error", "skip")
  return f"mend or remove it, or skip what cannot be read with {skip}"


def most_telling(left_out: list[LeftOut]) -> str:
  """The first reasons why there is nothing, for the end of an error; or ""."""
  reasons = "; ".join(f"{one.path} {one.reason}" for one in left_out[:3])
  return f": {reasons}" if reasons else ""


_PART = re.compile(r"(.*?)(\d+)([-_]of[-_])(\d{1,6})(?!\d)(.*)", re.DOTALL)


def missing_parts(paths: Sequence[str], samples: int) -> Iterator[LeftOut]:
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
