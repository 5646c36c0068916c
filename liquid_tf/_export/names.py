"""Tells the names of exported files apart."""

import hashlib
from collections.abc import Iterable

import numpy as np


class Unique:
  """Tells names apart: those that two samples would have get their samples' numbers.

  Args:
    names: of all samples, of which eight bytes each are kept.
    count: how many there are.

  """

  def __init__(self, names: Iterable[str], count: int):
    self._changed = 0
    self._every = np.sort(np.fromiter(map(_hash, names), np.uint64, count))
    self._twice = set(self._every[1:][self._every[1:] == self._every[:-1]].tolist())

  def name(self, name: str, number: int) -> str:
    """The name of a sample.

    Args:
      name: one of those that were given.
      number: of the sample.
    """
    if not self._twice or _hash(name) not in self._twice:
      return name
    self._changed += 1
    name = f"{name}-{number:08}"
    while self._has(name):
      name += "-"
    return name

  def _has(self, name: str) -> bool:
    wanted = np.uint64(_hash(name))
    place = np.searchsorted(self._every, wanted)
    return bool(place < len(self._every) and self._every[place] == wanted)

  @property
  def notes(self) -> list[str]:
    """A sentence on names that got a number, if any."""
    if not self._changed:
      return []
    return [
      f"names that two samples would have ({self._changed}), as a.jpg and a.png in one "
      "format, end with the samples' numbers"
    ]


def _hash(name: str) -> int:
  digest = hashlib.blake2b(name.encode(errors="surrogateescape"), digest_size=8)
  return int.from_bytes(digest.digest(), "little")
