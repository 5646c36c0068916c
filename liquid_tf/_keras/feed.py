"""One of the datasets that a model is trained on, and where it goes on."""

import json
from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from liquid_tf._pipeline import position
from liquid_tf._pipeline.lineage import Origin
from liquid_tf._pipeline.start import Start


class Feed:
  """A dataset whose batches are trained on, with what a checkpoint holds of it.

  Args:
    origin: the dataset.

  Attributes:
    blocks: of it.
    identity: what must be the same for a run to go on, of all its workers, by name.
    first_epoch: its epoch with which the run began.
    skipped: samples that it had left out when the epoch began.
  """

  def __init__(self, origin: Origin):
    self.blocks = origin.blocks
    self.identity = position.identity(origin.blocks, origin.dataset)
    self.first_epoch = 0
    self.skipped = 0
    # A cache="auto" that another machine resolves otherwise would change the order.
    self._cached = tf.Variable(self.blocks.cached, dtype=tf.int64, trainable=False)
    # Of a mix that changes, what the epochs up to this one had: their order follows.
    self._mixes = None
    if self.blocks.mixes is not None:
      self._mixes = tf.Variable(
        tf.zeros([0], tf.int64), shape=[None], dtype=tf.int64, trainable=False
      )

  def variables(self, number: int) -> dict[str, tf.Variable]:
    """Variables of the n-th dataset in a checkpoint, by name."""
    held = {f"cached{number}": self._cached}
    if self._mixes is not None:
      held[f"mixes{number}"] = self._mixes
    return held

  def describe(self) -> dict[str, Any]:
    """Identifies a run."""
    return {**self.identity, **position.of_worker(self.blocks)}

  def stats(self) -> dict[str, Any]:
    """Its counters."""
    return json.loads(self.blocks.snapshot.stats_json())

  def note(self) -> None:
    """Sets the variables to what they are now."""
    if self._mixes is not None:
      self._mixes.assign(self.stats()["mixes"])

  def count_skipped(self) -> int:
    """Samples that it has left out since the last call."""
    before, self.skipped = self.skipped, self.stats()["skipped"]["count"]
    return self.skipped - before

  def go_on(self, trained: int) -> None:
    """Makes it go on after so many batches of the run, of this worker."""
    mixes = [] if self._mixes is None else self._mixes.numpy()
    epoch, step = divmod(trained, self.blocks.batches)
    epoch += self.first_epoch
    self.blocks.snapshot.seek(epoch, step, self._cached.numpy(), mixes)

  def go_on_for_others(self, start: Start) -> int:
    """Makes it go on where other workers stood.

    Args:
      start: in epochs of the run.

    Returns:
      How many batches of the epoch are left; where none are, the next one begins.
    """
    # What another worker cached, and the mixes that it chose, were its own.
    self._cached.assign(self.blocks.cached)
    if self._mixes is not None:
      self._mixes.assign(tf.zeros([0], tf.int64))
    epoch = self.first_epoch + start.epoch
    if start.cuts:
      left = self.blocks.rests.seek(Start(epoch, start.step, start.cuts))
    else:
      left = self.blocks.batches - start.step
      if left > 0:
        self.blocks.snapshot.seek(epoch, start.step)
    if left <= 0:
      self.blocks.snapshot.seek(epoch + 1)
    return max(0, left)


def difference(before: Mapping[str, Any], now: Mapping[str, Any]) -> str | None:
  """The first name under which two descriptions differ, of those that `now` has."""
  return next((name for name in now if before.get(name) != now[name]), None)
