"""Sources that share samples: `mix=` that changes between epochs, or scan groups."""

import dataclasses
import json
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from liquid_tf._cost import budget, model
from liquid_tf._pipeline import mix_control
from liquid_tf._pipeline.room import Room
from liquid_tf._pipeline.source import Source
from liquid_tf._store import mix as mixes
from liquid_tf._store.mix import apportion
from liquid_tf.errors import WrongArgument

AUTO = "auto"

# What decides an epoch of formats that share samples: of each format its samples, the
# cached records and the fill, which the plan follows from, and this machine's memory.
NUMBERS = ("samples", "cached", "fill", "resident", "kept")
# So many of them does the snapshot hold, one after another.
OF_PLAN = 3

Mix = str | Mapping[str, float]


@dataclasses.dataclass(frozen=True)
class Mixes:
  """The mixes of epochs, each the number of samples of every source.

  Attributes:
    formats: of the dataset, as `in_order` gives them; or one format's scan groups,
      which have the same mix in every epoch, of other records.
    given: counts of the epochs from 0 on, of which the last goes on; where the mix is
      chosen, only that of the first.
    threads: that decode at once, at most, where the mix is chosen by what is measured;
      None where it is not.
  """

  formats: list[str]
  given: list[list[int]]
  threads: int | None = None

  @property
  def changing(self) -> bool:
    """Whether an epoch may have another mix than the first."""
    return self.threads is not None or len(self.given) > 1

  def table(self, room: Room) -> dict[str, np.ndarray]:
    """Numbers of the epochs of `given`, where none is chosen; see `numbers`."""
    return _stacked([_numbers(room, counts) for counts in self.given])

  def numbers(
    self, room: Room, pixel_bytes: float
  ) -> Callable[[int], dict[str, np.ndarray]]:
    """A function that gives the numbers of epochs up to the one that begins.

    Args:
      room: of the dataset.
      pixel_bytes: of a decoded image, on average.

    Returns:
      Of the number of an epoch, a dict of `NUMBERS`, each of shape [epochs, formats],
      int64.
    """
    if self.threads is not None:
      return Chooser(self, room, pixel_bytes)
    table = self.table(room)

    def look_up(epoch: int) -> dict[str, np.ndarray]:
      rows = np.minimum(np.arange(epoch + 1), len(self.given) - 1)
      return {name: numbers[rows] for name, numbers in table.items()}

    return look_up


def _numbers(room: Room, counts: Sequence[int]) -> dict[str, np.ndarray]:
  """Figures of an epoch of so many samples a format; each of shape [formats]."""
  fill, division = room.divide(counts)
  found = (counts, division.cached, fill, division.resident, division.kept)
  return {name: np.array(one, np.int64) for name, one in zip(NUMBERS, found)}


def _stacked(epochs: Sequence[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
  """The numbers of epochs, each of shape [epochs, formats]."""
  return {name: np.stack([one[name] for one in epochs]) for name in NUMBERS}


def is_changing(mix: Any) -> bool:
  """Whether `mix=` may be another one in another epoch."""
  return mix == AUTO or isinstance(mix, list | tuple)


def in_order(formats: Sequence[str]) -> list[str]:
  """Formats in the order in which they have their sections of what they share.

  A section of pcr is of whole records, so it is the first one and begins with one.
  """
  return sorted(formats, key=lambda name: name != "pcr")


def make(mix: Any, sources: Sequence[Source], default: Mix, parallelism: int) -> Mixes:
  """Reads a `mix=` that `is_changing`.

  Args:
    mix: "auto", or the mixes of the epochs from 0 on.
    sources: of the dataset's formats, `in_order`, which share all samples.
    default: the mix that "auto" begins with.
    parallelism: of the dataset.

  Raises:
    ValueError: a mix is none of these formats.
  """
  formats = [source.format for source in sources]
  if mix == AUTO:
    threads = parallelism if parallelism > 0 else len(os.sched_getaffinity(0))
    return Mixes(formats, [_cut(_weights(default, formats), sources)], threads)
  if not mix:
    raise WrongArgument("mix", mix, "must have the mix of at least one epoch")
  return Mixes(formats, [_cut(_weights(one, formats), sources) for one in mix])


def _weights(mix: Mix, formats: list[str]) -> list[Fraction]:
  """Weight of each format, 0 where it has none."""
  if isinstance(mix, Mapping):
    mix = {name: share for name, share in mix.items() if share != 0}
  shares = mixes.parse_shares(mix, "mix")
  for name in shares:
    if name not in formats:
      raise WrongArgument(
        "mix: format",
        name,
        f"must be one of {', '.join(formats)}, the formats of the dataset",
      )
  return [Fraction(str(shares.get(name, 0))) for name in formats]


def _cut(weights: Sequence[Fraction], sources: Sequence[Source]) -> list[int]:
  """So many samples each source gets by its weight, to one; pcr to one record.

  Where there are two records, what has a weight gets one of them or what one leaves.
  """
  samples = len(sources[0].rows)
  records = sources[0].record_samples
  if records is None:
    return apportion(samples, weights)
  share = weights[0] / sum(weights)
  ends = np.cumsum([0, *records])
  nearest = int(np.abs(ends - float(share * samples)).argmin())
  least, most = int(share > 0), len(records) - int(share < 1)
  of_pcr = int(ends[min(max(nearest, least), most)])
  left = samples - of_pcr
  others = apportion(left, weights[1:]) if left else [0] * len(weights[1:])
  return [of_pcr, *others]


class Chooser:
  """Chooses the mix of an epoch when that is begun, from what the last one showed.

  Thread-safe. What was chosen is held by the snapshot, and so in checkpoints.

  Args:
    mixes: with the mix of the first epoch.
    room: of the dataset.
    pixel_bytes: of a decoded image, on average.
  """

  def __init__(self, mixes: Mixes, room: Room, pixel_bytes: float):
    self._formats = mixes.formats
    self._first = mixes.given[0]
    self._room = room
    self._lock = threading.Lock()
    stored = {
      source.format: source.stored_bytes(room.fidelity) / max(1, len(source.rows))
      for source in room.sources
    }
    numbers = _numbers(room, self._first)
    machine = _machine(room, numbers["kept"], pixel_bytes)
    self._control = mix_control.Controller(stored, machine, mixes.threads)

  def __call__(self, epoch: int) -> dict[str, np.ndarray]:
    """Numbers of the epochs that are not decided, up to `epoch`; at least its own."""
    with self._lock:
      stats = json.loads(self._room.snapshot.stats_json())
      decided = decided_samples(stats)
      if epoch < len(decided):
        return _stacked([_numbers(self._room, decided[epoch])])
      counts = list(self._first)
      if len(decided):
        counts = decided[-1].tolist()
      # Epochs that were not run, as those before `start`, had the mix before.
      rows = [_numbers(self._room, counts)] * (epoch - len(decided))
      if len(decided) and not rows:
        counts = self._choose(stats, epoch - 1, counts)
      return _stacked([*rows, _numbers(self._room, counts)])

  def _choose(self, stats: dict[str, Any], before: int, counts: list[int]) -> list[int]:
    found = [entry for entry in stats["epochs"] if entry["epoch"] == before]
    if not found:  # it was run in another process
      return counts
    entry, seconds = found[0], found[0]["seconds"]
    samples = sum(counts)
    mix = self._control.next_mix(
      mix_control.Epoch(
        mix={name: n / samples for name, n in zip(self._formats, counts)},
        batches=entry["batches"],
        decodes=entry["decodes"],
        decode_seconds=entry["decode_seconds"],
        disk_bytes=entry["disk_bytes"] + entry["tier"]["bytes"],
        fill_bytes=entry["fill"]["bytes"],
        fill_seconds=entry["fill"]["seconds"],
        **{key: seconds[key] for key in ("read", "wait", "step", "disk")},
      )
    )
    weights = [Fraction(round(mix.get(name, 0.0), 6)) for name in self._formats]
    return _cut(weights, self._room.sources)


def decided_samples(stats: dict[str, Any]) -> np.ndarray:
  """Samples per format, shape [epochs, formats], one row an epoch begun."""
  numbers = np.array(stats["mixes"], np.int64)
  return numbers.reshape(-1, OF_PLAN, len(stats["formats"]))[:, 0]


def _machine(room: Room, kept: np.ndarray, pixel_bytes: float) -> model.Machine:
  """Machine whose memory holds `kept` records of each format."""
  samples = len(room.sources[0].rows)
  records = np.array([max(1, source.records) for source in room.sources])
  cache = room.snapshot.cache
  machine = model.Machine(
    samples=max(1, samples), pixel_bytes=pixel_bytes, cache_form=cache.form
  )
  if cache.form == "pixels" or (isinstance(cache.size, str) and "%" in cache.size):
    # As much of every format whatever the mix.
    share = float((kept / records).sum())
    return dataclasses.replace(machine, cache_share=share)
  held = [
    budget.resident_bytes(source.stored_bytes(room.fidelity), source.records)
    for source in room.sources
  ]
  return dataclasses.replace(machine, cache_bytes=float(kept @ (held / records)))
