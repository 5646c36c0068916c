"""How the parts of a pipeline are put together."""

import tensorflow as tf

from liquid_tf._graph import decode as _decode
from liquid_tf._graph import stages
from liquid_tf._graph.format_dataset import FormatDataset
from liquid_tf._graph.interleave import InterleaveDataset
from liquid_tf._graph.snapshot import Snapshot
from liquid_tf._pipeline.arguments import Arguments
from liquid_tf._pipeline.build import Face, plan
from liquid_tf._tensorflow import do_not_convert

_FACE = Face(FormatDataset, InterleaveDataset, Snapshot)


@do_not_convert
def build(arguments: Arguments) -> tf.data.Dataset:
  """Makes what `liquid_tf.dataset` returns for some arguments.

  Raises:
    ValueError: one is wrong; the message names it.
  """
  made = plan(_FACE, arguments, steps=arguments.steps)
  arguments, blocks, recipe = made.arguments, made.draws, made.recipe
  batches = _decode.decode_and_batch(blocks, **made.decoding())
  decoded = stages.find_stage(batches, _decode.DecodeBatchDataset)
  made.entry.seek(blocks, decoded.recipe)
  if arguments.batch_size is None:
    ragged = made.own_size or recipe.ragged
    batches = stages.unbatched(batches, ragged, recipe.channels_first)
    if arguments.on_error == "raise" and arguments.steps is None:
      batches = stages.CountedDataset(batches, blocks.samples * recipe.repeats)
  if arguments.shard[1] > 1:
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = (
      tf.data.experimental.AutoShardPolicy.OFF
    )
    batches = batches.with_options(options)
  # What a user puts after it is told apart in a verdict.
  batches._is_liquid_output = True
  return batches
