"""How long L3 takes in TensorFlow on its GPU: by itself, and under a training step.

Under a step it is looked whether that has its batch's pixels to its end, too.
"""

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from liquid_tf import codecs
from liquid_tf._graph import gpu
from liquid_tf._pipeline.recipe import Recipe

# What the project wants of it.
MOST_OF_STEP = 1.05
LEAST_OF_COPY = 1.8

_MAX_PIXELS = 1 << 28
# A step that hides the decoding takes this many times as long, or longer.
_STEP_OF_DECODE = 2.0


def _dataset(
  batches: Sequence[Sequence[bytes]], shape: Sequence[int]
) -> tf.data.Dataset:
  """Batches in turn, again and again, decoded to `shape` on the GPU each time.

  Their label, which TensorFlow copies to the GPU, is the sum of their pixels.
  """
  count, n = len(batches), len(batches[0])
  # Whole batches, which TensorFlow passes on; it would copy the files of slices.
  stored = [
    tf.data.Dataset.from_tensors(
      (
        tf.constant(files),
        tf.range(i * n, (i + 1) * n, dtype=tf.int64),
        tf.constant(_sum(files), tf.int64),
      )
    ).repeat()
    for i, files in enumerate(batches)
  ]
  turns = tf.data.Dataset.range(count).repeat()
  return gpu.decoded(
    tf.data.Dataset.choose_from_datasets(stored, turns),
    [*gpu.STORED, "label"],
    ["image", "label"],
    False,
    Recipe.parse([]),
    tf.uint8,
    [shape],
    codecs.Limits(_MAX_PIXELS),
  )


def _sum(files: Sequence[bytes]) -> int:
  """The sum of a batch's pixels, as the processors decode them."""
  with tf.device("CPU"):
    pixels = codecs.decode_batch(tf.constant(files), limits=codecs.Limits(_MAX_PIXELS))
  return int(pixels.numpy().sum(dtype=np.int64))


@tf.function
def _step(images: tf.Tensor, rounds: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
  """`rounds` element-wise passes over a batch, then the sum of its pixels.

  Returns:
    A number that needs all passes; and the sum, of the pixels as they are after them.
  """
  values = tf.cast(images, tf.float32)
  for _ in tf.range(rounds):
    values = values * 0.999 + 0.5
  with tf.control_dependencies([values]):
    # Whole numbers have one sum in any order while that has digits for them: a row's,
    # of under 20,000 pixels, in float32, and a batch's in float64.
    rows = tf.reduce_sum(tf.cast(images, tf.float32), [2, 3])
    total = tf.reduce_sum(tf.cast(rows, tf.float64))
  return values[0, 0, 0, 0], total


def _seconds(work: Callable[[], tf.Tensor], steps: int) -> float:
  """Seconds a step of `steps`, the last of which is waited for."""
  begin = time.perf_counter()
  for _ in range(steps):
    last = work()
  last.numpy()
  return (time.perf_counter() - begin) / steps


def _seconds_alone(batches: Iterator, steps: int) -> float:
  """Seconds a batch, which is complete when it is there."""
  begin = time.perf_counter()
  for _ in range(steps):
    next(batches)
  return (time.perf_counter() - begin) / steps


def _rounds(resident: tf.Tensor, wanted: float, steps: int) -> int:
  """Passes of a step that takes `wanted` seconds or more."""
  rounds = 8
  while True:
    passes = tf.constant(rounds)
    _seconds(lambda passes=passes: _step(resident, passes)[0], 2)
    if _seconds(lambda passes=passes: _step(resident, passes)[0], steps) >= wanted:
      return rounds
    rounds *= 2


def measure(
  stored: Sequence[Sequence[bytes]],
  shape: Sequence[int],
  repeats: int,
  pinned_gb_per_s: float | None,
) -> dict[str, Any]:
  """Times a batch by itself and under a step.

  Args:
    stored: batches of as many files of L3, of one size, whose pixels have different
      sums. They are decoded in turn.
    shape: n, height, width and channels.
    repeats: rounds of each, one of this and one of that in turn.
    pinned_gb_per_s: what a copy from pinned memory to the GPU reaches; None where that
      was not measured.

  Returns:
    "decode_milliseconds" a batch, from bytes in the host's memory to pixels in the
    GPU's, as the dataset's end makes them one after the other; "step_milliseconds",
    medians of a step fed from memory of the GPU ("resident") and from the dataset
    ("decoded"), and their "share", which is to be at most MOST_OF_STEP; and
    "of_pinned_copy", how many times as fast as copying raw pixels the decoding is,
    which is to be LEAST_OF_COPY or more. "wrong_steps" are those of the "fed_steps"
    that did not have the pixels of their batch to their end, and must be 0: its memory
    was used again too early.
  """
  steps = 20
  batches = iter(_dataset(stored, shape))
  resident, _ = next(batches)
  _seconds_alone(batches, 5)
  decode = statistics.median(_seconds_alone(batches, steps) for _ in range(repeats))
  rounds = tf.constant(_rounds(resident, _STEP_OF_DECODE * decode, 5))
  sums, wrong = [], 0

  def fed() -> tf.Tensor:
    images, wanted = next(batches)
    number, found = _step(images, rounds)
    sums.append((found, wanted))
    return number

  times = {"resident": [], "decoded": []}
  for _ in range(repeats):
    times["resident"].append(_seconds(lambda: _step(resident, rounds)[0], steps))
    times["decoded"].append(_seconds(fed, steps))
    wrong += sum(int(found) != int(wanted) for found, wanted in sums)
    sums.clear()
  medians = {name: statistics.median(found) * 1e3 for name, found in times.items()}
  found = {
    "images": len(stored[0]),
    "stored_bytes": sum(map(len, stored[0])),
    "decode_milliseconds": decode * 1e3,
    "step_rounds": int(rounds),
    "step_milliseconds": medians,
    "share": medians["decoded"] / medians["resident"],
    "fed_steps": repeats * steps,
    "wrong_steps": wrong,
  }
  found["is_hidden"] = found["share"] <= MOST_OF_STEP
  if pinned_gb_per_s is not None:
    copied = int(tf.size(resident)) / pinned_gb_per_s / 1e9
    found["of_pinned_copy"] = copied / decode
    found["beats_copy"] = found["of_pinned_copy"] >= LEAST_OF_COPY
  return found
