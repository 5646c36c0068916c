"""How long decoding stored bytes takes on this machine's GPU.

The kernels alone are measured by ops/gpu/bench.
"""

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from PIL import Image

import liquid_tf
from liquid_tf import codecs

# Width and height as the paper has them (L3, figures 7 and 10).
SIZES = {"HD": (1280, 720), "FHD": (1920, 1080), "UHD": (3840, 2160)}

# What is decoded.
L3 = ("l3 v1", "l3 v2", "l3-compact")

# Of a batch.
PIXEL_BYTES = 300 << 20

# What takes long is not timed more often than a few times.
_FEW = 3
_LONG_SECONDS = 5


def on_clock(work: Callable[[], Any], repeats: int) -> dict[str, float]:
  """Milliseconds of `work`, timed so often, or as long as that may take."""
  work()
  times = []
  end = time.perf_counter() + _LONG_SECONDS
  while len(times) < repeats and (len(times) < _FEW or time.perf_counter() < end):
    begin = time.perf_counter()
    work()
    times.append((time.perf_counter() - begin) * 1000)
  return {
    "median": statistics.median(times),
    "min": min(times),
    "max": max(times),
    "repeats": len(times),
  }


def encode(image: np.ndarray, format: str) -> bytes:  # noqa: A002
  """The bytes of a file of "l3 v1", "l3 v2", "l3-compact" or "raw"."""
  if format == "raw":
    return codecs.encode(image, "raw").numpy()
  if format == "l3-compact":
    return codecs.encode_l3(image, profile="compact").numpy()
  return codecs.encode_l3(image, version=int(format[-1])).numpy()


def scaled(
  photographs: Sequence[np.ndarray], width: int, height: int
) -> list[np.ndarray]:
  """The photographs in that size."""
  return [
    np.asarray(Image.fromarray(image).resize((width, height), Image.Resampling.LANCZOS))
    for image in photographs
  ]


def measure(
  found: dict[str, Any],
  photographs: Sequence[np.ndarray],
  sizes: Mapping[str, tuple[int, int]],
  pixel_bytes: int,
  repeats: int,
  save: Callable[[], None],
) -> None:
  """Times a batch's whole way to the GPU beside that of the processors.

  Args:
    found: gets "whole": wall-clock milliseconds of `liquid_tf.gpu.decode` from bytes in
      the host's memory, and of `decode_batch` into it, one entry a size and format.
    photographs: uint8 [height, width, 3] of any sizes, which are scaled.
    sizes: width and height by name.
    pixel_bytes: pixels of a batch.
    repeats: how often each is timed.
    save: called behind each entry.
  """
  whole = found["whole"] = []
  for name, (width, height) in sizes.items():
    images = scaled(photographs, width, height)
    count = max(len(images), pixel_bytes // (3 * width * height))
    for format in L3:  # noqa: A001
      encoded = [encode(image, format) for image in images]
      batch = tf.constant([encoded[i % len(encoded)] for i in range(count)])
      whole.append(
        {
          "size": name,
          "format": format,
          "images": count,
          "gpu": on_clock(lambda batch=batch: liquid_tf.gpu.decode(batch), repeats),
          "cpu": on_clock(lambda batch=batch: codecs.decode_batch(batch), repeats),
        }
      )
      save()
