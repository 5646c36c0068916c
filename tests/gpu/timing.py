"""How long the kernels of L3 take on this machine's GPU."""

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from PIL import Image

import liquid_tf
from liquid_tf import codecs
from liquid_tf._gpu import batch as _gpu_batch

# Width and height as the paper has them (L3, figures 7 and 10).
SIZES = {"HD": (1280, 720), "FHD": (1920, 1080), "UHD": (3840, 2160)}

# What is decoded, beside raw.
L3 = ("l3 v1", "l3 v2", "l3-compact")

# More than a GPU's caches hold.
PIXEL_BYTES = 300 << 20

_MAX_PIXELS = 1 << 28

# A device's clocks rise under load.
_WARM_UP_SECONDS = 0.2
# What takes less would end before the host has started the next: so many are started
# in a row, behind one that keeps the device busy meanwhile.
_SHORT_MILLISECONDS = 10
_IN_A_ROW = 10
# What takes long is not timed more often than a few times.
_FEW = 3
_LONG_SECONDS = 5

# Format, kernel, layout, and whether every image has one block for all its patches:
# the steps of the paper's figure 10, then what the others take, and the types.
_CASES = (
  ("l3 v1", "u8_u8_sequential", "NHWC", True),
  ("l3 v1", "u8_u8_sequential", "NHWC", False),
  ("l3 v1", "u8_u8_unpack", "NHWC", False),
  ("l3 v1", "u8_u8_predict", "NHWC", False),
  ("l3 v1", "u8_u8", "NHWC", False),
  ("l3 v2", "u8_u8", "NHWC", False),
  ("l3 v2", "u8_f32", "NHWC", False),
  ("l3 v2", "u8_f32", "NCHW", False),
  ("l3 v2", "u8_bf16", "NCHW", False),
  ("l3-compact", "u8_u8", "NHWC", False),
  ("raw", "u8_u8", "NHWC", False),
)
_OUT = {"u8": np.uint8, "f32": np.float32, "bf16": np.uint16}


def _repeated(measure: Callable[[], float], repeats: int) -> dict[str, float]:
  """Measures so often, or as long as it may take; of the milliseconds."""
  times = []
  end = time.perf_counter() + _LONG_SECONDS
  while len(times) < repeats and (len(times) < _FEW or time.perf_counter() < end):
    times.append(measure())
  return {
    "median": statistics.median(times),
    "min": min(times),
    "max": max(times),
    "repeats": len(times),
  }


def _on_device(start: Callable[[], None], repeats: int) -> dict[str, float]:
  """Milliseconds of what `start` starts, between two events around some of them."""
  import cupy

  def elapsed(count: int) -> float:
    begin, end = cupy.cuda.Event(), cupy.cuda.Event()
    if count > 1:
      start()
    begin.record()
    for _ in range(count):
      start()
    end.record()
    end.synchronize()
    return cupy.cuda.get_elapsed_time(begin, end) / count

  once = elapsed(1)  # loads what it needs, too
  end = time.perf_counter() + _WARM_UP_SECONDS
  while time.perf_counter() < end:
    once = elapsed(1)
  count = _IN_A_ROW if once < _SHORT_MILLISECONDS else 1
  return _repeated(lambda: elapsed(count), repeats)


def _on_clock(work: Callable[[], Any], repeats: int) -> dict[str, float]:
  def elapsed() -> float:
    begin = time.perf_counter()
    work()
    return (time.perf_counter() - begin) * 1000

  work()
  return _repeated(elapsed, repeats)


def copy_gb_per_s(size: int, repeats: int) -> float:
  """Bytes that the device reads and writes in a second, in GB, when it copies."""
  import cupy

  source, target = cupy.empty((size,), np.uint8), cupy.empty((size,), np.uint8)
  times = _on_device(lambda: cupy.copyto(target, source), repeats)
  return 2 * size / times["median"] / 1e6


def pinned_gb_per_s(size: int, repeats: int) -> float:
  """What a copy from the host's pinned memory to the device reaches, in GB/s."""
  import cupy
  import cupyx

  source, target = cupyx.empty_pinned((size,), np.uint8), cupy.empty((size,), np.uint8)
  source[...] = 1
  return size / _on_device(lambda: target.set(source), repeats)["median"] / 1e6


def encode(image: np.ndarray, format: str) -> bytes:  # noqa: A002
  """The bytes of a file of "l3 v1", "l3 v2", "l3-compact" or "raw"."""
  if format == "raw":
    return codecs.encode(image, "raw").numpy()
  if format == "l3-compact":
    return codecs.encode_l3(image, profile="compact").numpy()
  return codecs.encode_l3(image, version=int(format[-1])).numpy()


def _kernel(
  files: Sequence[bytes],
  case: tuple[str, str, str, bool],
  copy_rate: float,
  repeats: int,
) -> dict[str, Any]:
  import cupy

  format, kernel, layout, one_block = case  # noqa: A001
  plan = _gpu_batch.plan(files, None, _MAX_PIXELS)
  n, height, width, channels = plan.shape
  planar = layout == "NCHW"
  batch = _gpu_batch.DeviceBatch(plan, _gpu_batch.output(plan, planar, [0], [1]))
  pixels = cupy.empty((n * height * width * channels,), _OUT[kernel.split("_")[1]])
  blocks = n if one_block else None
  times = _on_device(lambda: batch.run(kernel, pixels, blocks), repeats)
  batch.check()
  moved = plan.bytes.nbytes + plan.tasks.nbytes + pixels.nbytes
  rate = moved / times["median"] / 1e6
  return {
    "format": format,
    "kernel": kernel,
    "layout": layout,
    "blocks": blocks or len(plan.tasks),
    "images": n,
    "stored_bytes": plan.bytes.nbytes,
    "output_bytes": pixels.nbytes,
    "milliseconds": times,
    "pixel_gb_per_s": n * height * width * channels / times["median"] / 1e6,
    "share_of_copy": rate / copy_rate,
  }


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
  """Times every kernel, and a batch's whole way beside that of the processors.

  Args:
    found: gets "copy_gb_per_s"; "pinned_gb_per_s", from the host's memory to the
      GPU's; "kernels", one entry a size and case, whose `share_of_copy` is what of the
      first rate it reaches with the bytes that it has to read and write; and "whole",
      wall-clock milliseconds of `liquid_tf.gpu.decode` from bytes in the host's memory,
      and of `decode_image_batch` into it.
    photographs: uint8 [height, width, 3] of any sizes, which are scaled.
    sizes: width and height by name.
    pixel_bytes: pixels of a batch.
    repeats: how often each is timed.
    save: called behind each entry.
  """
  found["copy_gb_per_s"] = copy_gb_per_s(pixel_bytes, repeats)
  found["pinned_gb_per_s"] = pinned_gb_per_s(pixel_bytes, repeats)
  kernels, whole = found["kernels"], found["whole"] = [], []
  for name, (width, height) in sizes.items():
    images = scaled(photographs, width, height)
    count = max(len(images), pixel_bytes // (3 * width * height))
    files = {}
    for format in (*L3, "raw"):  # noqa: A001
      encoded = [encode(image, format) for image in images]
      files[format] = [encoded[i % len(encoded)] for i in range(count)]
    for case in _CASES:
      entry = _kernel(files[case[0]], case, found["copy_gb_per_s"], repeats)
      kernels.append({"size": name, **entry})
      save()
    for format in L3:  # noqa: A001
      batch = tf.constant(files[format])
      whole.append(
        {
          "size": name,
          "format": format,
          "images": count,
          "gpu": _on_clock(lambda batch=batch: liquid_tf.gpu.decode(batch), repeats),
          "cpu": _on_clock(lambda batch=batch: codecs.decode_batch(batch), repeats),
        }
      )
      save()
