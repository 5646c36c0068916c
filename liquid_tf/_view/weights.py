"""How often samples are drawn: weights by sample or by class."""

import dataclasses
import hashlib
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from liquid_tf._native import whole
from liquid_tf._store.manifest import Manifest
from liquid_tf._words import Shown, few
from liquid_tf.errors import WrongArgument

# Different weights of samples, at most: a sample has the place of its own in 16 bits.
MOST_WEIGHTS = 1 << 16

# What one worker's plan counts with.
MOST_SAMPLES = 2**32 - 2


@dataclasses.dataclass(frozen=True)
class Weights:
  """Weights of the samples of a view.

  Samples with one place in the palette are a group, whose share of an epoch is exact.

  Attributes:
    palette: weights of a sample, above 0; the same weight may be there twice.
    places: shape [bound], uint16, the place in the palette by sample number.
    samples_per_epoch: how many draws an epoch has.
    unlabelled: samples that were left out, since they have no label.
  """

  palette: tuple[Fraction, ...]
  places: np.ndarray
  samples_per_epoch: int
  unlabelled: int = 0

  def digest(self, numbers: np.ndarray) -> str:
    """SHA-256, in hexadecimal, of all that the draws follow from.

    Args:
      numbers: of the samples.
    """
    text = f"{self.samples_per_epoch} {' '.join(map(str, self.palette))} "
    digest = hashlib.sha256(text.encode())
    digest.update(self.places[numbers].astype("<u2").tobytes())
    return digest.hexdigest()


def of_samples(
  bound: int,
  numbers: np.ndarray,
  values: Sequence[float],
  samples_per_epoch: int | None,
) -> tuple[np.ndarray, Weights | None]:
  """Weights that samples have by themselves.

  Args:
    bound: above every sample number.
    numbers: of the samples, ascending.
    values: of each its weight.
    samples_per_epoch: None for as many as have a weight above 0.

  Returns:
    The numbers of samples whose weight is above 0; and their weights, or None where
    each is drawn once an epoch.

  Raises:
    ValueError: these are no weights.
  """
  values = np.asarray(values)
  if values.shape != numbers.shape or values.dtype.kind not in "iuf":
    raise WrongArgument(
      "weights",
      Shown(f"{values.dtype}, shape {list(values.shape)}"),
      f"must be numbers of shape [{len(numbers)}], one for each sample in the order "
      "of the view's numbers, or a dict of classes",
    )
  if not np.isfinite(values).all() or (values < 0).any():
    wrong = values[~np.isfinite(values) | (values < 0)][0]
    raise WrongArgument("weights", wrong, "must be finite and at least 0")
  drawn = values > 0
  if not drawn.any():
    raise ValueError("weights must be above 0 for some sample; all are 0")
  numbers, values = numbers[drawn], values[drawn]
  palette, places = np.unique(values, return_inverse=True)
  if len(palette) > MOST_WEIGHTS:
    palette, places = _round(values)
  weights = [exact(weight) for weight in palette.tolist()]
  return numbers, _make(bound, numbers, weights, places, samples_per_epoch)


def of_classes(
  manifest: Manifest,
  labels: np.ndarray | None,
  numbers: np.ndarray,
  classes: Mapping[str | int, float],
  samples_per_epoch: int | None,
) -> tuple[np.ndarray, Weights | None]:
  """Weights of the samples of classes; those that are not named have weight 1.

  Args:
    manifest: of the dataset.
    labels: by sample number, as `labels.load` gives them.
    numbers: of the samples, ascending.
    classes: of a class, by name or number, the weight of each of its samples.
    samples_per_epoch: as in `of_samples`.

  Raises:
    ValueError: a class is none, or its weight is no weight; or samples do not have one
      class each.
  """
  _check_classes(manifest, labels, "weights (a dict)")
  names = manifest.classes or []
  of_samples = labels[numbers]
  count = max(len(names), int(of_samples.max(initial=-1)) + 1)
  weights = [Fraction(1)] * count
  for key, value in classes.items():
    number = names.index(key) if key in names else key
    right = isinstance(number, (int, np.integer)) and not isinstance(number, bool)
    if not right or not 0 <= number < count:
      raise WrongArgument(
        "weights: class",
        key,
        f"must be a class of {manifest.directory}: "
        f"{few(list(map(repr, names)), 10) if names else f'a number below {count}'}",
      )
    if not isinstance(value, (int, float, Fraction, np.number)) or not (
      0 <= value < float("inf")
    ):
      raise ValueError(f"weights: that of {key!r} ({value!r}) must be at least 0")
    weights[number] = exact(value)
  # Samples without a label are drawn as those of a class that is not named.
  return _by_class(
    manifest, labels, numbers, [*weights, Fraction(1)], samples_per_epoch
  )


def balanced(
  manifest: Manifest,
  labels: np.ndarray | None,
  numbers: np.ndarray,
  samples_per_epoch: int | None,
) -> tuple[np.ndarray, Weights | None]:
  """Weights with which each class has an equal share of an epoch.

  Args:
    manifest: of the dataset.
    labels: by sample number, as `labels.load` gives them.
    numbers: of the samples, ascending; those without a label are left out.
    samples_per_epoch: as in `of_samples`.

  Raises:
    ValueError: samples do not have one class each, or none of them has one.
  """
  _check_classes(manifest, labels, "balanced()")
  labelled = numbers[labels[numbers] >= 0]
  if not len(labelled):
    raise ValueError(
      f"balanced() needs samples with a label; {manifest.directory} has "
      "none among those that are chosen"
    )
  sizes = np.bincount(labels[labelled])
  weights = [Fraction(1, max(1, size)) for size in sizes.tolist()]
  weights.append(Fraction(0))
  kept, found = _by_class(manifest, labels, labelled, weights, samples_per_epoch)
  if found is not None:
    unlabelled = len(numbers) - len(labelled)
    found = dataclasses.replace(found, unlabelled=unlabelled)
  return kept, found


def _by_class(
  manifest: Manifest,
  labels: np.ndarray,
  numbers: np.ndarray,
  weights: list[Fraction],
  samples_per_epoch: int | None,
) -> tuple[np.ndarray, Weights | None]:
  """As `of_samples`; `weights` by class, the last one that of no class."""
  if len(weights) > MOST_WEIGHTS:
    raise ValueError(
      f"weights by class are for at most {MOST_WEIGHTS - 1} classes; "
      f"{manifest.directory} has {len(weights) - 1}"
    )
  of_samples = labels[numbers]
  above = np.array([weight > 0 for weight in weights])
  drawn = above[of_samples]
  if not drawn.any():
    raise ValueError("weights must be above 0 for the class of some sample")
  numbers, of_samples = numbers[drawn], of_samples[drawn]
  used, places = np.unique(of_samples, return_inverse=True)
  palette = [weights[k] for k in used.tolist()]
  return numbers, _make(len(labels), numbers, palette, places, samples_per_epoch)


def _make(
  bound: int,
  numbers: np.ndarray,
  palette: list[Fraction],
  places: np.ndarray,
  samples_per_epoch: int | None,
) -> Weights | None:
  draws = len(numbers)
  if samples_per_epoch is not None:
    draws = check_draws(samples_per_epoch)
  if draws == len(numbers) and len(set(palette)) == 1:
    return None
  by_number = np.zeros(bound, np.uint16)
  by_number[numbers] = places
  return Weights(tuple(palette), by_number, draws)


def check_draws(samples_per_epoch: int) -> int:
  """Checks `samples_per_epoch=`.

  Raises:
    ValueError: it is none.
  """
  draws = whole.number(samples_per_epoch, "samples_per_epoch", 1)
  if draws > MOST_SAMPLES:
    raise WrongArgument("samples_per_epoch", draws, f"must be at most {MOST_SAMPLES}")
  return draws


def _check_classes(manifest: Manifest, labels: np.ndarray | None, what: str) -> None:
  if labels is None or labels.dtype.kind != "i":
    raise ValueError(
      f"{what} needs samples with one class each; those of {manifest.directory} have "
      f"{'none' if labels is None else 'several'}: give an array of weights, one "
      "for each sample"
    )


def exact(weight: Any) -> Fraction:
  """The shortest decimal that is this number: .1 is a tenth."""
  if isinstance(weight, Fraction):
    return weight
  return (
    Fraction(repr(float(weight)))
    if isinstance(weight, float)
    else Fraction(str(weight))
  )


def _round(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
  """Values in as many steps as there are places, each a part above the one below."""
  logs = np.log(values.astype(np.float64))
  steps = MOST_WEIGHTS - 1
  least, most = logs.min(), logs.max()
  places = np.rint((logs - least) * (steps / (most - least))).astype(np.int64)
  used, places = np.unique(places, return_inverse=True)
  return np.exp(least + used * ((most - least) / steps)), places
