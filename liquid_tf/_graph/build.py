"""How the parts of a pipeline are put together."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from liquid_tf._cost import budget
from liquid_tf._graph import decode as _decode
from liquid_tf._graph import stages
from liquid_tf._graph.entry import Entry
from liquid_tf._pipeline import features as _features
from liquid_tf._pipeline import fidelity as _fidelity
from liquid_tf._pipeline import mixes as _mixes
from liquid_tf._pipeline import parts as _parts
from liquid_tf._pipeline import reading as _reading
from liquid_tf._pipeline import rest as _rest
from liquid_tf._pipeline import sizes as _sizes
from liquid_tf._pipeline import weighing as _weighing
from liquid_tf._pipeline.arguments import Arguments
from liquid_tf._pipeline.fidelity import Fidelity
from liquid_tf._pipeline.format_dataset import FormatDataset
from liquid_tf._pipeline.interleave import InterleaveDataset, check_batches
from liquid_tf._pipeline.parts import Part
from liquid_tf._pipeline.reading import Reading
from liquid_tf._pipeline.recipe import Recipe
from liquid_tf._pipeline.snapshot import Snapshot
from liquid_tf._pipeline.weighing import Read
from liquid_tf._store import storage
from liquid_tf._tensorflow import do_not_convert
from liquid_tf.transforms import ChannelsFirst, Ragged

# Reads under way: what a disk needs, and what hides a network's waiting. With reads of
# 2 MiB, 128 bring 2.5 GB in a second over one that waits 100 ms.
_THREADS, _REMOTE_THREADS = 8, 128

# Samples that are drawn together where no batch is asked for.
_UNBATCHED = 32


@do_not_convert
def build(arguments: Arguments) -> tf.data.Dataset:
  """Makes what `liquid_tf.dataset` returns for some arguments.

  Raises:
    ValueError: one is wrong; the message names it.
  """
  arguments = arguments.checked()
  entry = Entry.parse(arguments.start, arguments.shard)
  reading = _reading.of(arguments)
  blocks = _blocks(arguments, reading, entry)
  whose = repr(reading.view)
  if arguments.shard[1] > 1:
    whose = f"shard ({arguments.shard}) of {whose}"
  check_batches(blocks, whose)
  recipe = Recipe.parse(arguments.transforms)
  rows = {source.name: source.rows for source in blocks.sources}
  own_size = (
    arguments.batch_size is None
    and _has_pixels(arguments, blocks)
    and _sizes.results(recipe, rows, check=False).one is None
  )
  transforms = arguments.transforms
  if own_size and not recipe.ragged:
    kept = [step for step in recipe.given if not isinstance(step, ChannelsFirst)]
    transforms = [*kept, Ragged()]
  batches = _decode.decode_and_batch(
    blocks,
    features=arguments.features,
    transforms=transforms,
    last_batch="repeat" if arguments.last_batch == "repeat" else "short",
    decode=arguments.decode,
    on_error=arguments.on_error,
    limits=arguments.limits,
    tuning=arguments.tuning,
  )
  entry.seek(blocks, batches)
  if arguments.batch_size is None:
    ragged = own_size or recipe.ragged
    batches = stages.unbatched(batches, ragged, recipe.channels_first)
    if arguments.on_error == "raise" and arguments.steps is None:
      batches = stages.CountedDataset(batches, blocks.samples)
  if arguments.shard[1] > 1:
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = (
      tf.data.experimental.AutoShardPolicy.OFF
    )
    batches = batches.with_options(options)
  # What a user puts after it is told apart in a verdict.
  batches._is_liquid_output = True
  return batches


def _has_pixels(arguments: Arguments, blocks: InterleaveDataset) -> bool:
  """Whether images or masks are decoded."""
  manifest = blocks.sources[0].manifest
  given = manifest["supervised"] if arguments.features is None else arguments.features
  names = [name for name in given if isinstance(name, str)]
  return bool(_features.decoded(manifest, names, arguments.decode))


def _blocks(arguments: Arguments, reading: Reading, entry: Entry) -> InterleaveDataset:
  """Draws the samples, batch by batch."""
  cache = arguments.cache
  snapshot = Snapshot(
    cache,
    arguments.memory,
    start=(entry.begin.epoch, 0 if entry.is_sought else entry.begin.step),
  )
  worker = _Worker(
    arguments,
    snapshot.memory,
    any(storage.is_remote(read.view.path) for read in reading.reads),
  )
  sources = worker.sources(reading.reads, reading.part)
  if reading.weighing is not None:
    _weighing.tell(reading.weighing, reading.reads, sources)
  mixes = _mixes_of(arguments, reading, sources)
  blocks = worker.draw(
    sources,
    snapshot,
    arguments.fidelity if reading.groups is None else None,
    reading.part,
    epoch=arguments.epoch,
    steps=arguments.steps,
    mixes=mixes,
    weighing=reading.weighing,
    is_sought=entry.is_sought,
  )
  blocks.draws = arguments.shuffle or arguments.draws_in_order
  blocks.rests = _rest.Rests(
    shard=arguments.shard,
    refusal=_rest.why_unknown(
      reading.weighing, mixes, cache.size, arguments.cache_policy
    ),
    samples=reading.samples,
    policy=arguments.shard_policy,
    snapshot=snapshot,
    batch_size=blocks.batch_size,
    seed=blocks.seed,
    shuffle=arguments.shuffle,
    drops=blocks.drops,
    fidelity=_fidelity.constant(arguments.fidelity),
    make=worker.draw_rest,
  )
  return blocks


def _mixes_of(
  arguments: Arguments, reading: Reading, sources: Sequence[FormatDataset]
) -> _mixes.Mixes | None:
  """Mixes of sources that share samples; None where they have none in common."""
  if _mixes.is_changing(arguments.mix):
    default = reading.view.manifest["mix"]
    return _mixes.make(arguments.mix, sources, default, arguments.tuning.parallelism)
  if reading.groups is None:
    return None
  for source, group in zip(sources, reading.groups):
    source.read_through(group)
  of_groups = _fidelity.samples(reading.groups, sources[0].record_samples)
  return _mixes.Mixes([source.name for source in sources], [of_groups])


@dataclasses.dataclass(frozen=True)
class _Worker:
  """Reads and draws, in an epoch of its own as in what others have left of one.

  Attributes:
    arguments: that were checked.
    memory: bytes, of all that it does.
    remote: whether something is read over a network.
  """

  arguments: Arguments
  memory: int
  remote: bool

  def sources(self, reads: Sequence[Read], part: Part) -> list[FormatDataset]:
    """Opens what is read."""
    tuning = self.arguments.tuning
    threads = tuning.threads or (_REMOTE_THREADS if self.remote else _THREADS)
    reader = "cached" if self.arguments.cache_policy == "page" else tuning.reader
    return [
      FormatDataset(
        read.view,
        read.format,
        part.ranges[read.name],
        threads,
        budget.lookahead_bytes(self.memory, len(reads), self.remote),
        reader,
        tuning.patience,
      )
      for read in reads
    ]

  def draw(
    self,
    sources: Sequence[FormatDataset],
    snapshot: Snapshot,
    fidelity: Fidelity,
    part: Part,
    **more: Any,
  ) -> InterleaveDataset:
    """Draws from them."""
    given = self.arguments
    return InterleaveDataset(
      sources,
      snapshot,
      batch_size=given.batch_size or _UNBATCHED,
      seed=given.seed,
      shuffle=given.shuffle,
      last_batch="drop" if given.last_batch == "drop" else "short",
      policy=given.cache_policy,
      fidelity=fidelity,
      part=part,
      fill_short_batches=given.shard[1] > 1 and given.shard_policy != "uneven",
      **more,
    )

  def draw_rest(
    self, left: _rest.Samples, snapshot: Snapshot, before: int
  ) -> InterleaveDataset:
    """Draws its part of what is left of an epoch after so many batches of it."""
    given = self.arguments
    part = _parts.worker_part(left.counts, given.shard, given.shard_policy, left.first)
    reads = [Read(left.view, name, name) for name in left.counts]
    fidelity = _fidelity.later(given.fidelity, before)
    sources = self.sources(reads, part)
    return self.draw(sources, snapshot, fidelity, part, epoch=None)
