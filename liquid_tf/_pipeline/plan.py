"""What a plan draws, without a dataset that reads it."""

from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from liquid_tf._native import ops
from liquid_tf._pipeline.format_rows import FormatRows


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
  sized = [
    np.zeros(0, np.int64) if r.record_samples is None else r.record_samples
    for r in rows
  ]
  with tf.init_scope(), tf.device("CPU:0"):
    plan = ops.lib().liquid_plan_epoch(
      file_counts=np.concatenate([one.file_counts for one in rows]),
      files_per_format=[len(one.file_counts) for one in rows],
      record_samples=np.concatenate(sized),
      sized_records=list(map(len, sized)),
      cached=cached,
      fill=fill,
      seed=seed,
      batch_size=batch_size,
      first_epoch=first_epoch,
      epoch=epoch,
      shuffle=shuffle,
    )
  formats, places = plan.format.numpy(), plan.sample.numpy()
  numbers = np.empty(len(places), np.int64)
  for number, one in enumerate(rows):
    mine = formats == number
    numbers[mine] = one.rows["sample"][places[mine]]
  return numbers
