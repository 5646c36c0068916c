"""A plan as ops take it, and what it draws without a dataset that reads it."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from liquid_tf._native import direct_plan, messages
from liquid_tf._pipeline.format_rows import FormatRows


@dataclasses.dataclass(frozen=True, eq=False)
class Plan:
  """All that the order of samples follows from.

  Attributes:
    rows: of each format.
    cached: samples, or records, of each format that are kept between epochs.
    fill: samples of each format to shuffle among at least before the first draw.
    seed: of the draws.
    batch_size: samples whose composition is constant.
    shuffle: whether samples are drawn by chance.
    policy: which samples memory keeps.
    sections: samples of each format, where formats share theirs.
  """

  rows: Sequence[FormatRows]
  cached: Sequence[int]
  fill: Sequence[int]
  seed: int
  batch_size: int
  shuffle: bool
  policy: str = "liquid"
  sections: Sequence[int] = ()

  def message(self) -> bytes:
    """Encodes the plan as ops take it."""
    return messages.plan(
      seed=self.seed,
      batch_size=self.batch_size,
      shuffle=self.shuffle,
      policy=self.policy,
      formats=[
        messages.format_plan(
          files=one.file_counts,
          record_samples=[] if one.record_samples is None else one.record_samples,
          cached=cached,
          fill=fill,
          scan_groups=one.scan_groups or 0,
        )
        for one, cached, fill in zip(self.rows, self.cached, self.fill)
      ],
      sections=self.sections,
    )

  def drawn(self, first_epoch: int = 0, epoch: int = 0) -> np.ndarray:
    """Sample numbers in the order in which the plan draws them in an epoch.

    Formats must share no samples.

    Args:
      first_epoch: before which nothing is held.
      epoch: its number.

    Returns:
      Shape [samples], int64.
    """
    draws = sum(one.samples() for one in self.rows)
    formats, places = direct_plan.plan_epoch(self.message(), first_epoch, epoch, draws)
    numbers = np.empty(len(places), np.int64)
    for number, one in enumerate(self.rows):
      mine = formats == number
      numbers[mine] = one.rows["sample"][places[mine]]
    return numbers
