"""State that the epochs of a loader share."""

from collections.abc import Sequence

from liquid_tf._native.direct_loader import Closed, EngineLoader
from liquid_tf._native.direct_loader import Draws as EngineDraws
from liquid_tf._pipeline.draws import Draws
from liquid_tf._pipeline.state import State


def engine_draws(draws: Draws) -> EngineDraws:
  """Draws as the engine takes them."""
  formats = [(source.message, source.chosen) for source in draws.sources]
  return EngineDraws(draws.message, draws.groups, draws.record_blocks, formats)


class LoaderState(State):
  """State that the epochs of a loader share.

  Attributes:
    engine: that has it; None until there is one.
    rest: draws of the rest that was sought last; None where that was none.
  """

  unmade = LookupError, Closed
  engine: EngineLoader | None = None
  rest: Draws | None = None

  def seek(
    self,
    epoch: int,
    step: int = 0,
    cached: Sequence[int] = (),
    mixes: Sequence[int] = (),
    rest: Draws | None = None,
  ) -> None:
    """Makes the next epoch that is begun `epoch`; see `State.seek`.

    Raises:
      ValueError: there is no such place.
    """
    given = None if rest is None else engine_draws(rest)
    self.engine.seek(epoch, step, cached, mixes, given)
    self.rest = rest

  @property
  def is_open(self) -> bool:
    """Whether it may take memory still."""
    return self.engine is None or self.engine.is_open

  def stats_json(self, batches: bool = False) -> str:
    """Counters as JSON; see `State.stats_json`.

    Raises:
      LookupError: there are none yet.
      Closed: the loader is.
    """
    if self.engine is None:
      raise LookupError("no epoch was begun")
    return self.engine.stats(batches)
