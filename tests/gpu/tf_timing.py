"""How long L3 takes in TensorFlow on its GPU: by itself, and under a training step."""

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import tensorflow as tf

from liquid_tf import _gpu_tf
from liquid_tf._image_options import ImageOptions

# What the project wants of it.
MOST_OF_STEP = 1.05
LEAST_OF_COPY = 1.8

_MAX_PIXELS = 1 << 28
# A step that hides the decoding takes this many times as long, or longer.
_STEP_OF_DECODE = 2.0


def _dataset(files: Sequence[bytes], shape: Sequence[int]) -> tf.data.Dataset:
  """The same batch again and again, decoded to `shape` on the GPU each time."""
  n = len(files)
  batch = (
    tf.constant(files),
    tf.zeros([n, 4], tf.int32),
    tf.range(n, dtype=tf.int64),
  )
  return _gpu_tf.decoded(
    tf.data.Dataset.from_tensors(batch).repeat(),
    _gpu_tf.STORED,
    ["image"],
    False,
    ImageOptions(None, None, False, None, None, None, "NHWC", False),
    tf.uint8,
    shape,
    _MAX_PIXELS,
  )


@tf.function
def _step(images: tf.Tensor, rounds: tf.Tensor) -> tf.Tensor:
  """`rounds` element-wise passes over a batch, and a number that needs all of them."""
  values = tf.cast(images, tf.float32)
  for _ in tf.range(rounds):
    values = values * 0.999 + 0.5
  return values[0, 0, 0, 0]


def _seconds(work: Callable[[], tf.Tensor], steps: int) -> float:
  """Seconds a step of `steps`, the last of which is waited for."""
  begin = time.perf_counter()
  for _ in range(steps):
    last = work()
  last.numpy()
  return (time.perf_counter() - begin) / steps


def _seconds_alone(batches: Iterator[tf.Tensor], steps: int) -> float:
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
    _seconds(lambda passes=passes: _step(resident, passes), 2)
    if _seconds(lambda passes=passes: _step(resident, passes), steps) >= wanted:
      return rounds
    rounds *= 2


def measure(
  files: Sequence[bytes],
  shape: Sequence[int],
  repeats: int,
  pinned_gb_per_s: float | None,
) -> dict[str, Any]:
  """Times a batch by itself and under a step.

  Args:
    files: of L3, of one size.
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
    which is to be LEAST_OF_COPY or more.
  """
  steps = 20
  batches = iter(_dataset(files, shape))
  resident = next(batches)
  _seconds_alone(batches, 5)
  decode = statistics.median(_seconds_alone(batches, steps) for _ in range(repeats))
  rounds = tf.constant(_rounds(resident, _STEP_OF_DECODE * decode, 5))

  def fed() -> tf.Tensor:
    return _step(next(batches), rounds)

  times = {"resident": [], "decoded": []}
  for _ in range(repeats):
    times["resident"].append(_seconds(lambda: _step(resident, rounds), steps))
    times["decoded"].append(_seconds(fed, steps))
  medians = {name: statistics.median(found) * 1e3 for name, found in times.items()}
  found = {
    "images": len(files),
    "stored_bytes": sum(map(len, files)),
    "decode_milliseconds": decode * 1e3,
    "step_rounds": int(rounds),
    "step_milliseconds": medians,
    "share": medians["decoded"] / medians["resident"],
  }
  found["is_hidden"] = found["share"] <= MOST_OF_STEP
  if pinned_gb_per_s is not None:
    copied = int(tf.size(resident)) / pinned_gb_per_s / 1e9
    found["of_pinned_copy"] = copied / decode
    found["beats_copy"] = found["of_pinned_copy"] >= LEAST_OF_COPY
  return found
