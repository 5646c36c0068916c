"""Verdict on the limit of a training: disk, decoding, or the training itself."""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from liquid_tf._cost import amounts
from liquid_tf._store.formats import ROWS
from liquid_tf.errors import WrongArgument

# A consumer that waits for less of its time than this is not held up.
_HELD_UP = 0.1

# A model that takes less than this part of the consumer's time is not what limits it.
_MOST_OF_IT = 0.75

# Of fewer batches most of the time is that of the start, when nothing is ready yet.
_LEAST_BATCHES = 4

# Decoders are what holds batches up if at least so many of them are at work meanwhile.
_AT_WORK = 0.5

# Formats that are decoded at about the speed of memory: none is much faster.
_FASTEST = frozenset(row.name for row in ROWS if row.cost <= 4)

# Formats whose pixels are stored as they are, and need no decoding.
_UNCOMPRESSED = frozenset(row.name for row in ROWS if row.file_bytes is not None)

# Formats that others without loss are smaller than, the largest first.
_LARGE = ("raw", "bmp", "l3", "png")


@dataclasses.dataclass(frozen=True)
class Between:
  """Steps that a user put between a dataset and the model.

  Attributes:
    steps: first one first, as "map(augment)" or "parallel map(augment)".
    ahead: whether a prefetch lets the last of them work while the model does.
  """

  steps: tuple[str, ...] = ()
  ahead: bool = False


@dataclasses.dataclass(frozen=True)
class Subject:
  """Properties of a dataset that advice depends on.

  Attributes:
    held: share of the records that memory keeps between epochs, from 0 to 1.
    form: in which it keeps them, "encoded" or "pixels".
    whole_bytes: memory that all of them take in that form.
    pixel_bytes: memory that all of them take decoded; None where it keeps no pixels.
    room: memory that there is for what is kept.
    remote: whether they are read over a network.
    may_add_disk: whether the cache may have a local disk, and has none.
    replicas: formats that every sample has; () where each sample has one.
    moves: whether mix="auto" chooses among them already.
  """

  held: float
  form: str
  whole_bytes: int
  pixel_bytes: int | None
  room: int
  remote: bool = False
  may_add_disk: bool = False
  replicas: tuple[str, ...] = ()
  moves: bool = False


@dataclasses.dataclass(frozen=True, repr=False)
class Verdict:
  """Limit of the delivery of batches, with the figures behind it.

  As a string it says so in a sentence, and in another one what to do about it.

  Attributes:
    bound: "disk-bound", "decode-bound" or "consumer-bound", the consumer being the
      training, or what else takes the batches; the last one becomes "model-bound" or
      "map-bound" where `step_ms` is known. "unknown" after less than four batches.
    sentence: that says so, with the figures.
    advice: what to do about it, for this dataset.
    consumer_waited: share of the time in which the consumer waited for a batch.
    records_waited: share of the time in which the interleave waited for records.
    disk_busy: share of the time in which a read was under way.
    decoders_busy: threads that were decoding, on average.
    disk_bytes_per_second: read for these batches.
    batches: how many the verdict rests on.
    seconds: how long these took.
    first_epoch: whether the first epoch, which also fills memory, is among them.
    fallbacks: samples that were read in another format than planned, since they are
      damaged in that one; of the whole run.
    between: steps between the dataset and the model, as "map(augment)".
    step_ms: milliseconds that the model takes for a batch; None if not given.
  """

  bound: str
  sentence: str
  advice: str
  consumer_waited: float
  records_waited: float
  disk_busy: float
  decoders_busy: float
  disk_bytes_per_second: float
  batches: int
  seconds: float
  first_epoch: bool
  fallbacks: int = 0
  between: tuple[str, ...] = ()
  step_ms: float | None = None

  def __str__(self) -> str:
    return f"{self.sentence}. {self.advice}"

  def __repr__(self) -> str:
    return f"<Verdict {self.bound}: {self}>"


def bound(consumer_waited: float, records_waited: float, disk_busy: float) -> str:
  """Limit of a pipeline, by shares of its time.

  The busier of disk and decoders: the one rests where memory is full of records, the
  others where none is there.
  """
  if consumer_waited < _HELD_UP:
    return "consumer-bound"
  return "disk-bound" if disk_busy > 1 - records_waited else "decode-bound"


def judge(
  epochs: Sequence[Mapping[str, Any]],
  subject: Subject,
  *,
  fallbacks: int = 0,
  between: Between = Between(),
  step_ms: float | None = None,
) -> Verdict:
  """The verdict on what was delivered.

  The first epoch does not count where enough of others follows: it fills the cache.

  Args:
    epochs: of `Stats.epochs`.
    subject: what the dataset has.
    fallbacks: as in `Verdict`.
    between: what stands between the dataset and the model.
    step_ms: as in `Verdict`.

  Raises:
    ValueError: no batch was delivered, or `step_ms` is no time.
  """
  if step_ms is not None and not (_is_number(step_ms) and 0 < step_ms < math.inf):
    raise WrongArgument("step_ms", step_ms, "must be milliseconds, above 0")
  delivered = [epoch for epoch in epochs if epoch["batches"]]
  if not delivered:
    raise ValueError("no batch was delivered yet: draw an epoch first")
  later = delivered[1:]
  is_first = sum(epoch["batches"] for epoch in later) < _LEAST_BATCHES
  seen = _Seen.of(delivered if is_first else later, is_first, bool(later))
  limit = bound(seen.consumer_waited, seen.records_waited, seen.disk_busy)
  if seen.batches < _LEAST_BATCHES or not seen.seconds:
    limit = "unknown"
  if limit == "consumer-bound" and step_ms is not None:
    own = seen.taken_ms * (1 - seen.consumer_waited)
    limit = "map-bound" if step_ms < _MOST_OF_IT * own else "model-bound"
  sentence, advice = _SAYS[limit](seen, subject, between, step_ms or 0.0)
  if fallbacks:
    samples = "sample was" if fallbacks == 1 else "samples were"
    sentence += (
      f"; {fallbacks} {samples} read in another format, since the planned one is "
      "damaged"
    )
  return Verdict(
    bound=limit,
    sentence=sentence,
    advice=advice,
    consumer_waited=seen.consumer_waited,
    records_waited=seen.records_waited,
    disk_busy=seen.disk_busy,
    decoders_busy=seen.decoders_busy,
    disk_bytes_per_second=seen.disk_bytes / seen.seconds if seen.seconds else 0.0,
    batches=seen.batches,
    seconds=seen.seconds,
    first_epoch=is_first,
    fallbacks=fallbacks,
    between=between.steps,
    step_ms=step_ms,
  )


@dataclasses.dataclass(frozen=True)
class _Seen:
  """Figures of the epochs that are judged.

  Attributes:
    disk_bytes: read from the dataset's storage.
    read_bytes: these, and what was read from the disk of the cache.
    decode_seconds: by format, of those that were decoded.
    is_first: whether the first epoch is among them.
    is_later: whether a later one has begun.
  """

  batches: int
  seconds: float
  consumer_waited: float
  records_waited: float
  disk_busy: float
  decoders_busy: float
  disk_bytes: int
  read_bytes: int
  decode_seconds: dict[str, float]
  is_first: bool
  is_later: bool

  @classmethod
  def of(
    cls, epochs: Sequence[Mapping[str, Any]], is_first: bool, is_later: bool
  ) -> "_Seen":
    total = {
      key: sum(epoch["seconds"][key] for epoch in epochs)
      for key in ("read", "decode", "wait", "step", "disk")
    }
    seconds = total["step"]
    shares = {key: value / seconds if seconds else 0.0 for key, value in total.items()}
    # An epoch that still runs has read more than what its batches had so far.
    disk_bytes = sum(max(e["disk_bytes"], e["fill"]["bytes"]) for e in epochs)
    decoded: dict[str, float] = {}
    for epoch in epochs:
      for name, spent in epoch["decode_seconds"].items():
        if epoch["decodes"][name]:
          # As it is called in a mixture, "photos/png", or read in part, "pcr@2".
          plain = name.rpartition("/")[2].partition("@")[0]
          decoded[plain] = decoded.get(plain, 0.0) + spent
    return cls(
      batches=sum(epoch["batches"] for epoch in epochs),
      seconds=seconds,
      consumer_waited=min(1.0, shares["wait"]),
      records_waited=min(1.0, shares["read"]),
      disk_busy=min(1.0, shares["disk"]),
      decoders_busy=shares["decode"],
      disk_bytes=disk_bytes,
      read_bytes=disk_bytes + sum(epoch["tier"]["bytes"] for epoch in epochs),
      decode_seconds=decoded,
      is_first=is_first,
      is_later=is_later,
    )

  @property
  def taken_ms(self) -> float:
    """From batch to batch."""
    return 1e3 * self.seconds / self.batches

  @property
  def reading(self) -> str:
    """The reads, in words."""
    busy = f"reads were under way {self.disk_busy:.0%} of the time"
    if self.read_bytes:
      return f"{busy}, at {amounts.rate(self.read_bytes / self.seconds)} in all"
    return "nothing was read" if self.disk_busy < 0.005 else busy

  @property
  def compressed(self) -> dict[str, float]:
    """Formats of `decode_seconds` that take some decoding."""
    return {
      name: spent for name, spent in self.decode_seconds.items() if name not in _FASTEST
    }

  @property
  def passes_on(self) -> bool:
    """Whether decoders rest for most of the time in which records are there."""
    with_records = self.consumer_waited - self.records_waited
    return self.decoders_busy < _AT_WORK * with_records

  @property
  def when(self) -> str:
    return " of the first epoch" if self.is_first else ""

  @property
  def waited(self) -> str:
    return f"the training waited {self.consumer_waited:.0%} of the time for batches"


def _is_number(value: Any) -> bool:
  return isinstance(value, (int, float)) and not isinstance(value, bool)


def _unknown(seen: _Seen) -> tuple[str, str]:
  better = "" if seen.is_later else ", and better after the second epoch"
  were = "was" if seen.batches == 1 else "were"
  sentence = (
    f"too few batches to tell: what limits the training shows after {_LEAST_BATCHES}"
    f"{better}; there {were} {seen.batches}"
  )
  return sentence, "Draw more batches, then ask again."


def _disk(seen: _Seen, subject: Subject) -> str:
  where = "the network" if subject.remote else "the disk"
  return (
    f"{where} is the limit{seen.when}: {seen.waited}, and the pipeline "
    f"{seen.records_waited:.0%} for records; {seen.reading}; "
    f"{seen.decoders_busy:.1f} threads were decoding"
  )


def _decoding(seen: _Seen, subject: Subject) -> str:
  copied = subject.form == "pixels" and subject.held == 1 and not seen.is_first
  work, busy = "decoding", "decoding"
  if seen.passes_on:
    work = "passing batches on, not reading or decoding,"
  elif copied or seen.decode_seconds.keys() <= _UNCOMPRESSED:
    work, busy = "making batches of pixels", "making them"
  return (
    f"{work} is the limit{seen.when}: {seen.waited}, the pipeline "
    f"{seen.records_waited:.0%} for records; {seen.decoders_busy:.1f} threads were "
    f"{busy}; {seen.reading}"
  )


def _consumer(seen: _Seen, between: Between) -> tuple[str, str]:
  sentence = (
    "the training itself, which takes the batches, is the limit: it waited only "
    f"{seen.consumer_waited:.0%} of the time for them; {seen.decoders_busy:.1f} "
    f"threads were decoding; {seen.reading}"
  )
  if not between.steps:
    return (
      sentence,
      "Faster data would not help: make the training's own step faster.",
    )
  return (
    f"{sentence}; that is the model and what stands before it "
    f"({', '.join(between.steps)})",
    "Tell them apart: verdict(step_ms=…), with the model's milliseconds for a batch.",
  )


def _model(seen: _Seen, step_ms: float) -> tuple[str, str]:
  if step_ms <= seen.taken_ms:
    times = (
      f"of {seen.taken_ms:.1f} ms from batch to batch it takes {step_ms:.1f} by itself"
    )
  else:
    times = (
      f"a batch came every {seen.taken_ms:.1f} ms, and by step_ms it takes "
      f"{step_ms:.1f} by itself"
    )
  sentence = f"the model is the limit: {times}; {seen.waited}"
  return sentence, "Faster data would not help: make the model's step faster."


def _map(seen: _Seen, step_ms: float, between: Between) -> tuple[str, str]:
  steps = ", ".join(between.steps) or "the loop that draws the batches"
  sentence = (
    f"what stands between the dataset and the model is the limit ({steps}): from batch "
    f"to batch {seen.taken_ms:.1f} ms go by, of which the model takes {step_ms:.1f} "
    f"and the training waited {seen.consumer_waited:.0%}"
  )
  if not between.steps:
    return sentence, "Shorten what the loop does beside the model's step."
  means = []
  if any(step.startswith("map") for step in between.steps):
    means.append("let map work in parallel (num_parallel_calls=tf.data.AUTOTUNE)")
  if not between.ahead:
    means.append("add prefetch(tf.data.AUTOTUNE) after the last step")
  if any("map" in step for step in between.steps):
    means.append("leave the work of map to transforms=")
  advice = ", or ".join(means) or "shorten these steps"
  return sentence, f"{advice[0].upper()}{advice[1:]}."


def _fills(seen: _Seen, subject: Subject) -> str | None:
  """That the first epoch is no measure of the later ones, where it is none."""
  percent = int(100 * subject.held)
  if not seen.is_first or not percent:
    return None
  part = "all" if percent == 100 else f"{percent}%"
  return (
    f"The first epoch also fills memory, which has {part} of the images from then on: "
    "ask again after the second."
  )


def _disk_advice(seen: _Seen, subject: Subject) -> str:
  fills = _fills(seen, subject)
  if fills:
    return fills
  whole, room = amounts.size(subject.whole_bytes), amounts.size(subject.room)
  if subject.held == 1:
    return (
      "Memory has room for all of it, so what is read again is what a fidelity or a "
      "mix that changes asks for: leave them as they are."
    )
  if subject.whole_bytes <= subject.room:
    return (
      f'Keep all of it in memory, by cache="auto": it takes {whole} of the {room} that '
      "there are."
    )
  if subject.remote and subject.may_add_disk:
    return (
      'Keep records on a local disk, by cache=Cache("auto", disk=FOLDER, disk_size=…): '
      f"all of them take {whole}."
    )
  large = next((name for name in _LARGE if name in seen.decode_seconds), None)
  if large is None or subject.moves:
    return (
      f"Read fewer bytes: give it more memory, which has room for {room} of {whole}, "
      "or store smaller images."
    )
  if set(subject.replicas) - set(_LARGE[: _LARGE.index(large) + 1]):
    return f'Read fewer bytes: mix="auto" finds how much of it to read as {large}.'
  return (
    f"Read fewer bytes: a mix with less {large}, the largest of its formats; "
    "liquid_tf.profile finds it."
  )


def _decode_advice(seen: _Seen, subject: Subject) -> str:
  fills = _fills(seen, subject)
  if fills:
    return fills
  if seen.passes_on:
    return "Batches are small, or quickly made: take larger ones."
  slow = seen.compressed
  if not slow:
    return (
      "No other format would be much faster: let transforms= do less, store smaller "
      "images (convert(transforms=[Resize(shorter=…)])), or use more processors."
    )
  pixels = subject.pixel_bytes
  if subject.form == "encoded" and pixels is not None and pixels <= subject.room:
    return (
      f'Keep decoded pixels: cache=Cache(form="pixels"); all images take '
      f"{amounts.size(pixels)} of the {amounts.size(subject.room)} that memory has."
    )
  heaviest = max(slow, key=slow.__getitem__)
  share = slow[heaviest] / (sum(seen.decode_seconds.values()) or 1)
  took = f"{heaviest} takes {share:.0%} of the time that decoding takes"
  if subject.moves:
    return (
      f'{took}, and mix="auto" has chosen how much of it is read: store smaller '
      "images, or use more processors."
    )
  faster = [name for name in ("l3", "raw") if name in subject.replicas]
  if faster:
    return (
      f"{took}, and the dataset has {faster[0]}, which decodes faster: "
      'mix="auto" finds how much of each to read.'
    )
  return (
    f"{took}: l3 and raw decode faster; liquid_tf.profile finds the mix for this "
    "machine."
  )


# By what the limit is, a sentence with the figures, and another one with the advice.
_SAYS: dict[str, Callable[[_Seen, Subject, Between, float], tuple[str, str]]] = {
  "unknown": lambda seen, subject, between, step_ms: _unknown(seen),
  "disk-bound": lambda seen, subject, between, step_ms: (
    _disk(seen, subject),
    _disk_advice(seen, subject),
  ),
  "decode-bound": lambda seen, subject, between, step_ms: (
    _decoding(seen, subject),
    _decode_advice(seen, subject),
  ),
  "consumer-bound": lambda seen, subject, between, step_ms: _consumer(seen, between),
  "model-bound": lambda seen, subject, between, step_ms: _model(seen, step_ms),
  "map-bound": lambda seen, subject, between, step_ms: _map(seen, step_ms, between),
}
