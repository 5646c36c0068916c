"""A plan as ops take it, and what it draws without a dataset that reads it."""

from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from liquid_tf._native import messages, ops
from liquid_tf._pipeline.format_rows import FormatRows


def message(
  rows: Sequence[FormatRows],
  *,
  cached: Sequence[int],
  fill: Sequence[int],
  seed: int,
  batch_size: int,
  shuffle: bool,
  policy: str = "liquid",
  sections: Sequence[int] = (),
) -> bytes:
  """Encodes the plan as ops take it.

  Args:
    rows: of each format.
    cached: samples, or records, of each format that are kept between epochs.
    fill: samples of each format to shuffle among at least.
    seed: of the plan, like the next two.
    batch_size: likewise.
    shuffle: likewise.
    policy: which samples memory keeps.
    sections: samples of each format, where formats share theirs.
  """
  return messages.plan(
    seed=seed,
    batch_size=batch_size,
    shuffle=shuffle,
    policy=policy,
    formats=[
      messages.format_plan(
        files=one.file_counts,
        record_samples=[] if one.record_samples is None else one.record_samples,
        cached=one_cached,
        fill=one_fill,
        scan_groups=one.scan_groups or 0,
      )
      for one, one_cached, one_fill in zip(rows, cached, fill)
    ],
    sections=sections,
  )


def drawn(
  rows: Sequence[FormatRows],
  *,
  cached: Sequence[int],
  fill: Sequence[int],
  seed: int,
  batch_size: int,
  shuffle: bool,
  first_epoch: int = 0,
  epoch: int = 0,
) -> np.ndarray:
  """Sample numbers in the order in which a plan draws them in an epoch.

  Args:
    rows: of each format.
    cached: samples, or records, of each format that are kept between epochs.
    fill: of each format that are loaded before the first draw.
    seed: of the plan, like the next two.
    batch_size: likewise.
    shuffle: likewise.
    first_epoch: before which nothing is held.
    epoch: its number.

  Returns:
    Shape [samples], int64.
  """
  with tf.init_scope(), tf.device("CPU:0"):
    plan = ops.lib().liquid_plan_epoch(
      plan=message(
        rows,
        cached=cached,
        fill=fill,
        seed=seed,
        batch_size=batch_size,
        shuffle=shuffle,
      ),
      first_epoch=first_epoch,
      epoch=epoch,
    )
  formats, places = plan.format.numpy(), plan.sample.numpy()
  numbers = np.empty(len(places), np.int64)
  for number, one in enumerate(rows):
    mine = formats == number
    numbers[mine] = one.rows["sample"][places[mine]]
  return numbers
