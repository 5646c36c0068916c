"""The parts of `liquid_tf.dataset`, for those who build a pipeline of their own.

`format_dataset` reads the records of one format, `interleave` draws batches of one
composition from several of them, and `decode_and_batch` makes images of the records:

  sources = [liquid_tf.graph.format_dataset(path, name) for name in ("png", "raw")]
  blocks = liquid_tf.graph.interleave(sources, batch_size=64)
  batches = liquid_tf.graph.decode_and_batch(blocks)

A `Snapshot` is what the iterators share: epochs, cache and counters. `epochs` puts
whole epochs in a row, for tf.data service. `Tuning` says how a pipeline is run, here
and in `liquid_tf.dataset`. docs/tutorials/graph.md uses these parts.
"""

from typing import TYPE_CHECKING

import lazy_loader

from liquid_tf import _extras
from liquid_tf._pipeline.tuning import Tuning

if TYPE_CHECKING:
  from liquid_tf._graph.decode import decode_and_batch
  from liquid_tf._graph.epochs import epochs
  from liquid_tf._graph.format_dataset import format_dataset
  from liquid_tf._graph.interleave import interleave
  from liquid_tf._graph.snapshot import Snapshot

__all__ = [
  "Snapshot",
  "Tuning",
  "decode_and_batch",
  "epochs",
  "format_dataset",
  "interleave",
]

# `Tuning` needs no TensorFlow.
_attribute, __dir__, _ = lazy_loader.attach(
  "liquid_tf",
  submod_attrs={
    "_graph.decode": ["decode_and_batch"],
    "_graph.epochs": ["epochs"],
    "_graph.format_dataset": ["format_dataset"],
    "_graph.interleave": ["interleave"],
    "_graph.snapshot": ["Snapshot"],
    "_pipeline.tuning": ["Tuning"],
  },
)


def __getattr__(name: str) -> object:
  with _extras.explained():
    return _attribute(name)
