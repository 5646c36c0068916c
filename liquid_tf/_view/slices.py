"""Parses `.split("train[10%:]+val")`: names of splits, and places in them."""

import dataclasses
import heapq
import re
from collections.abc import Sequence
from fractions import Fraction

from liquid_tf.errors import WrongArgument

_BOUND = re.compile(r"(-?)(\d{1,18})(\.\d{1,9})?(%?)\Z")


@dataclasses.dataclass(frozen=True)
class Slice:
  """A range of a split, or all of it.

  Attributes:
    split: name of the split.
    bounds: where it begins and ends, as texts, empty for the end of the split; None
      where the whole split is meant.
  """

  split: str
  bounds: tuple[str, str] | None

  def places(self, samples: int) -> tuple[int, int]:
    """First sample, and the one behind the last, of so many; clipped to these."""
    if self.bounds is None:
      return 0, samples
    begin, end = self.bounds
    first = _place(begin, samples) if begin else 0
    return first, _place(end, samples) if end else samples


def _place(bound: str, samples: int) -> int:
  sign, whole, decimals, percent = _BOUND.match(bound).groups()
  value = Fraction(whole + (decimals or ""))
  if percent:
    value = Fraction(round(value * samples / 100))
  place = int(value)
  return max(0, samples - place) if sign else min(place, samples)


def parse(text: str, known: Sequence[str]) -> list[Slice]:
  """Reads "train[10%:20%]+val", as TensorFlow Datasets writes it.

  Args:
    text: names of splits, joined by "+". Behind a name, in brackets, may stand where to
      begin and to end: numbers of samples, or percent; negative ones count from the
      end.
    known: names of the splits that there are.

  Raises:
    ValueError: the text is none, or names a split that there is not.
  """
  if not isinstance(text, str):
    raise WrongArgument("split", text, 'must be a text such as "train[:10%]"')
  if text in known:  # Its name may have any character.
    return [Slice(text, None)]
  return [_parse_one(part.strip(), text, known) for part in text.split("+")]


def _parse_one(part: str, text: str, known: Sequence[str]) -> Slice:
  name, bracket, rest = part.partition("[")
  name = name.strip()
  if name not in known:
    names = ", ".join(f'"{split}"' for split in known)
    raise WrongArgument("split", text, f': "{name}" must be one of {names}')
  if not bracket:
    return Slice(name, None)
  begin, colon, end = rest.removesuffix("]").partition(":")
  begin, end = begin.strip(), end.strip()
  right = rest.endswith("]") and colon == ":"
  for bound in (begin, end):
    match = _BOUND.match(bound)
    # Part of a sample is none.
    right &= not bound or (match is not None and bool(match[4] or not match[3]))
  if not right:
    raise WrongArgument(
      "split",
      text,
      f': "{part}" must be a name, or {name}[BEGIN:END], each bound nothing, a number '
      "of samples or percent",
    )
  for bound in (begin, end):
    if bound.endswith("%") and Fraction(bound.lstrip("-")[:-1]) > 100:
      raise WrongArgument("split", text, f": {bound} must be at most 100%")
  return Slice(name, (begin, end))


def cut(counts: Sequence[int], place: int) -> list[int]:
  """Where each format is cut so that `place` samples lie before all cuts together.

  Sample j of a format of n stands at (j + 1/2) / n of the split's way, so formats keep
  their shares, to a sample, and a later place never cuts a format earlier.

  Args:
    counts: samples of each format.
    place: at most their sum.

  Returns:
    For each format, how many of its samples lie before the cut.
  """
  total = max(1, sum(counts))
  cuts = [max(0, count * place // total - 2) for count in counts]
  waiting = [
    (Fraction(2 * cuts[i] + 1, 2 * count), i) for i, count in enumerate(counts) if count
  ]
  heapq.heapify(waiting)
  for _ in range(place - sum(cuts)):
    _, i = heapq.heappop(waiting)
    cuts[i] += 1
    if cuts[i] < counts[i]:
      heapq.heappush(waiting, (Fraction(2 * cuts[i] + 1, 2 * counts[i]), i))
  return cuts
