"""What limits a training: disk, decoding, or the training itself."""

import dataclasses
from collections.abc import Sequence
from typing import Any

# A consumer that waits for less of its time than this is not held up.
_HELD_UP = 0.1

# A model that takes less than this part of the consumer's time is not what limits it.
_MOST_OF_IT = 0.75

_SENTENCES = {
  "disk-bound": (
    "the disk is the limit: the consumer waited {consumer_waited:.0%} of the time for "
    "batches, and the pipeline {records_waited:.0%} for records; reads were under way "
    "{disk_busy:.0%} of the time, at {megabytes:.1f} MB/s in all; {decoders_busy:.1f} "
    "threads were decoding"
  ),
  "decode-bound": (
    "decoding is the limit: the consumer waited {consumer_waited:.0%} of the time for "
    "batches, the pipeline only {records_waited:.0%} for records; {decoders_busy:.1f} "
    "threads were decoding, and {megabytes:.1f} MB/s came from the disk, where reads "
    "were under way {disk_busy:.0%} of the time"
  ),
  "consumer-bound": (
    "the consumer is the limit: it waited only {consumer_waited:.0%} of the time for "
    "batches; {decoders_busy:.1f} threads were decoding, and {megabytes:.1f} MB/s came "
    "from the disk"
  ),
  "model-bound": (
    "the model is the limit: of {taken_ms:.1f} ms from batch to batch it takes "
    "{step_ms:.1f} by itself; the consumer waited {consumer_waited:.0%} of the time "
    "for batches"
  ),
  "map-bound": (
    "what stands between the dataset and the model is the limit ({steps}): from batch "
    "to batch {taken_ms:.1f} ms go by, of which the model takes {step_ms:.1f} and the "
    "consumer waited {consumer_waited:.0%}"
  ),
}


@dataclasses.dataclass(frozen=True)
class Verdict:
  """What limits the delivery of batches, with the figures behind it.

  Attributes:
    bound: "disk-bound", "decode-bound" or "consumer-bound"; the last one becomes
      "model-bound" or "map-bound" where `step_ms` is known.
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
      **figures,
    )
    if self.bound == "consumer-bound" and self.between:
      sentence += (
        f"; the consumer is the model and what stands before it ({steps}): "
        "verdict(step_ms=…) with the model's milliseconds for a batch tells them apart"
      )
    if self.fallbacks == 0:
      return sentence
    samples = "sample was" if self.fallbacks == 1 else "samples were"
    return (
      f"{sentence}; {self.fallbacks} {samples} read in another format, since the "
      "planned one is damaged"
    )


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

  The first epoch does not count where others follow: it fills the cache.

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
  judged = [batch for batch in batches if batch["epoch"] > first] or batches
  total = {
    key: sum(batch["seconds"][key] for batch in judged)
    for key in ("read", "decode", "wait", "step", "disk")
  }
  seconds = total["step"]
  consumer_waited = min(1.0, total["wait"] / seconds)
  records_waited = min(1.0, total["read"] / seconds)
  disk_busy = min(1.0, total["disk"] / seconds)
  limit = bound(consumer_waited, records_waited, disk_busy)
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
