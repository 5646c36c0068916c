"""Parses a mix of formats, or of splits."""

import difflib
import math
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction

from liquid_tf._store import formats
from liquid_tf._words import Shown
from liquid_tf.errors import WrongArgument

# Name in a mix -> (format, whether the format is lossless as it is asked for).
TARGETS = {
  name: (row.name, row.lossless and name == row.name)
  for row in formats.ROWS
  for name in (row.name, row.lossy_name)
  if name is not None
}

# Formats of which a file may have to become another one of the same format: a WebP may
# be lossy, and a pcr has scan groups of its own.
REMADE = ("webp", "pcr")

_SPLIT_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]*\Z")


def parse_shares(
  shares: str | Mapping[str, float], argument: str, example: str = "png:6,raw:4"
) -> dict[str, int | float]:
  """Reads "a:6,b:4" or {"a": 6, "b": 4}; a name alone, "a", is all of it.

  Args:
    shares: names with positive weights; only their ratios count.
    argument: name of the caller's argument, for errors.
    example: of what it may be, likewise.

  Returns:
    The weights in the order given; whole numbers as int.

  Raises:
    ValueError: no name, a name twice, or a weight that is not positive.
  """
  if isinstance(shares, str):
    pairs = []
    items = shares.split(",")
    for item in items:
      name, colon, weight = item.partition(":")
      if not name.strip() or (not colon and len(items) > 1):
        raise WrongArgument(argument, shares, f'must look like "{example}"')
      pairs.append((name.strip(), weight if colon else "1"))
  elif isinstance(shares, Mapping):
    pairs = list(shares.items())
  else:
    pairs = ", ".join(
      f'"{name}": {weight}'
      for name, _, weight in (one.partition(":") for one in example.split(","))
    )
    raise WrongArgument(
      argument, shares, f'must be weights by name, as "{example}" or {{{pairs}}}'
    )
  if not pairs:
    raise ValueError(f"{argument} must name at least one")
  result = {}
  for name, weight in pairs:
    try:
      number = float(weight)
    except (TypeError, ValueError):
      number = math.nan
    if not 0 < number < math.inf:
      raise WrongArgument(
        f'{argument}: "{name}"', Shown(weight), "must be a number > 0"
      )
    if name in result:
      raise ValueError(f'{argument} names "{name}" twice')
    result[name] = int(number) if number == int(number) else number
  return result


def parse_mix(mix: str | Mapping[str, float]) -> dict[str, int | float]:
  """Reads a mix of formats.

  Returns:
    Weights by the names of TARGETS, in the order of the formats' numbers, so that
    equal mixes give equal datasets however they are written.

  Raises:
    ValueError: see `parse_shares`; a format that cannot be written, or a codec twice.
  """
  shares = parse_shares(mix, "mix")
  for name in shares:
    if name not in TARGETS:
      near = difflib.get_close_matches(name.lower(), TARGETS, 1)
      hint = f"; did you mean {near[0]}?" if near else ""
      raise WrongArgument(
        "mix: format", name, f"must be one of {', '.join(TARGETS)}{hint}"
      )
  for row in formats.ROWS:
    if row.name in shares and row.lossy_name in shares:
      raise ValueError(
        f"mix names {row.name} and {row.lossy_name}: a dataset holds one or the other"
      )

  def number(name: str) -> int:
    return formats.BY_NAME[TARGETS[name][0]].number

  return {name: shares[name] for name in sorted(shares, key=number)}


def parse_splits(splits: str | Mapping[str, float]) -> dict[str, int | float]:
  """Reads weights of splits, in the order given.

  Raises:
    ValueError: see `parse_shares`; or a name that cannot be part of a file's name.
  """
  shares = parse_shares(splits, "splits", "train:.9,val:.1")
  for name in shares:
    if not is_split_name(name):
      raise WrongArgument(
        "splits: name",
        name,
        'must be letters, digits, "_" and "-", as in "train:.9,val:.1"',
      )
  return shares


def is_split_name(name: str) -> bool:
  """Whether a split of this name can be part of a file's name."""
  return bool(_SPLIT_NAME.match(name))


def apportion(
  total: int, weights: Sequence[Fraction], owed: Sequence[Fraction] | None = None
) -> list[int]:
  """Splits `total` by weights: each gets the floor or the ceiling of its share.

  Args:
    total: what to split.
    weights: positive.
    owed: added to the remainders when the ceilings are given out.
  """
  whole = sum(weights)
  exact = [weight * total / whole for weight in weights]
  counts = [int(share) for share in exact]
  claim = [
    share - count + (owed[i] if owed else 0)
    for i, (share, count) in enumerate(zip(exact, counts))
  ]
  # A share that is whole has no ceiling to be given.
  fractional = [i for i in range(len(weights)) if exact[i] != counts[i]]
  fractional.sort(key=lambda i: (-claim[i], i))
  for i in fractional[: total - sum(counts)]:
    counts[i] += 1
  return counts
