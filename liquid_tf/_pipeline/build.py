"""How the parts of a pipeline are put together."""

import dataclasses
import os
from collections.abc import Mapping, Sequence
from typing import Any

import tensorflow as tf

from liquid_tf._cost import budget
from liquid_tf._cost import cache as _cache
from liquid_tf._cost.cache import Cache
from liquid_tf._native import whole
from liquid_tf._native.limits import Limits
from liquid_tf._pipeline import decode as _decode
from liquid_tf._pipeline import epoch as _epoch
from liquid_tf._pipeline import fidelity as _fidelity
from liquid_tf._pipeline import interleave, replicas
from liquid_tf._pipeline import mixes as _mixes
from liquid_tf._pipeline import position as _position
from liquid_tf._pipeline import rest as _rest
from liquid_tf._pipeline import sizes as _sizes
from liquid_tf._pipeline import sources as _sources
from liquid_tf._pipeline import start as _start
from liquid_tf._pipeline import tuning as _tuning
from liquid_tf._pipeline import weighing as _weighing
from liquid_tf._pipeline.boxes import Boxes
from liquid_tf._pipeline.counted import CountedDataset
from liquid_tf._pipeline.fidelity import Fidelity
from liquid_tf._pipeline.recipe import Recipe
from liquid_tf._pipeline.snapshot import Snapshot
from liquid_tf._pipeline.sources import Shard
from liquid_tf._pipeline.tuning import Tuning
from liquid_tf._store import storage
from liquid_tf._tensorflow import do_not_convert
from liquid_tf._view.mixture import Mixture
from liquid_tf._view.view import View
from liquid_tf.transforms import ChannelsFirst, Ragged, Step

_POLICIES = ("liquid", "minio", "page")

# Reads under way: what a disk needs, and what hides a network's waiting. With reads of
# 2 MiB, 128 bring 2.5 GB in a second over one that waits 100 ms.
_THREADS, _REMOTE_THREADS = 8, 128

# Samples that are drawn together where no batch is asked for.
_UNBATCHED = 32


@do_not_convert
def build(
  path: str | os.PathLike | View | Mixture,
  batch_size: int | None = 32,
  *,
  split: str | None = None,
  shuffle: bool = True,
  seed: int = 0,
  memory: int | str = "auto",
  cache: int | str | Cache = "auto",
  fidelity: Fidelity = None,
  mix: str | Mapping[str, float] | Sequence[str | Mapping[str, float]] | None = None,
  transforms: Sequence[Step] = (),
  features: Sequence[str | Boxes] | None = None,
  decode: str = "cpu",
  shard: Shard = (0, 1),
  shard_policy: str = "pad",
  on_error: str = "raise",
  start: _start.Given = (0, 0),
  last_batch: str = "short",
  tuning: Tuning = Tuning(),
  limits: Limits = Limits(),
  epoch: int | tf.Tensor | None = None,
  steps: tuple[int | tf.Tensor, int | tf.Tensor] | None = None,
  cache_policy: str = "liquid",
  draws_in_order: bool = False,
) -> tf.data.Dataset:
  """As `liquid_tf.dataset`, with what only `epochs` and comparisons need.

  Args:
    path: as `dataset` takes it, like all others that are not named here.
    epoch: makes every iterator run this epoch. It may be a scalar tensor of int64,
      such as the argument of `Dataset.flat_map`; then nothing is cached.
    steps: (first, count) of that epoch's batches, numbers or scalar tensors; by
      default all. Samples of other batches are not read.
    cache_policy: which samples memory keeps; see `interleave`.
    draws_in_order: whether steps may draw by chance in stored order, as a measurement
      of their cost has it.
  """
  if batch_size is not None:
    batch_size = whole.number(batch_size, "batch_size", 1, ", or None")
  _tuning.check(tuning)
  if batch_size is None and decode == "gpu":
    raise ValueError(
      'batch_size (None) must be a number with decode="gpu", which gives whole batches'
    )
  given = _cache.of(cache)
  form = given.form
  cache = _epoch.check(epoch, steps, given.size)
  page_cache = cache_policy == "page"
  if cache_policy not in _POLICIES:
    raise ValueError(
      f"cache_policy ({cache_policy!r}) must be one of {', '.join(_POLICIES)}"
    )
  if page_cache and cache not in (0, "auto"):
    raise ValueError(
      f'cache ({cache!r}) must be 0 or "auto" with cache_policy="page", where the '
      "kernel decides what is cached"
    )
  if page_cache and tuning.reader != "auto":
    raise ValueError(
      f'reader ({tuning.reader!r}) must be "auto" with cache_policy="page", which '
      "reads through the page cache"
    )
  interleave.check_last_batch(last_batch, ("short", "drop", "repeat"))
  if last_batch != "short" and batch_size is None:
    raise ValueError(
      f'last_batch ("{last_batch}") must be "short" with batch_size=None, which gives '
      "no batches"
    )
  if page_cache and form != "encoded":
    raise ValueError(
      f'Cache: form ({form!r}) must be "encoded" with cache_policy="page", where the '
      "kernel keeps what is stored"
    )
  with tf.init_scope():  # read now, inside a flat_map as well
    view = _sources.open_source(path, split)
  shard = _sources.resolve_shard(shard)
  _sources.check_policy(shard_policy)
  saved = None
  if isinstance(start, Mapping):
    saved = _position.Position.parse(start)
    start = saved.start(shard)
  begin = _start.parse(start, shard[1])
  is_own = saved is not None and saved.is_own(shard)
  is_sought = is_own or bool(begin.cuts)
  samples = None
  groups = _fidelity.shares(fidelity)
  weighing = _weighing.of(view, shard, shard_policy)
  if groups is not None:
    _check_groups(fidelity, shuffle, mix, weighing is not None)
  if weighing is not None:
    _weighing.check(weighing, shuffle, mix, cache_policy)
    reads = _weighing.reads(weighing, mix)
    part = _weighing.part(weighing, reads)
  elif view.manifest["replicated"] and _mixes.is_changing(mix):
    _check_changing(mix, shuffle, cache_policy, epoch, fidelity)
    formats = _mixes.in_order(view.formats)
    common = replicas.common_samples(view, formats)
    # All formats have one range of samples, whatever mix a worker chooses of them.
    part = _sources.split_common(formats, common, shard, shard_policy)
  else:
    first, counts = replicas.parts(view, mix)
    samples = _rest.Samples(view, first, counts)
    part = _sources.split_part(counts, shard, shard_policy, first)
    if groups is not None and list(counts) != ["pcr"]:
      raise ValueError(
        f"fidelity ({fidelity!r}) with shares needs a dataset that is read in pcr "
        f"alone; there are {', '.join(counts)}"
      )
  if weighing is None:
    # Scan groups with shares are read as formats are that share all samples.
    formats = list(part.ranges) if groups is None else ["pcr"] * len(groups)
    reads = [_weighing.Read(view, name, name) for name in formats]
  snapshot = Snapshot(
    dataclasses.replace(given, size=0 if page_cache else cache),
    memory,
    start=(begin.epoch, 0 if is_sought else begin.step),
  )
  remote = any(storage.is_remote(read.view.path) for read in reads)
  threads = tuning.threads or (_REMOTE_THREADS if remote else _THREADS)

  def open_sources(
    reads: Sequence[_weighing.Read], part: _sources.Part
  ) -> list[_sources.FormatDataset]:
    return [
      _sources.FormatDataset(
        read.view,
        read.format,
        part.ranges[read.name],
        threads,
        budget.lookahead_bytes(snapshot.memory, len(reads), remote),
        tuning.reader,
        page_cache,
      )
      for read in reads
    ]

  def draw(
    sources: Sequence[_sources.FormatDataset],
    snapshot: Snapshot,
    fidelity: Fidelity,
    part: _sources.Part,
    **more: Any,
  ) -> interleave.InterleaveDataset:
    return interleave.InterleaveDataset(
      sources,
      snapshot,
      batch_size=batch_size or _UNBATCHED,
      seed=seed,
      shuffle=shuffle,
      last_batch="drop" if last_batch == "drop" else "short",
      policy=cache_policy,
      fidelity=fidelity,
      part=part,
      fill_short_batches=shard[1] > 1 and shard_policy != "uneven",
      **more,
    )

  def draw_rest(
    left: _rest.Samples, snapshot: Snapshot, before: int
  ) -> interleave.InterleaveDataset:
    part = _sources.split_part(left.counts, shard, shard_policy, left.first)
    reads = [_weighing.Read(left.view, name, name) for name in left.counts]
    of_rest = _fidelity.later(fidelity, before)
    return draw(open_sources(reads, part), snapshot, of_rest, part, epoch=None)

  sources = open_sources(reads, part)
  if weighing is not None:
    _weighing.tell(weighing, reads, sources)
  mixes = None
  if _mixes.is_changing(mix):
    mixes = _mixes.make(mix, sources, view.manifest["mix"], tuning.parallelism)
  if groups is not None:
    for source, group in zip(sources, groups):
      source.read_through(group)
    of_groups = _fidelity.samples(groups, sources[0].record_samples)
    mixes = _mixes.Mixes([source.name for source in sources], [of_groups])
  blocks = draw(
    sources,
    snapshot,
    fidelity if groups is None else None,
    part,
    epoch=epoch,
    steps=steps,
    mixes=mixes,
    weighing=weighing,
    is_sought=is_sought,
  )
  blocks.draws = shuffle or draws_in_order
  blocks.rests = _rest.Rests(
    shard=shard,
    refusal=_rest.why_unknown(weighing, mixes, cache, cache_policy),
    samples=samples,
    policy=shard_policy,
    snapshot=snapshot,
    batch_size=blocks.batch_size,
    seed=blocks.seed,
    shuffle=shuffle,
    drops=blocks.drops,
    fidelity=_fidelity.constant(fidelity),
    make=draw_rest,
  )
  recipe = Recipe.parse(transforms)
  own_size = (
    batch_size is None
    and _sizes.results(recipe, {s.name: s.rows for s in sources}, check=False).one
    is None
  )
  if own_size and not recipe.ragged:
    kept = [step for step in recipe.given if not isinstance(step, ChannelsFirst)]
    transforms = [*kept, Ragged()]
  batches = _decode.decode_and_batch(
    blocks,
    features=features,
    transforms=transforms,
    last_batch="repeat" if last_batch == "repeat" else "short",
    decode=decode,
    on_error=on_error,
    limits=limits,
    tuning=tuning,
  )
  if saved is not None:
    saved.check(blocks, batches)
  if is_own:
    saved.seek(blocks)
  elif begin.cuts:
    left = blocks.rests.begin(begin, start)
    blocks.begin, blocks.begun_batches = begin, begin.before + begin.step + left
  if batch_size is None:
    counted = on_error == "raise" and steps is None
    batches = batches.unbatch()
    if own_size or recipe.ragged:
      planar = recipe.channels_first
      batches = batches.map(lambda *sample: _dense(sample, planar))
    if counted:
      batches = CountedDataset(batches, blocks.samples)
  if shard[1] > 1:
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = (
      tf.data.experimental.AutoShardPolicy.OFF
    )
    batches = batches.with_options(options)
  # What a user puts after it is told apart in a verdict.
  batches._is_liquid_output = True
  return batches


def _dense(sample: tuple[Any, ...], planar: bool) -> Any:
  """A sample whose ragged images are dense tensors of their own size.

  Args:
    sample: (image, ...), or a dict with "image".
    planar: whether the image's channels come before its rows.
  """
  dense = tf.nest.map_structure(
    lambda x: x.to_tensor() if isinstance(x, tf.RaggedTensor) else x, sample
  )
  if not planar:
    return dense if len(dense) > 1 else dense[0]
  if isinstance(dense[0], dict):
    return {**dense[0], "image": tf.transpose(dense[0]["image"], [2, 0, 1])}
  image = tf.transpose(dense[0], [2, 0, 1])
  return (image, *dense[1:]) if len(dense) > 1 else image


def _check_groups(fidelity: Any, shuffle: bool, mix: Any, weighted: bool) -> None:
  """Checks what goes with shares of scan groups."""
  if not shuffle:
    raise ValueError(
      f"shuffle (False) must be True where fidelity ({fidelity!r}) has shares: which "
      "samples are read at which changes between epochs, and the stored order does not"
    )
  if _mixes.is_changing(mix):
    raise ValueError(
      f"mix ({mix!r}) must be one mix where fidelity ({fidelity!r}) has shares"
    )
  if weighted:
    raise ValueError(
      f"fidelity ({fidelity!r}) must have no shares with weights or a mixture, which "
      "are of formats other than pcr"
    )


def _check_changing(
  mix: Any, shuffle: bool, cache_policy: str, epoch: Any, fidelity: Fidelity
) -> None:
  """Checks what goes with a mix that may be another one in another epoch."""
  name = '"auto"' if mix == _mixes.AUTO else "a list"
  if not shuffle:
    raise ValueError(
      f"shuffle (False) must be True where mix is {name}: the stored order is the same "
      "in every epoch only with one mix"
    )
  if cache_policy != "liquid":
    raise ValueError(
      f'cache_policy ("{cache_policy}") must be "liquid" where mix is {name}'
    )
  known = fidelity is None or _fidelity.constant(fidelity) is not None
  if mix == _mixes.AUTO and not known:
    raise ValueError(
      f'fidelity ({fidelity!r}) must be a scan group or None where mix is "auto", '
      "which is chosen by the bytes that each format takes; with a mix or a list of "
      "mixes it may change"
    )
  if mix == _mixes.AUTO and epoch is not None:
    raise ValueError(
      f'epoch ({epoch!r}) must be None where mix is "auto", which follows from the '
      "epochs before: give mix the list of their mixes, stats(dataset).mixes"
    )
