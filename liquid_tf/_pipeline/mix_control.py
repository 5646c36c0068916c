"""Chooses the next epoch's mix by what was measured in the last.

The model is the profiler's (docs/profile.md): an image takes the longer of its time on
the disk and on the processors. What formats cost is measured as a training runs: by the
seconds that decoders were at work for each format, and by what the disk brought while
reads were under way.
"""

import dataclasses
import math
from collections.abc import Mapping

from liquid_tf._cost import model, planner
from liquid_tf._pipeline import verdict

# An epoch that was shorter says nothing: it is mostly its beginning and its end.
_LEAST_BATCHES = 16
_LEAST_SECONDS = 0.25
# Images of a format whose decoding makes a mean.
_LEAST_IMAGES = 8
# What a format is given until its decoding is known.
_PROBE = 0.02

# At most so much of the dataset changes its format at once.
_STEP = 0.5
# A mix is left for one that is predicted to be so much faster; each step back asks for
# twice as much of the next, so that noise does not move it to and fro.
_GAIN, _MOST_GAIN = 1.05, 1.10
# A mix is left for one that was measured to be so much faster, whatever is predicted.
_MEASURED = 1.15
# A machine that has changed so much is another one: steps before it do not count.
_CHANGED = 1.5

# A disk that rests is believed to be faster than when it was the limit if it seems so
# much faster.
_FASTER = 1.75
# An epoch that read less says nothing of the disk.
_LEAST_READ = 4 << 20
# Mixes are near where so much of the dataset has one format in both.
_NEAR = 0.9
# A mix near one that was slower is not tried for an epoch, and longer each time.
_LONGEST_PAUSE = 16

# What is measured again is averaged with what it was, unless one is so many times the
# other: then something has changed.
_OTHER = 1.25

Mix = dict[str, float]


@dataclasses.dataclass(frozen=True)
class Epoch:
  """Counts of an epoch.

  Attributes:
    mix: share of each format.
    batches: delivered.
    decodes: images that were decoded, by format.
    decode_seconds: that this took, summed over threads, by format.
    disk_bytes: read.
    read: seconds that the pipeline waited for records.
    wait: seconds that the consumer waited for batches.
    step: seconds that the epoch took.
    disk: seconds in which reads were under way.
    fill_bytes: read before the first batch.
    fill_seconds: in which these reads were under way.
  """

  mix: Mix
  batches: int
  decodes: Mapping[str, int]
  decode_seconds: Mapping[str, float]
  disk_bytes: int
  read: float
  wait: float
  step: float
  disk: float
  fill_bytes: int
  fill_seconds: float

  def after_fill(self) -> "Epoch":
    """Without its beginning, in which the decoders had nothing to do."""
    return dataclasses.replace(
      self,
      disk_bytes=max(0, self.disk_bytes - self.fill_bytes),
      read=max(0.0, self.read - self.fill_seconds),
      wait=max(0.0, self.wait - self.fill_seconds),
      step=max(0.0, self.step - self.fill_seconds),
      disk=max(0.0, self.disk - self.fill_seconds),
    )


class Controller:
  """Moves a mix between epochs to where disk and processors are both busy.

  Not thread-safe. What it returns is a function of what it was shown, in that order.

  Args:
    stored_bytes: of an image, on average, by format.
    machine: images, their size and what memory holds; the rest is found out.
    threads: that decode at once, at most.
  """

  def __init__(
    self, stored_bytes: Mapping[str, float], machine: model.Machine, threads: int
  ):
    self._stored = dict(stored_bytes)
    self._machine = machine
    self._threads = self._most_threads = float(threads)
    self._decode: dict[str, float] = {}  # thread-seconds of an image
    self._disk: float | None = None  # bytes per second
    self._disk_was_limit = False  # when that was measured
    self._gain = _GAIN
    self._last: tuple[Mix, dict[str, float]] | None = None  # last step, machine then
    self._forget()

  def _forget(self) -> None:
    """Forgets what was found by trying on a machine that has changed."""
    self._rates: list[tuple[Mix, float]] = []  # batches per second of mixes
    self._pause = self._left = 1  # epochs without another trial, and left of them

  def next_mix(self, epoch: Epoch) -> Mix:
    """The mix of the epoch after one that was counted: shares that sum to 1."""
    epoch = epoch.after_fill()
    if epoch.batches < _LEAST_BATCHES or epoch.step < _LEAST_SECONDS:
      return dict(epoch.mix)
    self._see_decoding(epoch)
    bound = verdict.bound(
      epoch.wait / epoch.step, epoch.read / epoch.step, epoch.disk / epoch.step
    )
    if bound == "consumer-bound":
      # Any mix that is no slower would do, and nothing shows which is.
      return dict(epoch.mix)
    self._see_machine(epoch, bound == "disk-bound")
    self._see_rate(epoch)
    return self._probe(self._move(epoch.mix))

  def _see_decoding(self, epoch: Epoch) -> None:
    found = {
      name: epoch.decode_seconds[name] / count
      for name, count in epoch.decodes.items()
      if count >= _LEAST_IMAGES
    }
    both = [name for name in found if self._decode.get(name) and found[name] > 0]
    if both:
      # What a codec costs beside others stays; so those that were not seen are as
      # much slower or faster as those that were.
      logs = [math.log(found[name] / self._decode[name]) for name in both]
      times = math.exp(sum(logs) / len(logs))
      for name in self._decode.keys() - found.keys():
        self._decode[name] *= times
    self._decode |= {
      name: _again(self._decode.get(name), cost)
      for name, cost in found.items()
      if cost > 0
    }

  def _see_machine(self, epoch: Epoch, disk_bound: bool) -> None:
    if epoch.disk_bytes >= _LEAST_READ and epoch.disk > 0:
      self._see_disk(epoch.disk_bytes / epoch.disk, disk_bound)
    busy = sum(epoch.decode_seconds.values())
    with_records = epoch.step - epoch.read
    if not disk_bound and busy > 0 and with_records > 0:
      self._threads = _again(
        self._threads, min(busy / with_records, self._most_threads)
      )

  def _see_disk(self, rate: float, is_limit: bool) -> None:
    """Notes the disk's rate while reads were under way, in bytes per second.

    Exact where it is the limit. Where it rests between reads, a throttled one seems
    faster than it is, since it may catch up on what it has missed, and others slower,
    since few reads are under way at once.
    """
    if is_limit == self._disk_was_limit or self._disk is None:
      self._disk = _again(self._disk, rate)
    elif is_limit or rate > _FASTER * self._disk:
      self._disk = rate
    else:
      return
    self._disk_was_limit = is_limit

  def _see_rate(self, epoch: Epoch) -> None:
    rate = epoch.batches / epoch.step
    # A format that is not named and one with no share are the same.
    mix = {name: epoch.mix.get(name, 0.0) for name in self._stored}
    for known, before in self._rates:
      if known == mix and not 1 / _OTHER < rate / before < _OTHER:
        self._forget()
        break
    self._rates = [(m, r) for m, r in self._rates if m != mix]
    self._rates.append((mix, rate))

  def _may_try(self, mix: Mix) -> bool:
    """Whether a mix has not been found slower than the last one, or not lately.

    What is predicted of it need not be right: a disk shows its speed only where it is
    the limit.
    """
    _, rate = self._rates[-1]
    if all(_common(mix, known) < _NEAR or r >= rate for known, r in self._rates):
      return True
    if self._left > 0:
      self._left -= 1
      return False
    self._pause = min(2 * self._pause, _LONGEST_PAUSE)
    self._left = self._pause
    return True

  def _move(self, mix: Mix) -> Mix:
    fastest, rate = max(self._rates, key=lambda known: known[1])
    if rate > _MEASURED * self._rates[-1][1]:
      # What was measured counts more than what is predicted.
      return self._toward(mix, fastest)
    here = {name: share for name, share in mix.items() if name in self._decode}
    if not here or self._disk is None:
      return dict(mix)
    costs = {
      name: model.FormatCost(
        stored_bytes=self._stored[name],
        load_seconds=self._stored[name] / self._disk,
        load_cpu_seconds=0,  # it is part of what slows decoders down
        decode_seconds=cost / self._threads,
        encode_seconds=0,
        lossless=True,
      )
      for name, cost in self._decode.items()
    }
    best = planner.best_mix(costs, self._machine)
    now = model.predict(costs, self._machine, here)
    step = {name: best.mix.get(name, 0.0) - mix.get(name, 0.0) for name in self._stored}
    state = {"disk": self._disk, "processors": self._threads} | self._decode
    back = self._is_back(step, state)
    needed = min(_MOST_GAIN, 1 + 2 * (self._gain - 1)) if back else self._gain
    if best.prediction.throughput < needed * now.throughput:
      return dict(mix)
    target = self._toward(mix, best.mix)
    if not self._may_try(target):
      return dict(mix)
    self._gain = needed
    self._last = (step, state)
    return target

  def _toward(self, mix: Mix, other: Mix) -> Mix:
    """Another mix, or as far on the way to it as an epoch may go."""
    step = {name: other.get(name, 0.0) - mix.get(name, 0.0) for name in self._stored}
    moved = sum(abs(change) for change in step.values()) / 2
    part = min(1.0, _STEP / moved)
    return {name: mix.get(name, 0.0) + part * step[name] for name in self._stored}

  def _is_back(self, step: Mix, state: dict[str, float]) -> bool:
    """Whether a step goes back on the last one, of the same machine."""
    if self._last is None:
      return False
    last, before = self._last
    ratios = [state[key] / before[key] for key in before if key in state]
    if any(not 1 / _CHANGED < ratio < _CHANGED for ratio in ratios):
      self._gain, self._last = _GAIN, None
      return False
    return sum(step[name] * last[name] for name in step) < 0

  def _probe(self, mix: Mix) -> Mix:
    unknown = self._stored.keys() - self._decode.keys()
    if all(mix.get(name, 0.0) >= _PROBE for name in unknown):
      return mix
    least = {name: _PROBE if name in unknown else 0.0 for name in self._stored}
    mix = {name: max(mix.get(name, 0.0), least[name]) for name in self._stored}
    total = sum(mix.values())
    return {name: share / total for name, share in mix.items()}


def _common(one: Mix, other: Mix) -> float:
  """Share of a dataset that has the same format in both mixes."""
  return sum(min(share, other.get(name, 0.0)) for name, share in one.items())


def _again(known: float | None, seen: float) -> float:
  """A quantity that was measured once more."""
  if known is None or not 1 / _OTHER < seen / known < _OTHER:
    return seen
  return (known + seen) / 2
