"""Codecs on one processor: `python -m liquid_tf.cli.bench.codec_worker`.

The request is one JSON object on stdin, with a `stage` and the arguments of the
function of that name; the answer is the last line of stdout, or {"error": sentence}.
Whoever starts this pins it to a processor.
"""

import functools
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

from liquid_tf._native import ops
from liquid_tf.cli import wheel_images
from liquid_tf.cli.bench import codec_cases


def _load(paths: list[str]) -> list[np.ndarray]:
  if not paths:
    return list(wheel_images.wheel_photographs().values())
  return [np.asarray(wheel_images.open_rgb(path)) for path in paths]


def _check(case: codec_cases.Case, decoded: Any, pixels: np.ndarray) -> None:
  if case.lossless and not np.array_equal(np.asarray(decoded), pixels):
    raise ValueError(f"{case.name} does not give back the pixels it was given")


def sizes(paths: list[str]) -> dict[str, Any]:
  """Encodes whole photographs.

  Args:
    paths: image files; none for scikit-image's photographs.

  Returns:
    `images`, `pixel_bytes`; per codec `bytes`, `encode_gb_per_s` of pixels, and
    `to_png`, of each image its size relative to PNG.
  """
  photographs = _load(paths)
  raw = sum(pixels.nbytes for pixels in photographs)
  result = {}
  png = None
  for case in codec_cases.cases():
    if case.name == "png tf.io":
      continue
    case.encode(photographs[0])  # Whatever is set up at the first call is not counted.
    counts, seconds = [], 0.0
    for pixels in photographs:
      begin = time.process_time()
      contents = case.encode(pixels)
      seconds += time.process_time() - begin
      _check(case, case.prepare(contents, pixels.shape)(), pixels)
      counts.append(len(contents))
    if case.name == "png":
      png = counts
    result[case.name] = {
      "bytes": sum(counts),
      "encode_gb_per_s": raw / seconds / 1e9,
      "each": counts,
    }
  for entry in result.values():
    entry["to_png"] = [a / b for a, b in zip(entry.pop("each"), png)]
  return {"images": len(photographs), "pixel_bytes": raw, "codecs": result}


def _seconds(run: Callable[[], Any]) -> float:
  """Processor time of a call, of every thread: other processes do not count."""
  begin = time.process_time()
  run()
  return time.process_time() - begin


def speeds(paths: list[str], side: int, images: int, passes: int) -> dict[str, Any]:
  """Decodes squares of photographs, every codec in turn.

  Args:
    paths: as in `sizes`.
    side: of a square, in pixels.
    images: squares.
    passes: times that each square is decoded by each codec.

  Returns:
    Per codec the GB/s of pixels of each pass.
  """
  squares = list(wheel_images.large_crops(_load(paths), images, side))
  runs = {}
  for case in codec_cases.cases():
    runs[case.name] = []
    for pixels in squares:
      run = case.prepare(case.encode(pixels), pixels.shape)
      _check(case, run(), pixels)
      runs[case.name].append(run)
  raw = sum(pixels.nbytes for pixels in squares)
  # Once more, now that every codec has its memory.
  for run in [run for decodes in runs.values() for run in decodes]:
    run()
  rates = {name: [] for name in runs}
  for _ in range(passes):
    for name, decodes in runs.items():
      rates[name].append(raw / sum(_seconds(run) for run in decodes) / 1e9)
  return rates


def windows(paths: list[str], count: int) -> dict[str, Any]:
  """Decodes random windows of 224x224 of an image of 2048x1024.

  Args:
    paths: as in `sizes`.
    count: windows.

  Returns:
    Per codec that has windows, the median time of one relative to the whole image.
  """
  size = 224
  pixels = next(wheel_images.large_crops(_load(paths), 1, 2048))[:1024]
  random = np.random.default_rng(0)
  places = [
    (int(random.integers(0, 1025 - size)), int(random.integers(0, 2049 - size)))
    for _ in range(count)
  ]
  result = {}
  for case in codec_cases.cases():
    if case.window is None:
      continue
    contents = case.encode(pixels)
    whole, part = case.prepare(contents, pixels.shape), case.window(contents)
    whole()
    wholes, parts = [], []
    for y, x in places:
      place = functools.partial(part, tf.constant((y, x, size, size)))
      parts.append(_seconds(place))
      wholes.append(_seconds(whole))
      if case.lossless:
        _check(case, place(), pixels[y : y + size, x : x + size])
    result[case.name] = float(np.median(parts) / np.median(wholes))
  return result


def main(request: str) -> None:
  arguments = json.loads(request)
  tf.config.threading.set_intra_op_parallelism_threads(1)
  tf.config.threading.set_inter_op_parallelism_threads(1)
  stage = {"sizes": sizes, "speeds": speeds, "windows": windows}[arguments.pop("stage")]
  try:
    answer = stage(**arguments)
  except (ValueError, ImportError, OSError, tf.errors.OpError) as error:
    answer = {"error": ops.reason(error)}
  print(json.dumps(answer), flush=True)


if __name__ == "__main__":
  main(sys.stdin.read())
