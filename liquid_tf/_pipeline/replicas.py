"""Chooses the encoding to read of each sample, where a dataset holds all of them."""

from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from liquid_tf._store import mix as mixes
from liquid_tf._store.mix import apportion
from liquid_tf._view.view import View
from liquid_tf.errors import ManifestError, WrongArgument


def sections(
  view: View, mix: str | Mapping[str, float] | None
) -> tuple[dict[str, int], dict[str, int]]:
  """Chooses the format of each sample.

  Of a replicated dataset, the stored order, which all formats share, is cut into a
  section for each format: sections, and not single samples, so that each format is
  still read in order.

  Args:
    view: samples of a dataset.
    mix: weights of formats, or None for those of the manifest.

  Returns:
    Where the section of each format begins, and how many samples it has; formats
    without a sample are left out.

  Raises:
    ManifestError: the formats do not hold the same samples in the same order.
    ValueError: `mix` is none of this dataset's formats, or the dataset has one encoding
      of each sample.
  """
  manifest = view.manifest
  if not manifest["replicated"]:
    if mix is not None:
      raise WrongArgument(
        "mix",
        mix,
        f"must be None: {view.path} has one encoding of each sample; convert with "
        "replicate=True to choose while loading",
      )
    counts = view.counts()
    return dict.fromkeys(counts, 0), counts
  shares = mixes.parse_shares(manifest["mix"] if mix is None else mix, "mix")
  known = list(manifest["formats"])
  for name in shares:
    if name not in known:
      raise WrongArgument(
        "mix: format",
        name,
        f"must be one of {', '.join(known)}, the formats of {manifest.directory}",
      )
  names = [name for name in known if name in shares]
  samples = common_samples(view, names)
  weights = [Fraction(str(shares[name])) for name in names]
  counts = apportion(samples, weights)
  first = np.cumsum([0, *counts]).tolist()
  found = [section for section in zip(names, first, counts) if section[2]]
  return {name: at for name, at, _ in found}, {name: n for name, _, n in found}


def common_samples(view: View, names: list[str]) -> int:
  """How many samples each of some formats of a view holds: the same ones.

  Raises:
    ManifestError: they do not hold the same in one order.
  """
  samples = [view.rows(name)["sample"] for name in names]
  for name, other in zip(names, samples):
    if not np.array_equal(other, samples[0]):
      raise ManifestError(
        f"{view.manifest.index_path}: {name} does not hold the samples of "
        f"{names[0]} in their order, although the dataset is replicated"
      )
  return len(samples[0])
