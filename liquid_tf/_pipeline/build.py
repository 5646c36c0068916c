"""How the parts of a plan are put together."""

import dataclasses
from collections.abc import Sequence
from typing import Any

from liquid_tf._cost import budget
from liquid_tf._pipeline import features as _features
from liquid_tf._pipeline import fidelity as _fidelity
from liquid_tf._pipeline import mixes as _mixes
from liquid_tf._pipeline import parts as _parts
from liquid_tf._pipeline import reading as _reading
from liquid_tf._pipeline import rest as _rest
from liquid_tf._pipeline import sizes as _sizes
from liquid_tf._pipeline import weighing as _weighing
from liquid_tf._pipeline.arguments import Arguments
from liquid_tf._pipeline.draws import Draws, check_batches
from liquid_tf._pipeline.entry import Entry
from liquid_tf._pipeline.fidelity import Fidelity
from liquid_tf._pipeline.parts import Part
from liquid_tf._pipeline.reading import Reading
from liquid_tf._pipeline.recipe import Recipe
from liquid_tf._pipeline.source import Source
from liquid_tf._pipeline.state import State
from liquid_tf._pipeline.weighing import Read
from liquid_tf._store import storage
from liquid_tf._words import argument
from liquid_tf.transforms import ChannelsFirst, Ragged, Step, Views

# Reads under way: what a disk needs, and what hides a network's waiting. With reads of
# 2 MiB, 128 bring 2.5 GB in a second over one that waits 100 ms.
_THREADS, _REMOTE_THREADS = 8, 128

# Samples that are drawn together where no batch is asked for.
_UNBATCHED = 32


@dataclasses.dataclass(frozen=True)
class Face:
  """Classes that what reads, draws and is shared is made of.

  Attributes:
    source: of a format.
    draws: of all.
    state: that epochs share.
  """

  source: type[Source]
  draws: type[Draws]
  state: type[State]


@dataclasses.dataclass(frozen=True)
class Planned:
  """All that is drawn, and how it is decoded.

  Attributes:
    arguments: that were checked.
    draws: of the samples.
    recipe: of the images, as given.
    own_size: whether each image keeps a size of its own, without batches.
    entry: where the first epoch begins.
  """

  arguments: Arguments
  draws: Draws
  recipe: Recipe
  own_size: bool
  entry: Entry

  @property
  def transforms(self) -> Sequence[Step] | Views:
    """The steps of a batch, whose images may be of unequal size."""
    if not self.own_size or self.recipe.ragged:
      return self.arguments.transforms
    steps = self.recipe.given
    kept = [step for step in steps if not isinstance(step, ChannelsFirst)]
    return [*kept, Ragged()]

  def decoding(self) -> dict[str, Any]:
    """The arguments of how batches are decoded, as `decode_and_batch` takes them."""
    given = self.arguments
    return dict(
      features=given.features,
      transforms=self.transforms,
      last_batch="repeat" if given.last_batch == "repeat" else "short",
      decode=given.decode,
      on_error=given.on_error,
      limits=given.limits,
      tuning=given.tuning,
    )


def plan(face: Face, arguments: Arguments, **more: Any) -> Planned:
  """Plans a dataset.

  Args:
    face: of what is made.
    arguments: of `dataset`.
    **more: for the face's own draws.

  Raises:
    ManifestError: there is no sound dataset.
    ValueError: an argument is wrong; the message names it.
  """
  arguments = arguments.checked()
  entry = Entry.parse(arguments.start, arguments.shard)
  reading = _reading.of(arguments)
  draws = _draws(face, arguments, reading, entry, **more)
  whose = repr(reading.view)
  if arguments.shard[1] > 1:
    whose = f"shard ({arguments.shard}) of {whose}"
  check_batches(draws, whose)
  recipe = Recipe.of(arguments.transforms)
  if arguments.batch_size is None and recipe.mixes:
    raise ValueError(
      f"transforms: {recipe.mix} needs batches to mix samples of, and "
      f"{argument('batch_size', None)} gives samples: with mixup=0 and cutmix=0 it "
      "smooths their labels"
    )
  rows = {source.name: source.rows for source in draws.sources}
  own_size = (
    arguments.batch_size is None
    and not recipe.views
    and _has_pixels(arguments, draws)
    and _sizes.results(recipe, rows, check=False).one is None
  )
  return Planned(arguments, draws, recipe, own_size, entry)


def _has_pixels(arguments: Arguments, blocks: Draws) -> bool:
  """Whether images or masks are decoded."""
  manifest = blocks.sources[0].manifest
  given = manifest["supervised"] if arguments.features is None else arguments.features
  names = [name for name in given if isinstance(name, str)]
  return bool(_features.decoded(manifest, names, arguments.decode))


def _draws(
  face: Face, arguments: Arguments, reading: Reading, entry: Entry, **more: Any
) -> Draws:
  """Draws the samples, batch by batch.

  Args:
    face: of what is made.
    arguments: that were checked.
    reading: what they read.
    entry: where they begin.
    **more: for the face's own draws.

  Raises:
    ValueError: an argument is wrong; the message names it.
  """
  cache = arguments.cache
  snapshot = face.state(
    cache,
    arguments.memory,
    start=(entry.begin.epoch, 0 if entry.is_sought else entry.begin.step),
  )
  worker = _Worker(
    face,
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
    **more,
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
  arguments: Arguments, reading: Reading, sources: Sequence[Source]
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
    face: of what it makes.
    arguments: that were checked.
    memory: bytes, of all that it does.
    remote: whether something is read over a network.
  """

  face: Face
  arguments: Arguments
  memory: int
  remote: bool

  def sources(self, reads: Sequence[Read], part: Part) -> list[Source]:
    """Opens what is read."""
    tuning = self.arguments.tuning
    threads = tuning.threads or (_REMOTE_THREADS if self.remote else _THREADS)
    reader = "cached" if self.arguments.cache_policy == "page" else tuning.reader
    return [
      self.face.source(
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
    sources: Sequence[Source],
    snapshot: State,
    fidelity: Fidelity,
    part: Part,
    **more: Any,
  ) -> Draws:
    """Draws from them."""
    given = self.arguments
    return self.face.draws(
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

  def draw_rest(self, left: _rest.Samples, snapshot: State, before: int) -> Draws:
    """Draws its part of what is left of an epoch after so many batches of it."""
    given = self.arguments
    part = _parts.worker_part(left.counts, given.shard, given.shard_policy, left.first)
    reads = [Read(left.view, name, name) for name in left.counts]
    fidelity = _fidelity.later(given.fidelity, before)
    sources = self.sources(reads, part)
    return self.draw(sources, snapshot, fidelity, part, epoch=None)
