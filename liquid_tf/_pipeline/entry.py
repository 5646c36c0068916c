"""Where the first iterator of a dataset begins: what `start=` asks for, done."""

import dataclasses
from collections.abc import Mapping

from liquid_tf._pipeline import start as _start
from liquid_tf._pipeline.draws import Draws
from liquid_tf._pipeline.position import Position, run_of
from liquid_tf._pipeline.recipe import Recipe
from liquid_tf._pipeline.start import Given, Start


@dataclasses.dataclass(frozen=True)
class Entry:
  """Where the first iterator of a dataset begins.

  Attributes:
    given: a `start=` of numbers.
    begin: what that says.
    saved: what `position` gave, where it came from that.
    is_own: whether the worker has saved that itself.
  """

  given: Given
  begin: Start
  saved: Position | None
  is_own: bool

  @classmethod
  def parse(cls, given: Given, shard: tuple[int, int]) -> "Entry":
    """Reads `start=` of a worker, (index, count).

    Raises:
      ValueError: it is none.
    """
    saved = None
    if isinstance(given, Mapping):
      saved = Position.parse(given, "start")
      given = saved.start(shard)
    begin = _start.parse(given, shard[1])
    return cls(given, begin, saved, saved is not None and saved.is_own(shard))

  @property
  def is_sought(self) -> bool:
    """Whether `seek` does it. If not, the snapshot begins there by itself."""
    return self.is_own or bool(self.begin.cuts)

  def seek(self, blocks: Draws, recipe: Recipe) -> None:
    """Makes the first iterator begin there.

    Args:
      blocks: of the dataset.
      recipe: that they are decoded by.

    Raises:
      ValueError: it cannot, or it was saved by another dataset.
    """
    if self.saved is not None:
      subject = "start is a position of a run with"
      self.saved.check(blocks, run_of(blocks, recipe), subject, "begin anew at (0, 0)")
    if self.is_own:
      self.saved.seek(blocks, "start")
    elif self.begin.cuts:
      left = blocks.rests.begin(self.begin, self.given)
      blocks.begin = self.begin
      blocks.begun_batches = self.begin.before + self.begin.step + left
