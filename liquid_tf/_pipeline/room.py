"""How many samples of each format a dataset has in memory, and keeps there."""

import dataclasses
import itertools
from collections.abc import Sequence

from liquid_tf._cost import budget
from liquid_tf._pipeline.source import Source
from liquid_tf._pipeline.state import State
from liquid_tf._pipeline.weighing import Weighing

# Samples to shuffle among before the first batch: ten batches, of at least this
# many samples, as far as they fit these bytes.
_FILL_BATCHES = 10
_FILL_LEAST_BATCH = 32
_FILL_BYTES = 512 << 20


@dataclasses.dataclass(frozen=True)
class Room:
  """Memory of a pipeline, divided by a dataset's arguments.

  Attributes:
    sources: of the dataset, one per format.
    snapshot: with the budget.
    batch_size: samples in a batch.
    shuffle: whether there is something to shuffle among.
    lookahead: bytes for what is read, or decoded, ahead of its use.
    fidelity: scan groups that are read of every record, where that is known and not
      all, and the same for all sources.
    weighing: how often samples are drawn; None for once.
  """

  sources: Sequence[Source]
  snapshot: State
  batch_size: int
  shuffle: bool
  lookahead: int
  fidelity: int | None
  weighing: Weighing | None = None

  def divide(
    self, shared: Sequence[int] | None = None
  ) -> tuple[list[int], budget.Division]:
    """The first fill of each format (determinism.md), and what memory is spent on.

    Args:
      shared: samples of each format, where these are sections of the same ones, one
        behind the other; None for all of each.
    """
    sections = [slice(None)] * len(self.sources)
    if shared is not None:
      ends = itertools.pairwise(itertools.accumulate(shared, initial=0))
      sections = [
        source.span(*of_source) for source, of_source in zip(self.sources, ends)
      ]
    of_section = list(zip(self.sources, sections))
    records = [len(range(source.records)[one]) for source, one in of_section]
    samples = [source.samples(section) for source, section in of_section]
    if self.weighing is not None:
      samples = [self.weighing.draws(source) for source in self.sources]
    # The order is the same at every fidelity.
    full_size = [source.stored_bytes(None, section) for source, section in of_section]
    # In stored order there is nothing to shuffle among.
    fill = [0] * len(samples)
    if self.shuffle:
      drawn_size = full_size
      if self.weighing is not None:
        drawn = zip(full_size, samples, records)
        drawn_size = [size * n // max(1, count) for size, n, count in drawn]
      fill = _fill(samples, drawn_size, self.batch_size)
    size = full_size
    fidelities = [source.scan_groups or self.fidelity for source in self.sources]
    if any(fidelities):
      size = [
        source.stored_bytes(fidelity, section)
        for (source, section), fidelity in zip(of_section, fidelities)
      ]
    kept_size = size
    if self.snapshot.cache.form == "pixels":
      kept_size = [source.pixel_bytes(section) for source, section in of_section]
    division = budget.divide(
      self.snapshot.memory,
      self.lookahead,
      self.snapshot.cache.size,
      records,
      [budget.resident_bytes(s, n) for s, n in zip(size, records)],
      [budget.resident_bytes(s, n) for s, n in zip(kept_size, records)],
      self._slack(samples, records, fill),
      self.snapshot.cache.gpu_bytes,
    )
    if self.weighing is not None:
      division = self._most_frequent(division)
    return fill, division

  def _most_frequent(self, division: budget.Division) -> budget.Division:
    """Division that keeps what is drawn most often, which may be larger."""
    kept = []
    for source, most in zip(self.sources, division.kept):
      size = source.rows["length"]
      if self.snapshot.cache.form == "pixels":
        size = source.pixel_bytes_each()
      kept.append(self.weighing.fitting(source, most, budget.resident_bytes_each(size)))
    fewer = [before - now for before, now in zip(division.kept, kept)]
    cached = division.cached
    if self.snapshot.cache.size == "auto":  # no more than fits
      cached = [min(c, k) for c, k in zip(cached, kept)]
    return dataclasses.replace(
      division,
      cached=cached,
      kept=kept,
      resident=[r - f for r, f in zip(division.resident, fewer)],
    )

  def most_bytes(self, samples: Sequence[int], spared: int) -> int:
    """Most bytes of its memory that the pipeline may take: often the dataset is less.

    Args:
      samples: of each format that are in memory at once, at most.
      spared: bytes that these do not take, since a GPU's memory has them.
    """
    pixels = self.snapshot.cache.form == "pixels"
    held = 0
    for source, most in zip(self.sources, samples):
      size = source.stored_bytes(source.scan_groups)
      if pixels:
        size = source.pixel_bytes()
      records = max(1, source.records)
      each = budget.resident_bytes(size, records) / records
      held += round(each * min(records, most))
    return min(self.snapshot.memory, self.lookahead + max(0, held - spared))

  def _slack(
    self, samples: list[int], records: list[int], fill: list[int]
  ) -> list[int]:
    """Most records of each region beside the cached ones.

    Those are a batch's share, or the fill; of records with many samples two batches'
    shares and what records are open (determinism.md).
    """
    total = max(1, sum(samples))
    slack = []
    for source, drawn, count, least in zip(self.sources, samples, records, fill):
      share = -(-self.batch_size * (count if self.weighing is None else drawn) // total)
      if source.record_samples is None or count == 0:
        most = max(least, share)
      else:
        room = max(least, 2 * int(source.record_samples.max()))
        ahead = -(-room * count // drawn)
        most = 2 * share + 4 * ahead + 1
      slack.append(min(count, most))
    return slack


def _fill(samples: list[int], size: list[int], batch_size: int) -> list[int]:
  """Samples of each format to shuffle among at least."""
  total = sum(samples)
  if total == 0:
    return [0] * len(samples)
  wanted = min(total, _FILL_BATCHES * max(batch_size, _FILL_LEAST_BATCH))
  fits = int(_FILL_BYTES * total / max(1, sum(size)))
  wanted = max(1, min(wanted, fits))
  return [-(-wanted * n // total) for n in samples]
