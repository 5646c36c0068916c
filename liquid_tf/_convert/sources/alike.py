"""Names that people take for one, since they differ only in how they are spelled."""

import os
import unicodedata
from collections.abc import Collection, Iterable, Mapping

from liquid_tf.errors import ConvertError


def spelling(name: str) -> str:
  """A key that is equal for names which differ only in case, Unicode form or blanks."""
  small = unicodedata.normalize("NFC", name).lower()
  return " ".join(unicodedata.normalize("NFC", small).split())


def first_alike(names: Iterable[str]) -> tuple[str, str] | None:
  """The first two names that are spelled alike, and are not equal; or None."""
  seen: dict[str, str] = {}
  for name in names:
    other = seen.setdefault(spelling(name), name)
    if other != name:
      return other, name
  return None


def shown(name: str) -> str:
  """A name as an error shows it, where others look like it: with its code points."""
  return f'"{name}"' if name.isascii() else f'"{name}" ({ascii(name)[1:-1]})'


def differ_only(both: tuple[str, str], places: Mapping[str, str] | None = None) -> str:
  """Says that two names are alike.

  Args:
    both: the names.
    places: by name, where it is; None where that is the name itself.
  """
  one, other = (shown((places or {}).get(name, name)) for name in both)
  return (
    f"{one} and {other}, which differ only in the case of letters, in Unicode form or "
    "in blanks"
  )


def sorted_classes(what: str, names: Collection[str]) -> list[str]:
  """The names of labels as classes, sorted.

  Args:
    what: has the labels, for people.
    names: of the labels.

  Raises:
    ConvertError: two are hardly different.
  """
  both = first_alike(names)
  if both is not None:
    raise ConvertError(
      f"{what} has the labels {differ_only(both)}: give both one name if they are one "
      "class, or clearly different ones"
    )
  return sorted(names, key=os.fsencode)
