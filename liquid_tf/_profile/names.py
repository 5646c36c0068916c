"""Names of formats in a profile: those of a mix, and the scan groups of pcr.

Pcr that is read through a scan group is "pcr@5", and "pcr" is read whole. A dataset has
the same records for all of them (PCR, section 3), so what is converted is pcr, and what
a training reads of it is `dataset(fidelity=5)`.
"""

from collections.abc import Mapping

from liquid_tf._cost import model
from liquid_tf._store.mix import TARGETS

PCR = "pcr"
_AT = "@"


def name(group: int | None) -> str:
  """The name of pcr that is read through a scan group; None: whole."""
  return PCR if group is None else f"{PCR}{_AT}{group}"


def group(name: str) -> int | None:
  """The scan group that a name has; None for what is read whole."""
  _, at, number = name.partition(_AT)
  return int(number) if at else None


def target(name: str) -> str:
  """The name that `convert` takes in a mix."""
  return name.partition(_AT)[0]


def stored(name: str) -> str:
  """The format in a dataset."""
  return TARGETS[target(name)][0]


def fidelity(mix: Mapping[str, float]) -> int | None:
  """The fidelity that a mix is read at; its names have one scan group at most."""
  return next(filter(None, map(group, mix)), None)


def convertible(mix: Mapping[str, float]) -> dict[str, float]:
  """A mix as `convert` takes it."""
  return {target(name): share for name, share in mix.items()}


def profiled(mix: Mapping[str, float], fidelity: int | None) -> dict[str, float]:
  """A mix that `convert` takes, in the names of a profile that reads it so."""
  return {
    name(fidelity) if target == PCR else target: share for target, share in mix.items()
  }


def describe(mix: model.Mix) -> str:
  """A mix in the names of a profile, in tenths or hundredths: "png:6,raw:4"."""
  parts = {name: round(share * 100) for name, share in model.shares(mix).items()}
  if len(parts) == 1:
    return next(iter(parts))
  step = 10 if all(part % 10 == 0 for part in parts.values()) else 1
  return ",".join(f"{name}:{part // step}" for name, part in parts.items())
