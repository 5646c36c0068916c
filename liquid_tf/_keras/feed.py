"""One of the datasets that a model is trained on, and where it goes on."""

import dataclasses
import json
from typing import Any

from liquid_tf._graph import position
from liquid_tf._graph.lineage import Origin
from liquid_tf._pipeline.position import Position
from liquid_tf._pipeline.start import Start


class Feed:
  """A dataset whose batches are trained on.

  Args:
    origin: the dataset.

  Attributes:
    blocks: of it.
    run: what must be the same for a run to go on; see `Position.run`.
    first_epoch: its epoch with which the run began.
    skipped: samples that it had left out when the epoch began.
  """

  def __init__(self, origin: Origin):
    self.blocks = origin.blocks
    self.run = position.run_of(origin.blocks, origin.dataset)
    self.first_epoch = 0
    self.skipped = 0

  def stats(self) -> dict[str, Any]:
    """Its counters."""
    return json.loads(self.blocks.snapshot.stats_json())

  def count_skipped(self) -> int:
    """Samples that it has left out since the last call."""
    before, self.skipped = self.skipped, self.stats()["skipped"]["count"]
    return self.skipped - before

  def position(self, start: Start, steps: int) -> Position:
    """Where it stands.

    Args:
      start: where the run stands, in epochs since its first.
      steps: of an epoch of the run, which need not be one of the data.
    """
    if not start.cuts:
      start = Start(*divmod(start.epoch * steps + start.step, self.blocks.batches))
    start = dataclasses.replace(start, epoch=self.first_epoch + start.epoch)
    return Position.of(self.blocks, self.run, start)

  def go_on_for_others(self, start: Start) -> int:
    """Makes it go on where other workers stood.

    Args:
      start: in epochs of the dataset.

    Returns:
      How many batches of the epoch are left; where none are, the next one begins.
    """
    if start.cuts:
      left = self.blocks.rests.seek(start)
    else:
      left = self.blocks.batches - start.step
      if left > 0:
        self.blocks.snapshot.seek(start.epoch, start.step)
    if left <= 0:
      self.blocks.snapshot.seek(start.epoch + 1)
    return max(0, left)
