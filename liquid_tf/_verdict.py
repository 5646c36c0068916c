"""What limits a training: disk, decoding, or the training itself."""

import dataclasses
from typing import Any

# A consumer that waits for less of its time than this is not held up.
_HELD_UP = 0.1
# A pipeline that waits for records longer than this share of its time is held up by
# them: while the disk is faster than the decoding, it waits for room instead.
_STARVED = 0.5

_SENTENCES = {
  "disk-bound": (
    "the disk is the limit: the consumer waited {consumer_waited:.0%} of the time for "
    "batches, and the pipeline {records_waited:.0%} for records, which came at "
    "{megabytes:.1f} MB/s; {decoders_busy:.1f} threads were decoding"
  ),
  "decode-bound": (
    "decoding is the limit: the consumer waited {consumer_waited:.0%} of the time for "
    "batches, the pipeline only {records_waited:.0%} for records; {decoders_busy:.1f} "
    "threads were decoding, and {megabytes:.1f} MB/s came from the disk"
  ),
  "consumer-bound": (
    "the consumer is the limit: it waited only {consumer_waited:.0%} of the time for "
    "batches; {decoders_busy:.1f} threads were decoding, and {megabytes:.1f} MB/s came "
    "from the disk"
  ),
}


@dataclasses.dataclass(frozen=True)
class Verdict:
  """What limits the delivery of batches, with the figures behind it.

  Attributes:
    bound: "disk-bound", "decode-bound" or "consumer-bound".
    consumer_waited: share of the time in which the consumer waited for a batch.
    records_waited: share of the time in which the interleave waited for records.
    decoders_busy: threads that were decoding, on average.
    disk_bytes_per_second: read for these batches.
    batches: how many the verdict rests on.
    seconds: how long these took.
  """

  bound: str
  consumer_waited: float
  records_waited: float
  decoders_busy: float
  disk_bytes_per_second: float
  batches: int
  seconds: float

  def __str__(self) -> str:
    figures = dataclasses.asdict(self)
    megabytes = self.disk_bytes_per_second / 1e6
    return _SENTENCES[self.bound].format(megabytes=megabytes, **figures)


def bound(consumer_waited: float, records_waited: float) -> str:
  """What limits a pipeline, by shares of the time that was waited."""
  if consumer_waited < _HELD_UP:
    return "consumer-bound"
  return "disk-bound" if records_waited >= _STARVED else "decode-bound"


def judge(batches: list[dict[str, Any]]) -> Verdict:
  """The verdict on delivered batches.

  The first epoch does not count where others follow: it fills the cache.

  Args:
    batches: of `liquid_tf.Stats.batches`.

  Raises:
    ValueError: none was delivered.
  """
  if not batches:
    raise ValueError("no batch was delivered yet: draw an epoch first")
  first = min(batch["epoch"] for batch in batches)
  judged = [batch for batch in batches if batch["epoch"] > first] or batches
  total = {
    key: sum(batch["seconds"][key] for batch in judged)
    for key in ("read", "decode", "wait", "step")
  }
  seconds = total["step"]
  consumer_waited = min(1.0, total["wait"] / seconds)
  records_waited = min(1.0, total["read"] / seconds)
  return Verdict(
    bound=bound(consumer_waited, records_waited),
    consumer_waited=consumer_waited,
    records_waited=records_waited,
    decoders_busy=total["decode"] / seconds,
    disk_bytes_per_second=sum(batch["disk_bytes"] for batch in judged) / seconds,
    batches=len(judged),
    seconds=seconds,
  )
