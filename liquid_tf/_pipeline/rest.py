"""Epochs that other numbers of workers began: what is left of one, dealt anew."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from liquid_tf._pipeline.draws import Draws
from liquid_tf._pipeline.format_rows import FormatRows
from liquid_tf._pipeline.mixes import Mixes
from liquid_tf._pipeline.parts import worker_part
from liquid_tf._pipeline.plan import Plan
from liquid_tf._pipeline.room import Room
from liquid_tf._pipeline.start import Start
from liquid_tf._pipeline.state import State
from liquid_tf._pipeline.weighing import Weighing
from liquid_tf._view.view import View
from liquid_tf._words import argument
from liquid_tf.errors import WrongArgument


def why_unknown(
  weighing: Weighing | None, mixes: Mixes | None, cache: int | str, cache_policy: str
) -> str | None:
  """The reason why an epoch cannot be resumed with other workers, or None.

  Args:
    weighing: how often samples are drawn; None for once an epoch.
    mixes: of formats that share samples; None where they have none in common.
    cache: as `dataset` takes it.
    cache_policy: which samples memory keeps.
  """
  if weighing is not None:
    return (
      "with weights or a mixture an epoch draws some samples several times, so what is "
      "left of it is no set of samples"
    )
  if mixes is not None:
    return (
      "a mix that changes, or shares of scan groups, cut an epoch's sections out of "
      "the samples of each worker, and what is left of these has no such sections"
    )
  if cache_policy != "liquid":
    return f'cache_policy ("{cache_policy}") must be "liquid", whose order is replayed'
  if cache == "auto":
    return (
      f'{argument("cache", "auto")} must be a share ("30%") or bytes: the order '
      "depends on how much the other workers cached, which was what their machines "
      "had free"
    )
  return None


@dataclasses.dataclass(frozen=True)
class Samples:
  """Samples that are dealt to workers.

  Attributes:
    view: that has them.
    first: where those of each format begin in its stored order.
    counts: how many each format has.
  """

  view: View
  first: dict[str, int]
  counts: dict[str, int]

  def without(self, numbers: np.ndarray) -> "Samples | None":
    """Those that are left, each in its format; None for none.

    Args:
      numbers: of the samples to leave out.
    """
    left = np.zeros(self.view.bound, bool)
    left[self.view.numbers] = True
    left[numbers] = False
    if not left.any():
      return None
    first, counts = {}, {}
    for name, count in self.counts.items():
      stored = left[self.view.rows(name)["sample"]]
      begin = self.first[name]
      first[name] = int(stored[:begin].sum())
      counts[name] = int(stored[begin : begin + count].sum())
    return Samples(self.view.take(np.flatnonzero(left)), first, counts)


@dataclasses.dataclass(frozen=True)
class Rests:
  """Goes on in epochs that other numbers of workers began.

  What is left of an epoch follows from its plan alone: seed, batch size, cache, and who
  ran how many steps.

  Attributes:
    shard: (index, count) of this worker.
    refusal: why it cannot; None where it can. Nothing below is used where it cannot.
    samples: of a whole epoch.
    policy: how workers come to equal numbers of batches.
    snapshot: of the dataset.
    batch_size: of the dataset, as the next three.
    seed: likewise.
    shuffle: likewise.
    drops: whether a last batch of fewer samples is left out.
    fidelity: scan groups that are read of every record, where that is known.
    make: this worker's part of samples; called with these, a snapshot, and how many
      batches of the epoch were run before.
  """

  shard: tuple[int, int]
  refusal: str | None
  samples: Samples | None
  policy: str
  snapshot: State
  batch_size: int
  seed: int
  shuffle: bool
  drops: bool
  fidelity: int | None
  make: Callable[[Samples, State, int], Draws]

  def begin(self, start: Start, given: Any) -> int:
    """Makes the next iterator begin at a `start=` that has cuts.

    Args:
      start: what `given` says.
      given: by the user.

    Returns:
      How many batches are left.

    Raises:
      ValueError: what is left is not known, or nothing.
    """
    index, workers = self.shard
    if self.refusal is not None:
      raise WrongArgument(
        "start",
        given,
        f"must name no other number of workers than {workers}, the number that shard "
        f"has: {self.refusal}",
      )
    left = self.seek(start)
    if left == 0:
      raise WrongArgument(
        "start",
        given,
        f"leaves no batch of epoch {start.epoch} to worker {index} of {workers}: "
        f"begin the next one, start=({start.epoch + 1}, 0)",
      )
    return left

  def seek(self, start: Start) -> int:
    """Makes the next iterator run what the cuts of an epoch have left, from a step on.

    Args:
      start: with a cut at least.

    Returns:
      How many batches that is; 0 where the epoch is over, and nothing was sought.
    """
    cacheless = type(self.snapshot)(0, self.snapshot.memory)
    samples, snapshot, first = self.samples, self.snapshot, 0
    for workers, steps in start.cuts:
      drawn = self._drawn(samples, snapshot, workers, steps, first, start.epoch)
      samples = None if drawn is None else samples.without(drawn)
      if samples is None:
        return 0
      snapshot, first = cacheless, start.epoch
    rest = self.make(samples, cacheless, start.before)
    left = rest.batches - start.step
    if left <= 0:
      return 0
    # It is over before another epoch begins: both live on one budget.
    cacheless.most_bytes = 0
    self.snapshot.seek(start.epoch, start.step, rest=rest)
    return left

  def _drawn(
    self,
    samples: Samples,
    snapshot: State,
    workers: int,
    steps: int,
    first: int,
    epoch: int,
  ) -> np.ndarray | None:
    """Numbers of the samples that workers have drawn after some steps of an epoch.

    Args:
      samples: that were dealt to them.
      snapshot: with what they cached.
      workers: how many they were.
      steps: batches that each had drawn.
      first: the epoch before which they held nothing.
      epoch: its number.

    Returns:
      The numbers; None where no worker has a batch left.
    """
    numbers, over = [], True
    for index in range(workers):
      part = worker_part(samples.counts, (index, workers), self.policy, samples.first)
      rows = [FormatRows(samples.view, *one) for one in part.ranges.items()]
      room = Room(rows, snapshot, self.batch_size, self.shuffle, 0, self.fidelity)
      fill, division = room.divide()
      drawn = Plan(
        rows, division.cached, fill, self.seed, self.batch_size, self.shuffle
      ).drawn(first, epoch)
      size = len(drawn)
      batches = size // self.batch_size if self.drops else -(-size // self.batch_size)
      over = over and steps >= batches
      numbers.append(drawn[: steps * self.batch_size])
    return None if over else np.concatenate(numbers)
