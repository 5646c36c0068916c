"""How well an epoch is shuffled, beside shuffle buffers of the same memory.

20,000 samples in 40 files, and memory for 2,000 of them. Two measures, over
stored position and draw position:

* rank correlation: 0 for a perfect shuffle, 1 for none. Signed, it shows whether
  early samples come early; its root mean square over epochs, how far one epoch
  is off. Permuting files leaves about 1 / sqrt(files).
* spread: how far apart two neighbours in a file are drawn, relative to a perfect
  shuffle, in which it is a third of the epoch.

Run by itself it prints the figures of docs/determinism.md.
"""

import numpy as np
import tensorflow as tf

from liquid_tf._native import messages, ops

_SAMPLES = 20_000
_FILES = 40
_MEMORY = 2_000
_EPOCHS = 120


def liquid_orders(cached: int) -> list[np.ndarray]:
  """Stored positions in draw order, one array an epoch.

  Each epoch has two before it, so that what it holds comes from a usual one.
  """
  one = messages.format_plan(
    files=[_SAMPLES // _FILES] * _FILES,
    record_samples=[],
    cached=cached,
    fill=_MEMORY,
    scan_groups=0,
  )
  plan = messages.plan(
    seed=1, batch_size=32, shuffle=True, policy="liquid", formats=[one], sections=[]
  )
  return [
    ops.lib().liquid_plan_epoch(plan, epoch - 2, epoch).sample.numpy()
    for epoch in range(2, 2 + _EPOCHS)
  ]


def _elements(dataset: tf.data.Dataset) -> np.ndarray:
  return next(iter(dataset.batch(_SAMPLES))).numpy()


def buffer_orders() -> list[np.ndarray]:
  """`shuffle` over files that are read one after the other."""
  return [
    _elements(tf.data.Dataset.range(_SAMPLES).shuffle(_MEMORY, seed=epoch))
    for epoch in range(_EPOCHS)
  ]


def interleaved_buffer_orders() -> list[np.ndarray]:
  """`shuffle` over permuted files of which four are read in turns."""
  in_file = _SAMPLES // _FILES

  def order(epoch: int) -> np.ndarray:
    files = tf.data.Dataset.range(_FILES).shuffle(_FILES, seed=epoch)
    samples = files.interleave(
      lambda file: tf.data.Dataset.range(file * in_file, (file + 1) * in_file),
      cycle_length=4,
      block_length=16,
    )
    return _elements(samples.shuffle(_MEMORY, seed=epoch))

  return [order(epoch) for epoch in range(_EPOCHS)]


def dali_orders() -> list[np.ndarray]:
  """A DALI reader with `random_shuffle` and `initial_fill`, one shard.

  Files are read in stored order again and again into a buffer, of which a random
  member is replaced by the next sample, across the ends of epochs. A sample's
  first draw after a multiple of the epoch's length stands for its position.
  """
  rng = np.random.Generator(np.random.Philox(1))
  buffer = np.arange(_MEMORY)
  drawn = np.empty(_SAMPLES * (_EPOCHS + 1), np.int64)
  picks = rng.integers(_MEMORY, size=len(drawn))
  for at, pick in enumerate(picks):
    drawn[at] = buffer[pick]
    buffer[pick] = (at + _MEMORY) % _SAMPLES
  orders = []
  for epoch in range(1, 1 + _EPOCHS):
    draws = drawn[epoch * _SAMPLES : (epoch + 1) * _SAMPLES]
    _, first = np.unique(draws, return_index=True)
    orders.append(draws[np.sort(first)])
  return orders


def measure(orders: list[np.ndarray]) -> dict[str, float]:
  """Mean and root mean square of the rank correlation, and the mean spread."""
  correlations, spreads = [], []
  for order in orders:
    correlations.append(np.corrcoef(np.arange(len(order)), order)[0, 1])
    position = np.full(_SAMPLES, -1)
    position[order] = np.arange(len(order))
    pairs = position.reshape(_FILES, -1)
    there = (pairs[:, 1:] >= 0) & (pairs[:, :-1] >= 0)
    apart = np.abs(np.diff(pairs, axis=1))[there].mean()
    spreads.append(apart / (_SAMPLES / 3))
  return {
    "mean": float(np.mean(correlations)),
    "rms": float(np.sqrt(np.mean(np.square(correlations)))),
    "spread": float(np.mean(spreads)),
  }


class ShuffleQualityTest(tf.test.TestCase):
  def _measure(self, name: str, orders: list[np.ndarray]) -> dict[str, float]:
    figures = measure(orders)
    print(f"{name:40}", *(f"{key} {value:+.3f}" for key, value in figures.items()))
    return figures

  def test_beside_shuffle_buffers_of_the_same_memory(self):
    buffer = self._measure("tf.data shuffle, files in order", buffer_orders())
    dali = self._measure("DALI-style buffer", dali_orders())
    fair = self._measure(
      "tf.data shuffle, files interleaved", interleaved_buffer_orders()
    )
    for cached in (0, 500, 1000, 1500):
      ours = self._measure(f"liquid, {cached} cached", liquid_orders(cached))
      # No bias, and no epoch far from what permuted files leave.
      self.assertLess(abs(ours["mean"]), 3 * ours["rms"] / np.sqrt(_EPOCHS))
      self.assertLess(ours["rms"], 1.5 / np.sqrt(_FILES))
      # A reader that keeps the files' order hardly shuffles.
      self.assertGreater(min(buffer["rms"], dali["rms"]), 3 * ours["rms"])
      # As good as the best that stock parts give; caching costs no more than its
      # share of the memory that would otherwise shuffle.
      self.assertLess(ours["rms"], 1.5 * fair["rms"])
      self.assertGreater(ours["spread"], 0.9 * fair["spread"] * (1 - cached / _MEMORY))

  def test_more_memory_shuffles_better(self):
    self.assertGreater(
      measure([np.random.default_rng(0).permutation(_SAMPLES)])["spread"], 0.95
    )
    self.assertLess(measure([np.arange(_SAMPLES)])["spread"], 0.001)
    self.assertAlmostEqual(measure([np.arange(_SAMPLES)])["mean"], 1.0)


if __name__ == "__main__":
  tf.test.main()
