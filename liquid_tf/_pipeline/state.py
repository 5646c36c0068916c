"""State that the epochs of one dataset share."""

import abc
import json
import logging
import os
import weakref
from collections.abc import Sequence
from typing import Any

from liquid_tf._cost import budget
from liquid_tf._cost import cache as _cache
from liquid_tf._cost.cache import Cache
from liquid_tf._native import whole
from liquid_tf.errors import WrongArgument

_logger = logging.getLogger(__name__)

# By their ids: of a set, a thread could not be shown all while another adds one.
_live: weakref.WeakValueDictionary[int, "State"] = weakref.WeakValueDictionary()


class State(abc.ABC):
  """State that the epochs of one dataset share: their number, cache and counters.

  Args:
    cache: what lasts between epochs; see `Snapshot`, as for the other two.
    memory: whole budget.
    start: (epoch, step) of the first batch.

  Attributes:
    most_bytes: that the pipeline may take of its memory; often the dataset is less. 0
      until there is one.
    refused: what `seek` raises where a place is none.
    unmade: what `stats_json` raises where nothing has used the state yet, or no longer.

  Raises:
    ValueError: an argument is wrong; the message names it.
  """

  refused: type[Exception] = ValueError
  unmade: type[Exception] | tuple[type[Exception], ...] = LookupError

  def __init__(
    self,
    cache: int | str | Cache = 0,
    memory: int | str = "auto",
    *,
    start: tuple[int, int] = (0, 0),
  ):
    try:
      epoch, step = start
    except (TypeError, ValueError):
      raise WrongArgument("start", start, "must be (epoch, step)") from None
    self.start = (
      whole.number(epoch, "epoch of start", 0),
      whole.number(step, "step of start", 0),
    )
    self.cache = _cache.of(cache)
    self.memory = budget.resolve_memory(memory, _promised() if memory == "auto" else 0)
    self.most_bytes = 0
    self._owner = os.getpid()
    _live[id(self)] = self
    _logger.info("memory: %s resolved to %d bytes", memory, self.memory)

  @abc.abstractmethod
  def seek(
    self,
    epoch: int,
    step: int = 0,
    cached: Sequence[int] = (),
    mixes: Sequence[int] = (),
    rest: Any = None,
  ) -> None:
    """Makes the next epoch that is begun `epoch`, from its batch `step` on.

    Args:
      epoch: its number.
      step: batches of it to leave out.
      cached: samples of each format that the plan keeps between epochs, where they
        are to be others than before.
      mixes: of a dataset whose mix changes, those of all epochs that were begun, as
        `stats_json` gives them.
      rest: draws what is left of the epoch, where other numbers of workers began it;
        `step` is then one of its batches.
    """

  @property
  def is_open(self) -> bool:
    """Whether it may take memory still."""
    return True

  @abc.abstractmethod
  def stats_json(self, batches: bool = False) -> str:
    """Counters as JSON; see `liquid_tf.stats`.

    Raises:
      unmade: there are none yet.
    """


def _promised() -> int:
  """Bytes that this process's pipelines may still take of what is free now.

  A training set's memory is free until its first epoch, and would be given once more
  to the validation set beside it.
  """
  held = 0
  # A forked child must not ask its parent's, whose locks may be taken.
  found = [reference() for reference in _live.valuerefs()]
  live = [
    one
    for one in found
    if one is not None and one._owner == os.getpid() and one.is_open
  ]
  for one in live:
    try:
      pool = json.loads(one.stats_json())["pool"]
    except one.unmade:  # Nothing has used it yet; or another thread has closed it.
      continue
    held = pool["used"] + pool["kept"]
    break
  return max(0, sum(one.most_bytes for one in live) - held)
