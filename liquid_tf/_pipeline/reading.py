"""Samples that a worker reads, and their formats."""

import dataclasses
from fractions import Fraction

from liquid_tf._pipeline import fidelity as _fidelity
from liquid_tf._pipeline import mixes as _mixes
from liquid_tf._pipeline import parts as _parts
from liquid_tf._pipeline import replicas
from liquid_tf._pipeline import rest as _rest
from liquid_tf._pipeline import weighing as _weighing
from liquid_tf._pipeline.arguments import Arguments
from liquid_tf._pipeline.source import open_source
from liquid_tf._pipeline.weighing import Read, Weighing
from liquid_tf._view.mixture import Mixture
from liquid_tf._view.view import View
from liquid_tf.errors import WrongArgument


@dataclasses.dataclass(frozen=True)
class Reading:
  """Samples that a worker reads, and their formats.

  Attributes:
    view: samples of a dataset, or a mixture of some.
    reads: what each source reads.
    part: of that, the worker's.
    weighing: how often samples are drawn; None for once an epoch.
    samples: that are dealt to all workers, each in one format; None where formats share
      samples, and with weights.
    groups: the share of the records that are read through each scan group; None where
      they have no shares.
  """

  view: View | Mixture
  reads: list[Read]
  part: _parts.Part
  weighing: Weighing | None = None
  samples: _rest.Samples | None = None
  groups: dict[int, Fraction] | None = None


def of(arguments: Arguments) -> Reading:
  """Finds which samples a worker reads, by what `dataset` is given.

  Args:
    arguments: that were checked.

  Raises:
    ManifestError: there is no sound dataset.
    ValueError: an argument does not go with the dataset or another one.
  """
  view = open_source(arguments.path, arguments.split)
  groups = _fidelity.shares(arguments.fidelity)
  weighing = _weighing.of(view, arguments.shard, arguments.shard_policy)
  if groups is not None:
    _check_groups(arguments, weighing is not None)
  if weighing is not None:
    return _weighed(arguments, view, weighing)
  if view.manifest["replicated"] and _mixes.is_changing(arguments.mix):
    return _shared(arguments, view)
  return _dealt(arguments, view, groups)


def _weighed(arguments: Arguments, view: View | Mixture, weighing: Weighing) -> Reading:
  _weighing.check(weighing, arguments.shuffle, arguments.mix, arguments.cache_policy)
  reads = _weighing.reads(weighing, arguments.mix)
  return Reading(view, reads, _weighing.part(weighing, reads), weighing)


def _shared(arguments: Arguments, view: View) -> Reading:
  """All formats have one range of samples, whatever mix a worker chooses of them."""
  _check_changing(arguments)
  formats = _mixes.in_order(view.formats)
  common = replicas.common_samples(view, formats)
  part = _parts.common_part(formats, common, arguments.shard, arguments.shard_policy)
  return Reading(view, _reads(view, formats), part)


def _dealt(
  arguments: Arguments, view: View, groups: dict[int, Fraction] | None
) -> Reading:
  """Each sample is read in one format."""
  first, counts = replicas.sections(view, arguments.mix)
  part = _parts.worker_part(counts, arguments.shard, arguments.shard_policy, first)
  formats = list(part.ranges)
  if groups is not None:
    if list(counts) != ["pcr"]:
      raise WrongArgument(
        "fidelity",
        arguments.fidelity,
        "with shares needs a dataset that is read in pcr alone; there are "
        f"{', '.join(counts)}",
      )
    # Scan groups with shares are read as formats are that share all samples.
    formats = ["pcr"] * len(groups)
  samples = _rest.Samples(view, first, counts)
  return Reading(view, _reads(view, formats), part, samples=samples, groups=groups)


def _reads(view: View, formats: list[str]) -> list[Read]:
  return [Read(view, name, name) for name in formats]


def _check_groups(arguments: Arguments, weighted: bool) -> None:
  """Checks what goes with shares of scan groups."""
  fidelity, mix = arguments.fidelity, arguments.mix
  if not arguments.shuffle:
    raise WrongArgument(
      "shuffle",
      False,
      f"must be True where fidelity ({fidelity!r}) has shares: which samples are "
      "read at which changes between epochs, and the stored order does not",
    )
  if _mixes.is_changing(mix):
    raise WrongArgument(
      "mix", mix, f"must be one mix where fidelity ({fidelity!r}) has shares"
    )
  if weighted:
    raise WrongArgument(
      "fidelity",
      fidelity,
      "must have no shares with weights or a mixture, which are of formats other "
      "than pcr",
    )


def _check_changing(arguments: Arguments) -> None:
  """Checks what goes with a mix that may be another one in another epoch."""
  fidelity, epoch = arguments.fidelity, arguments.epoch
  chosen = arguments.mix == _mixes.AUTO
  name = '"auto"' if chosen else "a list"
  if not arguments.shuffle:
    raise WrongArgument(
      "shuffle",
      False,
      f"must be True where mix is {name}: the stored order is the same in every "
      "epoch only with one mix",
    )
  if arguments.cache_policy != "liquid":
    raise WrongArgument(
      "cache_policy", arguments.cache_policy, f'must be "liquid" where mix is {name}'
    )
  known = fidelity is None or _fidelity.constant(fidelity) is not None
  if chosen and not known:
    raise WrongArgument(
      "fidelity",
      fidelity,
      'must be a scan group or None where mix is "auto", which is chosen by the '
      "bytes that each format takes; with a mix or a list of mixes it may change",
    )
  if chosen and epoch is not None:
    raise WrongArgument(
      "epoch",
      epoch,
      'must be None where mix is "auto", which follows from the epochs before: give '
      "mix the list of their mixes, stats(dataset).mixes",
    )
