"""What limits a training: disk, decoding, or the training itself."""

import dataclasses
from collections.abc import Sequence
from typing import Any

# A consumer that waits for less of its time than this is not held up.
_HELD_UP = 0.1

# A model that takes less than this part of the consumer's time is not what limits it.
_MOST_OF_IT = 0.75

# Of fewer batches most of the time is that of the start, when nothing is ready yet.
_LEAST_BATCHES = 4

_SENTENCES = {
  "unknown": (
    "too few batches to tell: what limits the training shows after {least}, and better "
    "after the second epoch; there {were} {batches}"
  ),
  "disk-bound": (
    "the disk is the limit: the training waited {consumer_waited:.0%} of the time for "
    "batches, and the pipeline {records_waited:.0%} for records; reads were under way "
    "{disk_busy:.0%} of the time, at {megabytes:.1f} MB/s in all; {decoders_busy:.1f} "
    "threads were decoding"
  ),
  "decode-bound": (
    "decoding is the limit: the training waited {consumer_waited:.0%} of the time for "
    "batches, the pipeline only {records_waited:.0%} for records; {decoders_busy:.1f} "
    "threads were decoding, and {megabytes:.1f} MB/s came from the disk, where reads "
    "were under way {disk_busy:.0%} of the time"
  ),
  "consumer-bound": (
    "the training itself, which takes the batches, is the limit: it waited only "
    "{consumer_waited:.0%} of the time for them; {decoders_busy:.1f} threads were "
    "decoding, and {megabytes:.1f} MB/s came from the disk"
  ),
  "model-bound": (
    "the model is the limit: of {taken_ms:.1f} ms from batch to batch it takes "
    "{step_ms:.1f} by itself; the training waited {consumer_waited:.0%} of the time "
    "for batches"
  ),
  "map-bound": (
    "what stands between the dataset and the model is the limit ({steps}): from batch "
    "to batch {taken_ms:.1f} ms go by, of which the model takes {step_ms:.1f} and the "
    "training waited {consumer_waited:.0%}"
  ),
}

# What to do about each.
_ADVICE = {
  "unknown": "Draw more batches, then ask again.",
  "disk-bound": (
    "Read fewer bytes: a larger cache= or memory=, or a mix with less of its largest "
    "format, such as raw; liquid_tf.profile finds it."
  ),
  "decode-bound": (
    "Decode less: a mix with more of a format that decodes faster, such as l3 or raw; "
    'liquid_tf.profile finds it. Or keep pixels: Cache(form="pixels").'
  ),
  "consumer-bound": "Faster data would not help: make the training's own step faster.",
  "model-bound": "Faster data would not help: make the model's step faster.",
  "map-bound": (
    "Let map work in parallel (num_parallel_calls=tf.data.AUTOTUNE) and add prefetch, "
    "or leave its work to transforms=."
  ),
}


@dataclasses.dataclass(frozen=True, repr=False)
class Verdict:
  """What limits the delivery of batches, with the figures behind it.

  As a string it says so in a sentence, and in another one what to do about it.

  Attributes:
    bound: "disk-bound", "decode-bound" or "consumer-bound", the consumer being the
      training, or what else takes the batches; the last one becomes "model-bound" or
      "map-bound" where `step_ms` is known. "unknown" after less than four batches.
    consumer_waited: share of the time in which the consumer waited for a batch.
    records_waited: share of the time in which the interleave waited for records.
    disk_busy: share of the time in which a read was under way.
    decoders_busy: threads that were decoding, on average.
    disk_bytes_per_second: read for these batches.
    batches: how many the verdict rests on.
    seconds: how long these took.
    fallbacks: samples that were read in another format than planned, since they are
      damaged in that one; of the whole run.
    between: steps between the dataset and the model, as "map(augment)".
    step_ms: milliseconds that the model takes for a batch; None if not given.
  """

  bound: str
  consumer_waited: float
  records_waited: float
  disk_busy: float
  decoders_busy: float
  disk_bytes_per_second: float
  batches: int
  seconds: float
  fallbacks: int = 0
  between: tuple[str, ...] = ()
  step_ms: float | None = None

  def __str__(self) -> str:
    figures = dataclasses.asdict(self)
    megabytes = self.disk_bytes_per_second / 1e6
    steps = ", ".join(self.between) or "the loop that draws the batches"
    sentence = _SENTENCES[self.bound].format(
      megabytes=megabytes,
      taken_ms=1e3 * self.seconds / self.batches,
      steps=steps,
      least=_LEAST_BATCHES,
      were="was" if self.batches == 1 else "were",
      **figures,
    )
    if self.bound == "consumer-bound" and self.between:
      sentence += (
        f"; that is the model and what stands before it ({steps}): verdict(step_ms=…) "
        "with the model's milliseconds for a batch tells them apart"
      )
    if self.fallbacks:
      samples = "sample was" if self.fallbacks == 1 else "samples were"
      sentence += (
        f"; {self.fallbacks} {samples} read in another format, since the planned one "
        "is damaged"
      )
    return f"{sentence}. {_ADVICE[self.bound]}"

  def __repr__(self) -> str:
    return f"<Verdict {self.bound}: {self}>"


def bound(consumer_waited: float, records_waited: float, disk_busy: float) -> str:
  """What limits a pipeline, by shares of its time.

  The busier of disk and decoders: the one rests where memory is full of records, the
  others where none is there.
  """
  if consumer_waited < _HELD_UP:
    return "consumer-bound"
  return "disk-bound" if disk_busy > 1 - records_waited else "decode-bound"


def judge(
  batches: list[dict[str, Any]],
  fallbacks: int = 0,
  between: Sequence[str] = (),
  step_ms: float | None = None,
) -> Verdict:
  """The verdict on delivered batches.

  The first epoch does not count where enough of others follows: it fills the cache.

  Args:
    batches: of `liquid_tf.Stats.batches`.
    fallbacks: as in `Verdict`, like the others.
    between: likewise.
    step_ms: likewise.

  Raises:
    ValueError: none was delivered.
  """
  if not batches:
    raise ValueError("no batch was delivered yet: draw an epoch first")
  first = min(batch["epoch"] for batch in batches)
  judged = [batch for batch in batches if batch["epoch"] > first]
  if len(judged) < _LEAST_BATCHES:
    judged = batches
  total = {
    key: sum(batch["seconds"][key] for batch in judged)
    for key in ("read", "decode", "wait", "step", "disk")
  }
  seconds = total["step"]
  consumer_waited = min(1.0, total["wait"] / seconds)
  records_waited = min(1.0, total["read"] / seconds)
  disk_busy = min(1.0, total["disk"] / seconds)
  limit = bound(consumer_waited, records_waited, disk_busy)
  if len(judged) < _LEAST_BATCHES:
    limit = "unknown"
  if limit == "consumer-bound" and step_ms is not None:
    own = 1e3 * (seconds - total["wait"]) / len(judged)
    limit = "map-bound" if step_ms < _MOST_OF_IT * own else "model-bound"
  return Verdict(
    bound=limit,
    consumer_waited=consumer_waited,
    records_waited=records_waited,
    disk_busy=disk_busy,
    decoders_busy=total["decode"] / seconds,
    disk_bytes_per_second=sum(batch["disk_bytes"] for batch in judged) / seconds,
    batches=len(judged),
    seconds=seconds,
    fallbacks=fallbacks,
    between=tuple(between),
    step_ms=step_ms,
  )
