"""Arguments of `liquid_tf.dataset`, and the checks that they go together."""

import dataclasses
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from liquid_tf._cost import cache as _cache
from liquid_tf._cost.cache import Cache
from liquid_tf._native import tensors, whole
from liquid_tf._native.limits import Limits
from liquid_tf._pipeline import draws as _draws
from liquid_tf._pipeline import parts as _parts
from liquid_tf._pipeline import tuning as _tuning
from liquid_tf._pipeline.fidelity import Fidelity
from liquid_tf._pipeline.parts import Shard
from liquid_tf._pipeline.start import Given
from liquid_tf._pipeline.tuning import Tuning
from liquid_tf._view.mixture import Mixture
from liquid_tf._view.view import View
from liquid_tf._words import setting
from liquid_tf.errors import WrongArgument
from liquid_tf.transforms import Boxes, Step, Views

if TYPE_CHECKING:
  import tensorflow as tf

_POLICIES = ("liquid", "minio", "page")


@dataclasses.dataclass(frozen=True, eq=False)
class Arguments:
  """Arguments of `liquid_tf.dataset`, and those of `epochs` and comparisons alone.

  Attributes:
    path: as `dataset` takes it, like all others that are not named here.
    epoch: makes every iterator run this epoch. It may be a scalar tensor of int64,
      such as the argument of `Dataset.flat_map`; then nothing is cached.
    steps: (first, count) of that epoch's batches, numbers or scalar tensors; by
      default all. Samples of other batches are not read.
    cache_policy: which samples memory keeps; as `interleave` takes it, or "page" for
      what the kernel keeps.
    draws_in_order: whether steps may draw by chance in stored order, as a measurement
      of their cost has it.
  """

  path: str | os.PathLike | View | Mixture
  batch_size: int | None = 32
  _: dataclasses.KW_ONLY
  split: str | None = None
  shuffle: bool = True
  seed: int = 0
  memory: int | str = "auto"
  cache: int | str | Cache = "auto"
  fidelity: Fidelity = None
  mix: str | Mapping[str, float] | Sequence[str | Mapping[str, float]] | None = None
  transforms: Sequence[Step] | Views = ()
  features: Sequence[str | Boxes] | None = None
  decode: str = "cpu"
  shard: Shard = (0, 1)
  shard_policy: str = "pad"
  on_error: str = "raise"
  start: Given = (0, 0)
  last_batch: str = "short"
  tuning: Tuning = Tuning()
  limits: Limits = Limits()
  epoch: "int | tf.Tensor | None" = None
  steps: "tuple[int | tf.Tensor, int | tf.Tensor] | None" = None
  cache_policy: str = "liquid"
  draws_in_order: bool = False

  def checked(self) -> "Arguments":
    """The same, with numbers as such: `cache` is a `Cache`, `shard` (index, count).

    Raises:
      ValueError: one is wrong, or does not go with the others; the message names it.
    """
    batch_size = self.batch_size
    if batch_size is None:
      self._check_without_batches()
    else:
      batch_size = whole.number(batch_size, "batch_size", 1, ", or None")
    _tuning.check(self.tuning)
    cache = _cache.of(self.cache)
    size = _cache_size(self.epoch, self.steps, cache.size)
    cache = dataclasses.replace(cache, size=size)
    if self.cache_policy not in _POLICIES:
      raise WrongArgument(
        "cache_policy", self.cache_policy, f"must be one of {', '.join(_POLICIES)}"
      )
    if self.cache_policy == "page":
      self._check_page_cache(cache)
      cache = dataclasses.replace(cache, size=0)
    _draws.check_last_batch(self.last_batch, ("short", "drop", "repeat"))
    _parts.check_policy(self.shard_policy)
    shard = _parts.resolve_shard(self.shard)
    return dataclasses.replace(self, batch_size=batch_size, cache=cache, shard=shard)

  def _check_without_batches(self) -> None:
    if self.decode != "cpu":
      raise WrongArgument(
        "batch_size",
        None,
        f"must be a number with {setting('decode', self.decode)}, which gives whole "
        "batches",
      )
    if self.last_batch != "short":
      raise WrongArgument(
        "last_batch",
        self.last_batch,
        'must be "short" with batch_size=None, which gives no batches',
      )

  def _check_page_cache(self, cache: Cache) -> None:
    if cache.size not in (0, "auto"):
      raise WrongArgument(
        "cache",
        cache.size,
        'must be 0 or "auto" with cache_policy="page", where the kernel decides what '
        "is cached",
      )
    if self.tuning.reader != "auto":
      raise WrongArgument(
        "reader",
        self.tuning.reader,
        'must be "auto" with cache_policy="page", which reads through the page cache',
      )
    if cache.form != "encoded":
      raise WrongArgument(
        "Cache: form",
        cache.form,
        'must be "encoded" with cache_policy="page", where the kernel keeps what is '
        "stored",
      )


def _cache_size(epoch: Any, steps: Any, cache: int | str) -> int | str:
  """Checks `epoch=` and `steps=`.

  Returns:
    `cache`; 0 for "auto" where the epoch is a tensor or only a part of one is run:
    which epochs follow one another in a process is then unknown.

  Raises:
    ValueError: one is wrong, or does not go with the others; the message names it.
  """
  if epoch is not None and not _is_count(epoch):
    raise WrongArgument(
      "epoch", epoch, "must be at least 0, a scalar tensor of int64, or None"
    )
  if steps is not None:
    whole = isinstance(steps, tuple | list) and len(steps) == 2
    if not whole or not all(_is_count(step) for step in steps):
      raise WrongArgument(
        "steps",
        steps,
        "must be (first, count), each at least 0 or a scalar tensor of int64, or None",
      )
    if epoch is None:
      raise WrongArgument("steps", steps, "are those of an epoch: give epoch, too")
  if steps is None and not tensors.is_tensor(epoch):
    return cache
  if cache not in (0, "auto"):
    raise WrongArgument(
      "cache",
      cache,
      'must be 0 or "auto" where epoch is a tensor or steps are given: nothing is '
      "kept from one epoch to the next",
    )
  return 0


def _is_count(value: Any) -> bool:
  if tensors.is_tensor(value):
    return value.shape.rank == 0 and value.dtype.name == "int64"
  whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
  return whole and value >= 0
