"""One format of a view and part as a tf.data dataset, a source of the interleave."""

import os
from typing import Any

import tensorflow as tf

from liquid_tf._native import ops
from liquid_tf._pipeline.parts import Shard, resolve_shard, worker_part
from liquid_tf._pipeline.source import Source, check_reader, open_source
from liquid_tf._view.mixture import Mixture
from liquid_tf._view.view import View
from liquid_tf.errors import WrongArgument


class FormatDataset(Source, tf.data.Dataset):
  """Records of one format, of the arguments of `Source`; made by `format_dataset`."""

  def __init__(self, *arguments: Any, **more: Any):
    Source.__init__(self, *arguments, **more)
    variant = ops.lib().liquid_format_dataset(plan=self.message, chosen=self.chosen)
    tf.data.Dataset.__init__(self, variant)

  def _inputs(self):
    return []

  @property
  def element_spec(self):
    return tf.TensorSpec([], tf.variant)


def format_dataset(
  path: str | os.PathLike | View,
  format: str,  # noqa: A002 - the field's name for it.
  *,
  split: str | None = None,
  shard: Shard = (0, 1),
  shard_policy: str = "pad",
  threads: int = 8,
  lookahead_bytes: int = 32 << 20,
  reader: str = "auto",
) -> FormatDataset:
  """A source of the records of one format.

  Below `interleave` it reads what the plan says, ahead of its use; by itself it
  reads in stored order.

  Args:
    path: a dataset directory, or a view of one.
    format: name of one of its formats, such as "png".
    split: a split, as `View.split` takes it; by default "train", or the first one, and
      of a view all.
    shard: (index, count) for data-parallel training, or a
      `tf.distribute.InputContext`.
    shard_policy: how parts come to equal numbers of batches: "pad" repeats a
      sample, "drop" leaves one out, "uneven" does not.
    threads: most reads under way at once; how many there are is tuned by the speed
      that they give.
    lookahead_bytes: most bytes read and not yet used, or read into.
    reader: "auto" for the best way that works here, as `stats` tells. Another one
      works or is an error: "io_uring"; "threads", which wait for one read each;
      "buffered", the same through the page cache, where the others go past it.

  Returns:
    A dataset of scalar variants, blocks of records, for `interleave` and
    `decode_and_batch`.

  Raises:
    ManifestError: the directory is no sound dataset.
    ValueError: an argument is wrong; the message names it.
  """
  check_reader(reader)
  view = open_source(path, split)
  if isinstance(view, Mixture) or view.weights is not None:
    raise WrongArgument(
      "path",
      view,
      "must be without weights here, where each sample is read once: give it to "
      "dataset()",
    )
  counts = view.counts()
  if format not in counts:
    raise WrongArgument(
      "format",
      format,
      f"must be one of {', '.join(counts)}, the formats of {view.path}",
    )
  part = worker_part(counts, resolve_shard(shard), shard_policy)
  return FormatDataset(
    view, format, part.ranges[format], threads, lookahead_bytes, reader
  )
