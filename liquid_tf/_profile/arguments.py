"""Checks the arguments of `profile`."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

from liquid_tf._convert import pipelines
from liquid_tf._cost import budget, model, similarity
from liquid_tf._native import whole
from liquid_tf._pipeline import gpu
from liquid_tf._profile import devices, names
from liquid_tf._store import mix as mixes
from liquid_tf._words import setting
from liquid_tf.errors import WrongArgument
from liquid_tf.transforms import Step

STRATEGIES = ("lp", "search")

# What `cache="auto"` has of `memory="auto"`, beside buffers and look-ahead, roughly.
_CACHE_OF_MEMORY = 0.75

# A share of a dataset is found to this part.
_PARTS = 10**6


@dataclasses.dataclass(frozen=True)
class Options:
  """The checked arguments of a profile; see `liquid_tf.profile`."""

  formats: list[str]
  strategy: str
  trials: int
  seconds: float
  batch_size: int
  threads: int
  cache: int | str
  reserve: float
  space: int | None
  step_ms: float | None
  transforms: tuple[Step, ...]
  decode: str
  resources: dict[str, model.Resource]
  encoding: pipelines.Encoding
  seed: int
  pcr: dict[str, Any] | None = None
  least_mssim: float | None = None

  @property
  def consumer(self) -> float | None:
    """The images per second that the training takes by itself; None if not known."""
    return None if self.step_ms is None else 1000 * self.batch_size / self.step_ms


def cache_of(cache: int | str) -> int | float:
  """Bytes of `cache=`, or the share of the dataset where it is one (a float).

  Raises:
    ValueError: it is neither.
  """
  if cache == "auto":
    return int(_CACHE_OF_MEMORY * budget.resolve_memory("auto"))
  # Checks both forms.
  (share,) = budget.cached_samples(cache, [_PARTS], [0], 0)
  if isinstance(cache, str) and "%" in cache:
    return share / _PARTS
  return budget.parse_bytes(cache, "cache")


def runs_of(runs: tuple[int, float]) -> tuple[int, float]:
  """The trials, and the seconds of a run."""
  try:
    trials, seconds = runs
    right = 2 <= trials <= 1000 and 0.01 <= seconds <= 3600
  except (TypeError, ValueError):
    right = False
  if not right or not isinstance(trials, int):
    raise WrongArgument(
      "runs", runs, "must be (trials, seconds), from 2 to 1000 and .01 to 3600"
    )
  return trials, seconds


def reserve_of(reserve: float) -> float:
  """The share of the processors that the data may not use."""
  if not isinstance(reserve, (int, float)) or not 0 <= reserve <= 0.99:
    raise WrongArgument("reserve", reserve, "must be from 0 to 0.99")
  return reserve


def space_of(space: int | str | None) -> int | None:
  """Bytes that the dataset may take; None for any."""
  if space is None:
    return None
  try:
    return whole.number(budget.parse_bytes(space, "space"), "space", 1)
  except ValueError:
    raise WrongArgument("space", space, 'must be bytes, as "500GB", or None') from None


def check_resources(resources: Mapping[str, Mapping[str, float]]) -> None:
  """Checks that there are seconds by name and format."""
  if not isinstance(resources, Mapping):
    raise WrongArgument("resources", resources, "must give seconds by name and format")
  for name, seconds in resources.items():
    for value in seconds.values() if isinstance(seconds, Mapping) else [None]:
      if not isinstance(value, (int, float)) or not 0 <= value < math.inf:
        raise WrongArgument(
          f'resources["{name}"]', seconds, "must give seconds by format, from 0"
        )


def resources_of(
  given: Mapping[str, Mapping[str, float]],
  formats: Sequence[str],
  decode: str,
  step_ms: float | None,
  batch_size: int,
) -> dict[str, model.Resource]:
  """The given resources; where the GPU decodes, with a training step's share of it."""
  used = {name: dict(seconds) for name, seconds in given.items()}
  if decode == "gpu" and step_ms is not None:
    on_gpu = used.setdefault("gpu", {})
    for name in formats:
      on_gpu[name] = on_gpu.get(name, 0.0) + step_ms / 1e3 / batch_size
  return {name: model.Resource(seconds) for name, seconds in used.items()}


def check_gpu(formats: Sequence[str] | None, strategy: str) -> None:
  """Checks that the GPU of this machine decodes the formats."""
  found = devices.problem()
  if found is not None:
    raise WrongArgument("decode", "gpu", f'must be "cpu" here: {found}')
  for name in formats or ():
    if name not in gpu.FORMATS:
      raise WrongArgument(
        "formats",
        name,
        f"must be of {', '.join(gpu.FORMATS)} with {setting('decode', 'gpu')}",
      )
  if strategy == "search":
    raise WrongArgument(
      "strategy",
      "search",
      f'must be "lp" with {setting("decode", "gpu")}: the search knows no GPU',
    )


def formats_of(formats: Sequence[str]) -> list[str]:
  """The names, each of which is known and comes once."""
  chosen = list(mixes.parse_mix(dict.fromkeys(formats, 1)))
  if len(chosen) < len(list(formats)):
    raise WrongArgument("formats", formats, "must be different names")
  return chosen


def check_mssim(least_mssim: float, formats: Sequence[str]) -> None:
  """Checks the bound of scan groups, which needs pcr among the formats."""
  similarity.check_bound(least_mssim, "least_mssim")
  if names.PCR not in formats:
    raise WrongArgument(
      "least_mssim",
      least_mssim,
      f"needs pcr among formats; there are {', '.join(formats)}",
    )
