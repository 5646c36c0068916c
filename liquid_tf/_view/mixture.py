"""`liquid_tf.mixture`: samples of several datasets in constant shares."""

import hashlib
import math
import os
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from liquid_tf._view import weights as _weights
from liquid_tf._view.view import View, as_view
from liquid_tf._words import Shown, few
from liquid_tf.errors import WrongArgument

# Datasets of a mixture, and formats of all of them together, at most.
MOST_SOURCES = 64


class Mixture:
  """Samples of several datasets; made by `mixture`.

  `dataset` and `epochs` take it in the place of a path. It never changes, and can be
  pickled.

  Attributes:
    members: their views.
    shares: of each member, of an epoch; they sum to 1.
    samples_per_epoch: how many draws an epoch has.
  """

  def __init__(
    self,
    members: Sequence[View],
    shares: Sequence[Fraction],
    samples_per_epoch: int,
  ):
    self.members = tuple(members)
    self.shares = tuple(shares)
    self.samples_per_epoch = samples_per_epoch

  def __len__(self) -> int:
    return sum(map(len, self.members))

  def __repr__(self) -> str:
    parts = (
      f"{float(share):.4g} of {name}" for name, share in zip(self.names, self.shares)
    )
    return f"<Mixture of {self.samples_per_epoch} samples an epoch: {', '.join(parts)}>"

  @property
  def names(self) -> list[str]:
    """Name of each member's directory, numbered where two have the same."""
    stems = [
      os.path.basename(member.path.rstrip("/")).removesuffix(".liquid")
      for member in self.members
    ]
    counts, seen, names = Counter(stems), Counter(), []
    for stem in stems:
      seen[stem] += 1
      names.append(stem if counts[stem] == 1 else f"{stem}-{seen[stem]}")
    return names

  @property
  def fingerprint(self) -> str:
    """SHA-256, in hexadecimal, of members, shares and length."""
    parts = [str(self.samples_per_epoch)]
    for member, share in zip(self.members, self.shares):
      parts.append(f"{member.fingerprint} {share}")
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def mixture(
  members: Sequence[tuple[View, float]], samples_per_epoch: int | None = None
) -> Mixture:
  """Mixes datasets, so that every batch has a constant share of each.

  An epoch draws each member's samples in turn: once all were drawn, they are drawn
  again, and where an epoch ends, the next one goes on. Members may have weights of
  their own.

  Args:
    members: (view, weight) of each; weights are in proportion: [(a, .7), (b, .3)].
    samples_per_epoch: how many draws an epoch has. By default as many as it takes until
      each member has an epoch of its own length.

  Returns:
    What `dataset` and `epochs` take in the place of a path.

  Raises:
    ValueError: an argument is wrong, or members have unlike features or classes; the
      message says which.
  """
  members = list(members)
  if not members:
    raise WrongArgument("members", [], "must be at least one (view, weight)")
  views, given = [], []
  for i, member in enumerate(members):
    try:
      view, weight = member
    except (TypeError, ValueError):
      view, weight = member, None
    if not isinstance(view, View) or not _is_weight(weight):
      raise WrongArgument(
        f"members[{i}]",
        member,
        "must be (view, weight): what liquid_tf.open gives, and a number above 0",
      )
    views.append(view)
    given.append(_weights.exact(weight))
  for i, view in enumerate(views[1:], 1):
    problem = _difference(views[0].manifest, view.manifest)
    if problem:
      raise WrongArgument(
        f"members[{i}]",
        Shown(view.path),
        f"must be like members[0] ({views[0].path}): {problem}",
      )
  total = sum(given)
  shares = [weight / total for weight in given]
  if samples_per_epoch is None:
    draws = max(math.ceil(_length(v) / share) for v, share in zip(views, shares))
  else:
    draws = samples_per_epoch
  return Mixture(views, shares, _weights.check_draws(draws))


def refuse_mixture(name: str, value: Any) -> None:
  """Raises ValueError if an argument is a mixture, where one dataset must be."""
  if isinstance(value, Mixture):
    raise WrongArgument(name, value, "must be of one dataset, not a mixture")


def as_source(
  source: str | os.PathLike | View | Mixture, split: str | None = None
) -> View | Mixture:
  """The samples that an argument `path` and an argument `split` mean.

  Args:
    source: a dataset directory, a view or a mixture.
    split: as `as_view` takes it; None for a mixture.

  Raises:
    ManifestError: the directory is no sound dataset, or no longer that of a view.
    ValueError: there is no such split.
  """
  if not isinstance(source, Mixture):
    return as_view(source, split)
  if split is not None:
    raise WrongArgument(
      "split", split, "must be None with a mixture: give it views of splits"
    )
  for member in source.members:
    member.check_there()
  return source


def _length(view: View) -> int:
  return len(view) if view.weights is None else view.weights.samples_per_epoch


def _is_weight(weight: Any) -> bool:
  number = isinstance(weight, (int, float, Fraction, np.number))
  return number and not isinstance(weight, bool) and 0 < weight < math.inf


def _difference(first: Any, other: Any) -> str | None:
  """Difference that keeps two datasets out of one batch; None if there is none.

  Args:
    first: its manifest.
    other: likewise.
  """
  names, others = set(first["features"]), set(other["features"])
  if names != others:
    name = min(names ^ others)
    return f"only one of them has the feature {name!r}"
  for name in sorted(names):
    one, two = first["features"][name], other["features"][name]
    for key in sorted({*one, *two} - {"class_counts"}):
      a, b = one.get(key), two.get(key)
      if name in ("image", "mask") and key == "shape":
        # Steps may give images of unequal sizes one.
        a, b, key = a[-1], b[-1], "channels"
      if a == b:
        continue
      if key == "classes":
        named = (
          "not named" if c is None else few(list(map(repr, c)), 5) for c in (b, a)
        )
        return f"its classes are {', not '.join(named)}"
      return f"{name} has {key} {b}, not {a}"
  if list(first["supervised"]) != list(other["supervised"]):
    return f"it gives {other['supervised']}, not {first['supervised']}"
  return None
