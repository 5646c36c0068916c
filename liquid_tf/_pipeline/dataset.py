"""`liquid_tf.dataset`: a Liquid dataset as a `tf.data.Dataset`."""

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
from liquid_tf._pipeline import interleave, replicas
from liquid_tf._pipeline import mixes as _mixes
from liquid_tf._pipeline import sources as _sources
from liquid_tf._pipeline import tuning as _tuning
from liquid_tf._pipeline.fidelity import Fidelity
from liquid_tf._pipeline.recipe import Recipe
from liquid_tf._pipeline.snapshot import Snapshot
from liquid_tf._pipeline.tuning import Tuning
from liquid_tf._store import storage
from liquid_tf.transforms import ChannelsFirst, Ragged, Step

_POLICIES = ("liquid", "minio", "page")

# Reads under way: what a disk needs, and what hides a network's waiting.
_THREADS, _REMOTE_THREADS = 8, 32

# Samples that are drawn together where no batch is asked for.
_UNBATCHED = 32


@tf.autograph.experimental.do_not_convert
def dataset(
  path: str | os.PathLike,
  batch_size: int | None = 32,
  *,
  split: str | None = None,
  shuffle: bool = True,
  seed: int = 0,
  memory: int | str = "auto",
  cache: int | str | Cache = "auto",
  cache_policy: str = "liquid",
  fidelity: Fidelity = None,
  mix: str | Mapping[str, float] | Sequence[str | Mapping[str, float]] | None = None,
  transforms: Sequence[Step] = (),
  features: Sequence[str] | None = None,
  decode: str = "cpu",
  shard: Any = (0, 1),
  shard_policy: str = "pad",
  on_error: str = "raise",
  epoch: int | tf.Tensor | None = None,
  steps: tuple[int | tf.Tensor, int | tf.Tensor] | None = None,
  start: tuple[int, int] = (0, 0),
  last_batch: str = "short",
  tuning: Tuning = Tuning(),
  limits: Limits = Limits(),
) -> tf.data.Dataset:
  """Batches of a Liquid dataset, each sample once per epoch.

  Every batch has the same mix of formats and, from the second epoch on, keeps and
  loads the same number of samples, so the disk and the processors are loaded evenly
  (Liquid, APSys '23, section 4.2). The order is a pure function of the dataset, the
  batch size, the seed, the shard, the cache and the epoch's number: threads, disks
  and prefetching never change it (docs/determinism.md).

  An iterator runs one epoch. Which one is counted per dataset object: the one after
  the last whose every batch was delivered, so looking at a few batches first does
  not use up an epoch.

  Args:
    path: a dataset directory, local or of a registered file system.
    batch_size: samples in a batch; None gives one sample at a time, each image and
      mask as a dense tensor of its own size.
    split: name of a split; by default "train", or the first one.
    shuffle: False gives the stored order, the same in every epoch.
    seed: of the order, of random windows and of what is mirrored, any 64-bit number.
    memory: whole budget of the pipeline: bytes ("8GiB"), at least those of a batch
      with its stored records; or "auto" for three quarters of what the machine or its
      cgroup has free.
    cache: its part that lasts between epochs: a share of the dataset ("30%"), bytes, 0,
      or "auto" for what fits; or a `Cache`, to keep decoded pixels. What does not fit
      into `memory` is read again. The order depends on how many samples it holds, and
      on nothing else of it.
    cache_policy: which samples those are. "liquid" replaces as many in every batch.
      Two others are there to be compared with it; both draw each format in a
      uniformly random order. "minio" keeps what it met first and never replaces it
      (CoorDL, VLDB '21), so hits per batch are left to chance. "page" has no cache
      of its own: it reads local files through the kernel's page cache, what that
      holds is a hit, and `cache` must be 0 or "auto".
    fidelity: scan groups of the format pcr that are read: from 1, the least, up to
      what the records have; more means all, as None does. A function of (epoch,
      batch) is asked for every batch of an epoch when that is begun; it must be a
      pure one, since a restored checkpoint asks it for later epochs only. An integer
      tf.Variable is read at the same moment, once an epoch. What is in memory is read
      again only where the fidelity is raised. The order is the same at any.
    mix: of a dataset that was converted with `replicate`, the format each sample is
      read in: weights, as {"png": .6, "raw": .4} or "png:6,raw:4". Of the stored
      order, the first part is the first format's, and so on, in the dataset's order of
      formats. By default the mix that the dataset was converted with. A list has the
      mixes of epochs 0, 1, …; its last one goes on. "auto" begins with that of the
      conversion and moves it between epochs to where disk and processors are both
      busy, by what was measured; `stats(ds).mixes` then is the list that gives the
      same order again. Both need `shuffle`, `cache_policy="liquid"` and formats other
      than pcr; and "auto" no `epoch`. See docs/profile.md.
    transforms: what happens to images while they are decoded: steps of
      `liquid_tf.transforms`, such as [RandomCrop(224), Mirror()].
    features: None gives the supervised tuple, (image, label) or (image, mask); a list
      of names gives a dict. See `decode_and_batch` for names, shapes and dtypes.
    decode: "cpu"; "gpu" for batches in the memory of TensorFlow's first GPU, images of
      l3 and raw decoded there, see docs/gpu.md; or "none" for the stored bytes in place
      of the image.
    shard: (index, count) for data-parallel training, or a
      `tf.distribute.InputContext`. Switches tf.data's own sharding off.
    shard_policy: how all shards come to the same number of batches: "pad" repeats a
      sample (counted in `stats`), "drop" leaves one out, "uneven" does not.
    on_error: "raise", or "skip" for records that cannot be read or decoded. Where the
      dataset was converted with `replicate`, they are first read in another format,
      without loss if there is one; `stats` counts them as `fallbacks`.
    epoch: makes every iterator run this epoch. It may be a scalar tensor of int64,
      such as the argument of `Dataset.flat_map`; then nothing is cached. See
      `epochs`.
    steps: (first, count) of that epoch's batches, numbers or scalar tensors; by
      default all. Samples of other batches are not read.
    start: (epoch, step) of the first batch, as if all before had been run; with
      mix="auto", all in its first mix. See `Resume`.
    last_batch: what happens to a last batch of fewer samples: "short" gives it as it
      is, "drop" leaves it out, "repeat" fills it by repeating its samples in turn.
    tuning: how the pipeline is run; by default it tunes itself.
    limits: the largest image, and most scans of a JPEG, that are decoded.

  Returns:
    A `tf.data.Dataset` that can be saved and restored by `tf.train.Checkpoint`.

  Raises:
    ManifestError: the directory is no sound dataset.
    ValueError: an argument is wrong; the message names it, its value and what it
      must be.
  """
  if batch_size is not None:
    batch_size = whole.number(batch_size, "batch_size", 1, ", or None")
  _tuning.check(tuning)
  if batch_size is None and decode == "gpu":
    raise ValueError(
      'batch_size (None) must be a number with decode="gpu", which gives whole batches'
    )
  form = _cache.of(cache).form
  cache = _epoch.check(epoch, steps, _cache.of(cache).size)
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
    manifest, index, split, counts = _sources.open_split(os.fspath(path), split)
  first = dict.fromkeys(counts, 0)
  changing = _mixes.is_changing(mix)
  if manifest["replicated"] and changing:
    _check_changing(mix, shuffle, cache_policy, epoch, list(counts))
    samples = replicas.common_samples(manifest, index, split, list(counts))
  elif manifest["replicated"]:
    first, counts = replicas.choose(manifest, index, split, mix)
  elif mix is not None:
    raise ValueError(
      f"mix ({mix!r}) must be None: {manifest.directory} has one encoding of each "
      "sample; convert with replicate=True (--replicate) to choose while loading"
    )
  if cache_policy != "liquid" and "pcr" in counts:
    raise ValueError(
      f'cache_policy ("{cache_policy}") must be "liquid" where a format is pcr'
    )
  shard = _sources.resolve_shard(shard)
  mixes = None
  if changing:
    # All formats have one range of samples, whatever mix a worker chooses of them.
    part = _sources.split_common(list(counts), samples, shard, shard_policy)
    _, length = next(iter(part.ranges.values()))
    mixes = _mixes.make(mix, list(counts), manifest["mix"], length, tuning.parallelism)
  else:
    part = _sources.split_part(counts, shard, shard_policy, first)
  snapshot = Snapshot(
    Cache(0 if page_cache else cache, form),
    memory,
    start=start,
  )
  remote = storage.is_remote(manifest.directory)
  threads = tuning.threads or (_REMOTE_THREADS if remote else _THREADS)
  sources = [
    _sources.FormatDataset(
      manifest,
      name,
      split,
      index,
      part.ranges[name],
      threads,
      budget.lookahead_bytes(snapshot.memory, len(counts), remote),
      tuning.reader,
      page_cache,
    )
    for name in counts
  ]
  blocks = interleave.InterleaveDataset(
    sources,
    snapshot,
    batch_size=batch_size or _UNBATCHED,
    seed=seed,
    shuffle=shuffle,
    last_batch="drop" if last_batch == "drop" else "short",
    epoch=epoch,
    steps=steps,
    policy=cache_policy,
    fidelity=fidelity,
    part=part,
    fill_short_batches=shard[1] > 1 and shard_policy != "uneven",
    mixes=mixes,
  )
  recipe = Recipe.parse(transforms)
  own_size = batch_size is None and recipe.keeps_sizes(_decode.sizes_differ(sources))
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
  if batch_size is None:
    batches = batches.unbatch()
    if own_size or recipe.ragged:
      planar = recipe.channels_first
      batches = batches.map(lambda *sample: _dense(sample, planar))
  if shard[1] > 1:
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = (
      tf.data.experimental.AutoShardPolicy.OFF
    )
    batches = batches.with_options(options)
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


def _check_changing(
  mix: Any, shuffle: bool, cache_policy: str, epoch: Any, formats: list[str]
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
  if "pcr" in formats:
    raise ValueError(
      f"mix ({mix!r}) must be one mix where a format of the dataset is pcr, of whose "
      "records no part can be drawn"
    )
  if mix == _mixes.AUTO and epoch is not None:
    raise ValueError(
      f'epoch ({epoch!r}) must be None where mix is "auto", which follows from the '
      "epochs before: give mix the list of their mixes, stats(dataset).mixes"
    )
