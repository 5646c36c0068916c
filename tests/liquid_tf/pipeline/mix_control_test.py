"""The controller of `mix="auto"` beside simulated machines."""

import dataclasses
import functools
import itertools
import types
from fractions import Fraction

import numpy as np
import tensorflow as tf
from absl.testing import parameterized

from liquid_tf._cost import model
from liquid_tf._pipeline import mix_control
from liquid_tf._pipeline import mixes as _mixes
from liquid_tf._pipeline.mix_control import Controller, Epoch

_STORED = {"raw": 3e6, "png": 1.2e6, "webp": 0.9e6}
# Thread-seconds of an image.
_DECODE = {"raw": 0.001, "png": 0.020, "webp": 0.045}
_SAMPLES = 2000

# An epoch after a change may still be as it was; then three may find to the new mix.
_EPOCHS = 3
_WITHIN = 0.15


@dataclasses.dataclass
class Machine:
  """A pipeline whose slower half is waited for.

  Attributes:
    disk: bytes per second.
    burst: how much faster it is between rests, where it rests half of the time.
    threads: that decode.
    speed: of the processors.
    consumer: images per second that the training takes.
    noise: relative, of all that is measured.
    held: share of the samples that memory has.
    contention: how much slower decoders are where they are all at work.
  """

  disk: float = 100e6
  burst: float = 1.0
  threads: int = 2
  speed: float = 1.0
  consumer: float = float("inf")
  noise: float = 0.0
  held: float = 0.0
  contention: float = 1.0

  def rates(self, mix):
    """Images per second that disk and decoders allow."""
    stored = sum(share * _STORED[name] for name, share in mix.items())
    seconds = sum(share * _DECODE[name] for name, share in mix.items())
    load = self.disk / (stored * (1 - self.held)) if self.held < 1 else float("inf")
    return load, self.threads * self.speed / (seconds * self.contention)

  def throughput(self, mix):
    return min(*self.rates(mix), self.consumer)

  def run(self, mix, random) -> Epoch:
    load, decode = self.rates(mix)

    def noisy(value):
      return value * float(np.exp(self.noise * random.standard_normal()))

    load, decode = noisy(load), noisy(decode)
    rate = min(load, decode, self.consumer)
    step = _SAMPLES / rate
    slow = self.contention if decode < load else 1.0
    disk_bytes = sum(_SAMPLES * share * _STORED[name] for name, share in mix.items())
    disk_bytes *= 1 - self.held
    limit = min(load, decode) < self.consumer
    fill_bytes = int(disk_bytes / 10)
    fill = fill_bytes / noisy(2 * self.disk)
    rests = 1 - rate / load
    busy = (1 - rests) / (1 + (self.burst - 1) * min(1, 2 * rests))
    return Epoch(
      mix=mix,
      batches=_SAMPLES // 32,
      decodes={name: round(_SAMPLES * mix.get(name, 0.0)) for name in _STORED},
      decode_seconds={
        name: noisy(_SAMPLES * mix.get(name, 0.0) * _DECODE[name] * slow / self.speed)
        for name in _STORED
      },
      disk_bytes=int(disk_bytes) + fill_bytes,
      read=fill + step * max(0.05, 1 - rate / decode),
      wait=fill + step * (0.8 if limit else 0.02),
      step=fill + step,
      disk=fill + noisy(step * busy),
      fill_bytes=fill_bytes,
      fill_seconds=fill,
    )

  def best(self):
    """Of all mixes in twentieths."""
    return _best(dataclasses.astuple(self))


_MIXES = [
  {name: n / 20 for name, n in zip(_STORED, parts)}
  for parts in itertools.product(range(21), repeat=len(_STORED))
  if sum(parts) == 20
]


@functools.cache
def _best(machine: tuple) -> float:
  return max(map(Machine(*machine).throughput, _MIXES))


def _controller(machine: Machine, threads: int = 2) -> Controller:
  known = model.Machine(samples=_SAMPLES, pixel_bytes=3e6, cache_share=machine.held)
  return Controller(_STORED, known, threads)


def _in_records(mix, records: int):
  """What becomes of a mix where webp has so many records."""
  sizes = {"webp": np.full(records, _SAMPLES // records), "raw": None, "png": None}
  sources = [
    types.SimpleNamespace(rows=range(_SAMPLES), record_samples=of_record)
    for of_record in sizes.values()
  ]
  weights = [Fraction(round(mix.get(name, 0.0), 6)) for name in sizes]
  counts = _mixes._cut(weights, sources)
  return {name: count / _SAMPLES for name, count in zip(sizes, counts)}


_START = {"raw": 0.34, "png": 0.33, "webp": 0.33}

_CHANGES = {
  "half the disk": {"disk": 50e6},
  "a tenth of the disk": {"disk": 10e6},
  "three times the disk": {"disk": 300e6},
  "twenty times the disk": {"disk": 2e9},
  "half the processors": {"speed": 0.5},
  "twice the processors": {"speed": 2.0},
  "half the threads": {"threads": 1},
}


class MixControlTest(tf.test.TestCase, parameterized.TestCase):
  def _run(self, machine, controller, mix, epochs, seed=0):
    """The mixes of epochs that follow one another, and the one behind them."""
    random = np.random.default_rng(seed)
    mixes = [mix]
    for _ in range(epochs):
      mixes.append(controller.next_mix(machine.run(mixes[-1], random)))
      self.assertAlmostEqual(sum(mixes[-1].values()), 1, places=6)
      self.assertGreaterEqual(min(mixes[-1].values()), 0)
    return mixes

  def _check_near(self, machine, mix, within=_WITHIN):
    self.assertGreaterEqual(machine.throughput(mix), (1 - within) * machine.best())

  @parameterized.product(
    change=list(_CHANGES), noise=(0.0, 0.03), held=(0.0, 0.3), burst=(1.0, 0.85, 1.5)
  )
  def test_is_near_the_best_three_epochs_after_a_change(
    self, change, noise, held, burst
  ):
    for seed in range(10):
      common = {"noise": noise, "held": held, "burst": burst, "contention": 1.1}
      machine = Machine(**common)
      controller = _controller(machine)
      before = self._run(machine, controller, _START, _EPOCHS, seed)
      self._check_near(machine, before[-1])
      before = self._run(machine, controller, before[-1], 5, seed + 100)
      changed = Machine(**common | _CHANGES[change])
      after = self._run(changed, controller, before[-1], 12, seed + 200)
      for mix in after[_EPOCHS:]:
        self._check_near(changed, mix)

  @parameterized.product(
    disk=(20e6, 60e6, 100e6, 300e6), noise=(0.03, 0.06), burst=(0.85, 1.0, 1.5)
  )
  def test_noise_does_not_move_it_to_and_fro(self, disk, noise, burst):
    for seed in range(10):
      machine = Machine(disk=disk, noise=noise, burst=burst, contention=1.1)
      mixes = self._run(machine, _controller(machine), _START, 40, seed)
      moves = [m != n for m, n in itertools.pairwise(mixes[5:])]
      self.assertLessEqual(sum(moves), 6 if noise > 0.05 else 4, f"seed {seed}")
      for mix in mixes[5:]:
        self._check_near(machine, mix, 0.22 if noise > 0.05 else _WITHIN)

  @parameterized.parameters(1.1, 1.3)
  def test_what_was_slower_is_tried_less_and_less(self, contention):
    # Where the disk is not the limit, it seems up to a few times as fast as it is.
    moves = []
    for disk, seed in itertools.product((100e6, 200e6, 400e6), range(10)):
      random = np.random.default_rng(seed)
      machine = Machine(disk=disk, noise=0.03, contention=contention)
      controller, mixes = _controller(machine), [_START]
      for _ in range(60):
        machine.burst = float(np.exp(abs(0.6 * random.standard_normal())))
        mixes.append(controller.next_mix(machine.run(mixes[-1], random)))
      moves += [sum(m != n for m, n in itertools.pairwise(mixes[40:]))]
    self.assertLessEqual(np.mean(moves), 2)

  def test_a_format_without_a_share_need_not_be_named(self):
    random = np.random.default_rng(0)
    controller = _controller(Machine(disk=20e6))
    for disk, mix in (
      (20e6, {"webp": 1.0}),
      (16.8e6, {"webp": 1.0, "png": 0.0, "raw": 0.0}),
    ):
      found = controller.next_mix(Machine(disk=disk).run(mix, random))
      self.assertAlmostEqual(sum(found.values()), 1)

  def test_without_noise_it_comes_to_rest(self):
    for disk in (5e6, 20e6, 50e6, 100e6, 400e6, 4e9):
      machine = Machine(disk=disk)
      mixes = self._run(machine, _controller(machine), _START, 12)
      for mix in mixes[6:]:
        self.assertEqual(mix, mixes[5])
      self._check_near(machine, mixes[-1], 0.08)

  def test_a_training_that_is_slower_leaves_it(self):
    machine = Machine(consumer=5)
    mixes = self._run(machine, _controller(machine), _START, 5)
    for mix in mixes[2:]:
      self.assertEqual(mix, mixes[1])
    self.assertAllClose(mixes[1], _START)

  def test_short_epochs_say_nothing(self):
    machine = Machine()
    epoch = machine.run(_START, np.random.default_rng(0))
    controller = _controller(machine)
    for short in ({"batches": 15}, {"step": epoch.fill_seconds + 0.2}):
      self.assertEqual(controller.next_mix(dataclasses.replace(epoch, **short)), _START)
    self.assertNotEqual(controller.next_mix(epoch), _START)

  def test_what_was_never_decoded_is_tried(self):
    machine = Machine(disk=20e6)
    mixes = self._run(machine, _controller(machine), {"raw": 1.0}, 1)
    self.assertGreater(min(mixes[1][name] for name in ("png", "webp")), 0.01)
    self.assertLess(mixes[1]["png"], 0.05)
    mixes = self._run(machine, _controller(machine), {"raw": 1.0}, _EPOCHS)
    self._check_near(machine, mixes[-1])

  def test_no_more_than_half_changes_at_once(self):
    machine = Machine(disk=5e6)
    mixes = self._run(
      machine, _controller(machine), {"raw": 0.98, "png": 0.01, "webp": 0.01}, 4
    )
    for one, other in itertools.pairwise(mixes):
      moved = sum(abs(one.get(n, 0) - other.get(n, 0)) for n in _STORED) / 2
      self.assertLessEqual(moved, mix_control._STEP + 1e-9)

  @parameterized.product(disk=(10e6, 40e6, 100e6, 400e6), records=(20, 50))
  def test_is_near_the_best_where_a_format_has_whole_records(self, disk, records):
    machine = Machine(disk=disk, noise=0.03, contention=1.1)
    for seed in range(10):
      random = np.random.default_rng(seed)
      controller, mix = _controller(machine), _in_records(_START, records)
      for epoch in range(12):
        mix = _in_records(controller.next_mix(machine.run(mix, random)), records)
        if epoch >= _EPOCHS:
          self._check_near(machine, mix, _WITHIN + 0.5 / records)

  def test_a_faster_disk_is_seen_though_it_is_not_the_limit(self):
    machine = Machine(held=0.3)
    controller = _controller(machine)
    mixes = self._run(machine, controller, _START, 5)
    decode_bound = {"raw": mixes[-1]["raw"] * 0.9, "png": 1 - mixes[-1]["raw"] * 0.9}
    faster = Machine(held=0.3, disk=250e6)
    (_, mix) = self._run(faster, controller, decode_bound, 1)
    self._check_near(faster, mix)


if __name__ == "__main__":
  tf.test.main()
