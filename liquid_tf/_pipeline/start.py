"""Where a dataset begins: `start=`."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from liquid_tf._native import whole
from liquid_tf._words import Shown
from liquid_tf.errors import WrongArgument

# (epoch, step), (epoch, [(workers, steps), …]), or what `position` gave.
Given = tuple[int, int | Sequence[tuple[int, int]]] | Mapping[str, Any]

# Each is planned once: a mistyped number must not take hours.
MOST_WORKERS = 1 << 16


@dataclasses.dataclass(frozen=True)
class Start:
  """Where a dataset begins.

  Attributes:
    epoch: its number.
    step: batches to leave out, of the epoch or of what the cuts have left of it.
    cuts: (workers, steps) of those that began the epoch, one after another.
  """

  epoch: int
  step: int
  cuts: tuple[tuple[int, int], ...] = ()

  @property
  def before(self) -> int:
    """Batches of the epoch that were run before the last cut."""
    return sum(steps for _, steps in self.cuts)


def parse(start: Any, workers: int) -> Start:
  """Reads `start=`.

  Args:
    start: (epoch, step), or (epoch, [(workers, steps), …]): who ran the epoch so far.
    workers: of this dataset. If the last ones were as many, it goes on at their step.

  Raises:
    ValueError: it is neither.
  """
  try:
    epoch, ran = start
    listed = isinstance(ran, list | tuple)
    runs = [(count, steps) for count, steps in ran] if listed else []
  except (TypeError, ValueError):
    raise WrongArgument(
      "start",
      Shown(f"{start!r:.200}"),
      "must be (epoch, step), (epoch, [(workers, steps), …]), or what position() gave",
    ) from None
  epoch = whole.number(epoch, "epoch of start", 0)
  if not listed:
    return Start(epoch, whole.number(ran, "step of start", 0))
  cuts: list[tuple[int, int]] = []
  for count, steps in runs:
    count = whole.number(count, "workers of start", 1)
    steps = whole.number(steps, "steps of start", 0)
    if count > MOST_WORKERS:
      raise ValueError(f"workers of start ({count}) must be at most {MOST_WORKERS}")
    if steps == 0:
      continue
    if cuts and cuts[-1][0] == count:
      steps += cuts.pop()[1]
    cuts.append((count, steps))
  step = cuts.pop()[1] if cuts and cuts[-1][0] == workers else 0
  return Start(epoch, step, tuple(cuts))


def check_inside(start: Start, cache: int | str, chosen: bool) -> None:
  """Raises ValueError where the rest of an epoch is not known from its number.

  Args:
    start: a step of an epoch.
    cache: as `dataset` takes it.
    chosen: whether epochs have mixes that were chosen by what was measured.
  """
  if start.step == 0:
    return
  begun = f"start ({(start.epoch, start.step)}) is inside of an epoch"
  if cache == "auto":
    raise ValueError(
      f"{begun}, whose order depends on how many samples are cached, and cache "
      '("auto") may have room for others than in the run that began it: give start '
      'what position() gave in that run, or both runs a cache that is a share ("30%") '
      "or bytes"
    )
  if chosen:
    raise ValueError(
      f'{begun}, whose order depends on the mixes so far, and mix ("auto") chose them '
      "by what it measured: give start what position() gave in that run, or mix the "
      "list stats(dataset).mixes of it"
    )
