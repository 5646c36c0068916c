"""RecordIO files as a tf.data dataset."""

import tensorflow as tf

from liquid_tf._native import ops
from liquid_tf._pipeline.parts import Shard, resolve_shard
from liquid_tf._pipeline.source import check_reader
from liquid_tf._recordio import files
from liquid_tf.errors import WrongArgument


def dataset(
  path: files.Paths,
  *,
  index: files.Paths | bool | None = None,
  shard: Shard = (0, 1),
  repair: bool = False,
  depth: int = 8,
  block_bytes: int = 2 << 20,
  reader: str = "auto",
) -> tf.data.Dataset:
  """The records of RecordIO files as a `tf.data` dataset.

  In stored order; several reads are under way at once, of the next file too. The
  dataset has a cardinality where there are indexes, and can be saved in checkpoints,
  symbolic ones too.

  Args:
    path: files, read as one; as `Reader`'s.
    index: to split by count, not by bytes: True for NAME.idx beside each NAME.rec, or
      paths.
    shard: (i, n): the i-th of n parts, as `Reader`'s `part`; or a
      `tf.distribute.InputContext`.
    repair: pass over damage, up to the next record, with a warning in the log. The
      cardinality is then unknown.
    depth: most reads under way at once; how many there are is tuned by the speed that
      they give.
    block_bytes: of a read, a multiple of 4096 from 128 KiB to 8 MiB. Memory holds up
      to 16 blocks, or twice `depth`.
    reader: as in `format_dataset`.

  Returns:
    A dataset of scalar strings, the payloads; `.map(unpack)` makes labels and encoded
    images of them.

  Raises:
    RecordIOError: a file or index cannot be read, or an index is damaged.
    ValueError: an argument is wrong; the message names it.
    tf.errors.DataLossError: while reading, a file is damaged; the message has file and
      offset. The sequence ends there.
  """
  if not 1 <= depth <= 256:
    raise WrongArgument("depth", depth, "must be from 1 to 256")
  if block_bytes % 4096 or not 1 << 17 <= block_bytes <= 8 << 20:
    raise WrongArgument(
      "block_bytes", block_bytes, "must be a multiple of 4096 from 128 KiB to 8 MiB"
    )
  check_reader(reader)
  paths = files.as_paths(path)
  indexes = files.indexes_of(paths, index)
  ranges = files.part_of(paths, indexes, resolve_shard(shard))
  return tf.data.experimental.from_variant(
    ops.lib().liquid_record_io_dataset(
      paths=paths,
      ranges=ranges,
      depth=depth,
      block_bytes=block_bytes,
      reader=reader,
      repair=repair,
    ),
    tf.TensorSpec([], tf.string),
  )
