"""Draws: batches of one composition from several formats, as the planner takes them."""

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from liquid_tf._cost import budget
from liquid_tf._native import messages
from liquid_tf._pipeline import fidelity as _fidelity
from liquid_tf._pipeline import format_rows as _format_rows
from liquid_tf._pipeline import mixes as _mixes
from liquid_tf._pipeline import tier as _tier
from liquid_tf._pipeline.parts import Part
from liquid_tf._pipeline.plan import Plan
from liquid_tf._pipeline.room import Room
from liquid_tf._pipeline.source import Source
from liquid_tf._pipeline.start import Start, check_inside
from liquid_tf._pipeline.state import State
from liquid_tf._pipeline.weighing import Weighing
from liquid_tf._store.manifest import Manifest
from liquid_tf._words import Shown, argument
from liquid_tf.errors import WrongArgument
from liquid_tf.transforms import seed_bits

_NO_PART = Part({})
_NO_WEIGHTS = Weighing([], np.zeros(0, np.int64), np.zeros(0, np.int64), 0, "")


class Draws:
  """Batches drawn as the planner says, of several sources.

  Attributes:
    samples: of a whole epoch.
    batches: likewise.
    cached: samples, or records, of each source that are kept between epochs.
    sections: samples of each source in epoch 0 where sources share them, else None.
    rests: of `dataset`, what goes on in epochs of other numbers of workers, a `Rests`.
    begin: where the first iterator begins, a `Start`.
    begun_batches: of that epoch, also those before `begin`, of any worker.
    division: what memory is spent on, in epoch 0.
    moves: whether mixes are chosen by what was measured.
    mixes: of sources that share samples; None where they have none in common.
    fidelity: as `fidelity.check` gives it.
    room: the memory, divided.
    pixel_bytes: of a decoded image, on average.
    message: of all this, as the op takes it.
    groups: of each sample, uint16; empty where there is one.
    record_blocks: of each record in the tier, uint32; empty without one.
  """

  def __init__(
    self,
    sources: Sequence[Source],
    snapshot: State,
    *,
    batch_size: int,
    seed: int,
    shuffle: bool,
    last_batch: str,
    epoch: Any,
    policy: str = "liquid",
    fidelity: _fidelity.Fidelity = None,
    part: Part = _NO_PART,
    fill_short_batches: bool = False,
    mixes: _mixes.Mixes | None = None,
    weighing: Weighing | None = None,
    is_sought: bool = False,
  ):
    self.sources = list(sources)
    self.snapshot = snapshot
    self.batch_size = batch_size
    self.seed = seed = seed_bits(seed, "seed")
    self.shuffle = shuffle
    self.part = part
    self.weighing = weighing
    # Workers in step need equal numbers of batches even where records are skipped.
    self.fill_short_batches = fill_short_batches
    self.drops = last_batch == "drop"
    # Whether steps may leave something to chance.
    self.draws = shuffle
    self.rests = None
    self.fidelity = fidelity = _fidelity.check(
      fidelity, [source.format for source in sources]
    )
    _check_cache(sources, snapshot, policy, weighing, epoch)
    keep_pixels = snapshot.cache.form == "pixels"
    self.sections = sections = None if mixes is None else mixes.given[0]
    self.samples = samples = _samples(sources, mixes, weighing)
    self.batches = batches = (
      samples // batch_size if self.drops else -(-samples // batch_size)
    )
    self.moves = mixes is not None and mixes.threads is not None
    self.begin = begin_at(snapshot.start, batches, snapshot.cache.size, self.moves)
    self.begun_batches = batches
    self.pixel_bytes = pixel_bytes = mean_pixel_bytes(manifests_of(sources))
    self.room = room = Room(
      self.sources,
      snapshot,
      batch_size,
      shuffle,
      _bytes_ahead(sources, snapshot, batch_size, pixel_bytes),
      _fidelity.constant(self.fidelity),
      weighing,
    )
    fill, division = room.divide(sections)
    most = list(map(max, fill, division.resident))
    if mixes is not None and mixes.changing:
      # Another epoch may hold more of a format than the first.
      most = [source.records for source in sources]
    snapshot.most_bytes = room.most_bytes(most, division.spared_bytes)
    self.division, self.cached = division, division.cached
    self.mixes = mixes
    weights, self.groups = _weights(sources, weighing)
    tier, self.record_blocks = _tier.fields(snapshot.cache, snapshot.memory, sources)
    self.message = messages.interleave(
      plan=Plan(
        sources, self.cached, fill, seed, batch_size, shuffle, policy, sections or ()
      ).message(),
      sources=[
        messages.source(
          name=source.name,
          resident=resident,
          kept=kept,
          first_group=source.first_group,
          grouped_samples=len(source.groups),
        )
        for source, resident, kept in zip(sources, division.resident, division.kept)
      ],
      view=_view_hash(sources),
      drop_remainder=self.drops,
      initial_epoch=self.begin.epoch,
      # A process that does not seek must not begin with all of the epoch.
      initial_step=-1 if is_sought else self.begin.step,
      cache_bytes=division.cache_bytes,
      spare_bytes=division.spare_bytes,
      keep_pixels=keep_pixels,
      mask_bytes=_format_rows.mask_bytes(sources[0].manifest),
      device_millionths=int(1e6 * division.gpu_share),
      **weights,
      **tier,
    )


def _check_cache(
  sources: Sequence[Source],
  snapshot: State,
  policy: str,
  weighing: Weighing | None,
  epoch: Any,
) -> None:
  """Checks what goes with a cache; arguments are those of `Draws`."""
  formats = [source.format for source in sources]
  if policy != "liquid" and "pcr" in formats:
    raise WrongArgument("policy", policy, 'must be "liquid" where a format is pcr')
  if snapshot.cache.form == "pixels" and "pcr" in formats:
    raise WrongArgument(
      "Cache: form", "pixels", 'must be "encoded" where a format is pcr'
    )
  _tier.check(snapshot.cache, formats, policy, weighing is not None, epoch)
  if snapshot.cache.gpu_bytes:
    _tier.check_kept(
      "gpu", snapshot.cache.gpu, 0, formats, policy, weighing is not None, epoch
    )


def _samples(
  sources: Sequence[Source],
  mixes: _mixes.Mixes | None,
  weighing: Weighing | None,
) -> int:
  """Samples of a whole epoch."""
  if weighing is not None:
    return weighing.samples
  if mixes is not None:  # They share them.
    return len(sources[0].rows)
  return sum(len(source.rows) for source in sources)


def begin_at(
  start: tuple[int, int], batches: int, cache: int | str, chosen: bool
) -> Start:
  """The place of a `start=` of numbers, in epochs of so many batches.

  Args:
    start: (epoch, step).
    batches: of an epoch.
    cache: as `dataset` takes it.
    chosen: whether epochs have mixes that were chosen by what was measured.

  Raises:
    ValueError: an epoch has no such step, or its rest is not known.
  """
  begin = Start(*start)
  if begin.step > batches:
    raise WrongArgument(
      "start",
      start,
      f"must have a step of at most {batches}, the batches of an epoch",
    )
  if 0 < begin.step == batches:
    begin = Start(begin.epoch + 1, 0)
  check_inside(begin, cache, chosen)
  return begin


def _bytes_ahead(
  sources: Sequence[Source],
  snapshot: State,
  batch_size: int,
  pixel_bytes: float,
) -> int:
  """Most bytes that are on their way, from the disk to the consumer."""
  read = sum(source.lookahead_bytes for source in sources if len(source.rows))
  decoded = budget.decoded_bytes(
    snapshot.memory, batch_size * (pixel_bytes + mean_stored_bytes(sources))
  )
  return read + decoded + _tier.queue_bytes(snapshot.cache, snapshot.memory)


def _view_hash(sources: Sequence[Source]) -> int:
  """An int64 that differs where other samples are read."""
  fingerprints = " ".join(source.view.fingerprint for source in sources)
  digest = hashlib.sha256(fingerprints.encode()).digest()
  return int.from_bytes(digest[:8], "little", signed=True)


def _weights(
  sources: Sequence[Source], weighing: Weighing | None
) -> tuple[dict[str, Any], np.ndarray]:
  """Fields of the message about weights, and the group of each sample."""
  given = _NO_WEIGHTS if weighing is None else weighing
  fields = dict(
    shares=given.shares,
    samples_per_epoch=given.samples_per_epoch,
    worker=given.worker[0],
    workers=given.worker[1],
    shard_policy=given.policy,
  )
  return fields, np.concatenate([source.groups for source in sources])


def manifests_of(sources: Sequence[Source]) -> list[Manifest]:
  """Manifests of the datasets of sources, each once."""
  return list(
    {source.manifest.directory: source.manifest for source in sources}.values()
  )


def mean_pixel_bytes(manifests: Iterable[Manifest]) -> float:
  """Bytes of a decoded image, on average."""
  formats = [entry for one in manifests for entry in one["formats"].values()]
  samples = sum(entry["samples"] for entry in formats)
  return sum(entry["pixel_bytes"] for entry in formats) / max(1, samples)


def mean_stored_bytes(sources: Sequence[Source]) -> float:
  """Bytes of a sample as it is stored, on average."""
  samples = sum(len(source.rows) for source in sources)
  return sum(source.stored_bytes(None) for source in sources) / max(1, samples)


def check_batches(blocks: Draws, whose: str) -> None:
  """Raises ValueError where an epoch has no batch, and a training would learn nothing.

  Args:
    blocks: the batches.
    whose: what they are of, for the error.
  """
  if not blocks.samples:
    raise ValueError(f"{whose} must have a sample, and has none")
  if not blocks.batches:
    raise WrongArgument(
      "last_batch",
      "drop",
      f"leaves no batch of {whose}: "
      f"{argument('batch_size', Shown(blocks.batch_size))} must be at most "
      f'{blocks.samples}, the samples that an epoch has here, or last_batch "short" '
      'or "repeat"',
    )


def check_last_batch(last_batch: str, allowed: Sequence[str]) -> None:
  """Raises ValueError where `last_batch` is none of those allowed."""
  if last_batch not in allowed:
    raise WrongArgument(
      "last_batch", last_batch, f"must be one of {', '.join(allowed)}"
    )
