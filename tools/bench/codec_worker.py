"""Measures codecs on one processor, in a process of its own."""

import functools
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tools.bench import codec_cases, codec_sets, crops, instructions

_AVX2 = "avx2"


def _check(case: codec_cases.Case, decoded: Any, pixels: np.ndarray) -> None:
  if case.lossless and not np.array_equal(np.asarray(decoded), pixels):
    raise ChildProcessError(f"{case.name} does not give back the pixels it was given")


def _load(images: Mapping[str, Any]) -> list[np.ndarray]:
  """Loads a set, and holds this process to one processor from now on."""
  os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
  return codec_sets.load(codec_sets.ImageSet(**images))


def sizes(images: Mapping[str, Any]) -> dict[str, Any]:
  """Encodes whole images.

  Args:
    images: of a `codec_sets.ImageSet`, by attribute; likewise below.

  Returns:
    `images`, `pixel_bytes`, `stored_png_bytes` (of the files, if they are PNG, or
    None); per codec that holds all of them `bytes`, `encode_seconds` of all images, and
    `to_png`, of each image its size relative to PNG.
  """
  arrays = _load(images)
  result = {}
  png = None
  for case in codec_cases.cases(arrays):
    if case.name == "png tf.io":
      continue
    case.encode(arrays[0])  # Whatever is set up at the first call is not counted.
    counts, seconds = [], 0.0
    for pixels in arrays:
      begin = time.process_time()
      contents = case.encode(pixels)
      seconds += time.process_time() - begin
      _check(case, case.prepare(contents, pixels)(), pixels)
      counts.append(len(contents))
    if case.name == "png":
      png = counts
    result[case.name] = {
      "bytes": sum(counts),
      "encode_seconds": seconds,
      "each": counts,
    }
  for entry in result.values():
    entry["to_png"] = [a / b for a, b in zip(entry.pop("each"), png)]
  return {
    "images": len(arrays),
    "pixel_bytes": sum(pixels.nbytes for pixels in arrays),
    "stored_png_bytes": codec_sets.stored_png_bytes(codec_sets.ImageSet(**images)),
    "codecs": result,
  }


def _seconds(run: Callable[[], Any]) -> float:
  """Processor time of a call, of every thread: other processes do not count."""
  begin = time.process_time()
  run()
  return time.process_time() - begin


def _mosaic(
  arrays: Sequence[np.ndarray], side: int, random: np.random.Generator
) -> np.ndarray:
  """A square of small images, turned and mirrored by chance.

  Mirror images of one of them would repeat within what LZ77 remembers.
  """
  same = [pixels for pixels in arrays if pixels.shape[2] == arrays[0].shape[2]]
  tile = min(min(pixels.shape[:2]) for pixels in same)
  count = -(-side // tile)

  def one() -> np.ndarray:
    pixels = same[random.integers(len(same))][:tile, :tile]
    turned = np.rot90(pixels, random.integers(4))
    return turned[::-1] if random.integers(2) else turned

  rows = [np.concatenate([one() for _ in range(count)], axis=1) for _ in range(count)]
  return np.ascontiguousarray(np.concatenate(rows)[:side, :side])


def _squares(
  kind: str, arrays: Sequence[np.ndarray], side: int, squares: int
) -> list[np.ndarray]:
  """Makes the images that speeds are measured on: [side, side, channels] each."""
  if kind == codec_sets.DEEP:
    random = np.random.default_rng(0)
    return [_mosaic(arrays, side, random) for _ in range(squares)]
  return list(crops.large_crops(arrays, squares, side))


def speeds(
  images: Mapping[str, Any], side: int, squares: int, passes: int
) -> dict[str, Any]:
  """Decodes images, every codec in turn.

  Args:
    images: a set.
    side: of a square, in pixels.
    squares: cut from the images.
    passes: times that each square is decoded by each codec.

  Returns:
    `best`: per codec the GB/s of pixels of each pass; `avx2`: the same of L3, held to
    AVX2, where the machine has that.
  """
  arrays = _load(images)
  every = codec_cases.cases(arrays)
  squared = _squares(images["kind"], arrays, side, squares)
  runs = {}
  for case in every:
    runs[case.name] = []
    for pixels in squared:
      run = case.prepare(case.encode(pixels), pixels)
      _check(case, run(), pixels)
      runs[case.name].append(run)
  raw = sum(pixels.nbytes for pixels in squared)
  # Once more, now that every codec has its memory.
  for run in [run for decodes in runs.values() for run in decodes]:
    run()

  def rate(name: str) -> float:
    return raw / sum(_seconds(run) for run in runs[name]) / 1e9

  found = instructions.runnable()
  avx2 = [case.name for case in every if case.l3 and _AVX2 in found]
  rates = {"best": {name: [] for name in runs}, "avx2": {name: [] for name in avx2}}
  for _ in range(passes):
    for name in runs:
      rates["best"][name].append(rate(name))
      if name in avx2:
        instructions.use(_AVX2)
        rates["avx2"][name].append(rate(name))
        instructions.use(found[-1])
  return rates


def windows(images: Mapping[str, Any], count: int) -> dict[str, Any]:
  """Decodes random windows of 224x224 of an image of 2048x1024.

  Args:
    images: a set of photographs.
    count: windows.

  Returns:
    Per codec that has windows, the median time of one relative to the whole image.
  """
  size = 224
  pixels = next(crops.large_crops(_load(images), 1, 2048))[:1024]
  random = np.random.default_rng(0)
  places = [
    (int(random.integers(0, 1025 - size)), int(random.integers(0, 2049 - size)))
    for _ in range(count)
  ]
  result = {}
  for case in codec_cases.cases([pixels]):
    if case.window is None:
      continue
    contents = case.encode(pixels)
    whole, part = case.prepare(contents, pixels), case.window(contents)
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
