"""Decodes the JPEG files of three encoders, and compares each pixel with Pillow's.

  make encoders-test [FILES=1000] [WINDOWS=67] [SEED=1]

libjpeg-turbo, mozjpeg and FFmpeg write files of every sampling and quality that they
know, 1 to 300 pixels a side, some with restart markers. Each file is decoded whole by
every vector set, by every index and without one, by this machine's libjpeg-turbo, and
in random windows by a set and an index at random. Pillow has another libjpeg-turbo.
"""

import collections
import ctypes
import io
import logging
import random
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence

import imageio_ffmpeg
import numpy as np
import pyvips
import simplejpeg
from absl import app, flags
from PIL import Image, ImageFile

_FILES = flags.DEFINE_integer("files", 1000, "Files of each encoder.", lower_bound=1)
_WINDOWS = flags.DEFINE_integer("windows", 67, "Windows of each file.", lower_bound=0)
_SEED = flags.DEFINE_integer("seed", 1, "Of the images and all that is chosen.")
_LIBRARY = flags.DEFINE_string(
  "library", None, "Path of libjpeg_capi.so.", required=True
)

# Entries so many MCUs apart; 0: one for each row of them.
_SPACINGS = (0, 8, 16)
_BY_LIBRARY = -1
_MOST_INDEX_BYTES = 1 << 20

# Pillow writes a file of a good quality in one piece, or not at all.
ImageFile.MAXBLOCK = 1 << 22


class _Decoders:
  """The functions of jpeg_capi.cc for one file."""

  def __init__(self, library: ctypes.CDLL, contents: bytes, shape: Sequence[int]):
    self._library = library
    self._contents = contents
    self._shape = (ctypes.c_uint32 * 3)(*shape)

  def index(self, spacing: int) -> bytes:
    """The file's index; empty where our own decoder does not take the file."""
    out = ctypes.create_string_buffer(_MOST_INDEX_BYTES)
    size = self._library.make_index(
      self._contents,
      ctypes.c_size_t(len(self._contents)),
      ctypes.c_uint32(spacing),
      out,
      ctypes.c_size_t(len(out)),
    )
    if size < 0:
      raise ValueError("the file cannot be indexed")
    return out.raw[:size]

  def decode(self, index: bytes, window: Sequence[int], target: int) -> np.ndarray:
    """Decodes (y, x, height, width) to [height, width, channels], uint8."""
    out = np.full((*window[2:], self._shape[2]), 0xA5, np.uint8)
    failed = self._library.decode(
      self._contents,
      ctypes.c_size_t(len(self._contents)),
      index,
      ctypes.c_size_t(len(index)),
      self._shape,
      (ctypes.c_uint32 * 4)(*window),
      ctypes.c_int(target),
      ctypes.c_void_p(out.ctypes.data),
    )
    if failed:
      raise ValueError("the file cannot be decoded")
    return out


def _image(numbers: random.Random) -> np.ndarray:
  """Smooth, noisy, or both: [height, width, 3], uint8."""
  noise = np.random.default_rng(numbers.getrandbits(32))
  height, width = numbers.randint(1, 300), numbers.randint(1, 300)
  coarse = noise.integers(
    0, 256, (numbers.randint(2, 9), numbers.randint(2, 9), 3), np.uint8
  )
  smooth = Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC)
  spread = numbers.choice((0, 0, 4, 30, 255))
  grain = noise.integers(-spread, spread + 1, (height, width, 3))
  return np.clip(np.asarray(smooth, np.int64) + grain, 0, 255).astype(np.uint8)


def _by_turbo(image: np.ndarray, numbers: random.Random) -> bytes:
  quality = numbers.randint(1, 100)
  if numbers.random() < 0.5:
    sampling = numbers.choice(("444", "422", "420", "440", "411"))
    return simplejpeg.encode_jpeg(image, quality, "RGB", sampling)
  stream = io.BytesIO()
  restarts = numbers.choice(
    ({}, {"restart_marker_blocks": numbers.randint(1, 40)}, {"restart_marker_rows": 1})
  )
  source = Image.fromarray(image)
  if numbers.random() < 0.2:
    source = source.convert("L")
  source.save(
    stream,
    "JPEG",
    quality=quality,
    subsampling=numbers.randrange(3),
    optimize=numbers.random() < 0.5,
    **restarts,
  )
  return stream.getvalue()


def _by_mozjpeg(image: np.ndarray, numbers: random.Random) -> bytes:
  source = pyvips.Image.new_from_array(image)
  if numbers.random() < 0.2:
    source = source.colourspace("b-w")
  return source.jpegsave_buffer(
    Q=numbers.randint(1, 100),
    optimize_coding=numbers.random() < 0.7,
    trellis_quant=numbers.random() < 0.5,
    overshoot_deringing=numbers.random() < 0.5,
    quant_table=numbers.randrange(9),
    subsample_mode=numbers.choice(("on", "off")),
    restart_interval=numbers.choice((0, 0, 1, 7)),
  )


def _by_ffmpeg(image: np.ndarray, numbers: random.Random) -> bytes:
  height, width, _ = image.shape
  # Of one thread: several write narrow files with restart markers in a wrong order.
  command = [
    *(imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-threads", "1"),
    *("-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-i", "-"),
    *("-frames:v", "1", "-c:v", "mjpeg", "-threads", "1"),
    *("-pix_fmt", numbers.choice(("yuvj444p", "yuvj422p", "yuvj420p"))),
    *("-huffman", numbers.choice(("default", "optimal"))),
    *("-q:v", str(numbers.randint(1, 31)), "-f", "image2pipe", "-"),
  ]
  return subprocess.run(
    command, input=image.tobytes(), stdout=subprocess.PIPE, check=True
  ).stdout


_ENCODERS: dict[str, Callable[[np.ndarray, random.Random], bytes]] = {
  "libjpeg-turbo": _by_turbo,
  "mozjpeg": _by_mozjpeg,
  "FFmpeg": _by_ffmpeg,
}


def _window(
  height: int, width: int, numbers: random.Random
) -> tuple[int, int, int, int]:
  y, x = numbers.randrange(height), numbers.randrange(width)
  return y, x, numbers.randint(1, height - y), numbers.randint(1, width - x)


def _decodes(
  decoders: _Decoders, height: int, width: int, targets: int, numbers: random.Random
) -> Iterator[tuple[str, tuple[int, int, int, int], np.ndarray]]:
  """Yields what was decoded: how, the window, and its pixels."""
  indexes = {"none": b""}
  indexes.update((str(spacing), decoders.index(spacing)) for spacing in _SPACINGS)
  whole = (0, 0, height, width)
  yield "by the library", whole, decoders.decode(b"", whole, _BY_LIBRARY)
  for target in range(targets):
    for spacing, index in indexes.items():
      yield (
        f"set {target}, index {spacing}",
        whole,
        decoders.decode(index, whole, target),
      )
  for _ in range(_WINDOWS.value):
    window = _window(height, width, numbers)
    target = numbers.randrange(targets)
    spacing = numbers.choice(list(indexes))
    found = decoders.decode(indexes[spacing], window, target)
    yield f"set {target}, index {spacing}", window, found


def main(argv: list[str]) -> None:
  if len(argv) > 1:
    raise app.UsageError(f"there are only flags, and no {argv[1]!r}")
  logging.getLogger("pyvips").setLevel(logging.WARNING)
  library = ctypes.CDLL(_LIBRARY.value)
  library.target_name.restype = ctypes.c_char_p
  library.make_index.restype = ctypes.c_int64
  targets = 0
  while library.target_name(ctypes.c_size_t(targets)):
    targets += 1
  wrong = 0
  for name, encode in _ENCODERS.items():
    counts: collections.Counter[str] = collections.Counter()
    for number in range(_FILES.value):
      numbers = random.Random(f"{_SEED.value} {name} {number}")
      contents = encode(_image(numbers), numbers)
      expected = np.asarray(Image.open(io.BytesIO(contents)))
      expected = expected.reshape(*expected.shape[:2], -1)
      decoders = _Decoders(library, contents, expected.shape)
      counts["by our own decoder"] += bool(decoders.index(0))
      height, width, _ = expected.shape
      for how, window, found in _decodes(decoders, height, width, targets, numbers):
        y, x, high, wide = window
        counts["whole" if window == (0, 0, height, width) else "windows"] += 1
        if not np.array_equal(found, expected[y : y + high, x : x + wide]):
          wrong += 1
          print(f"{name}, file {number}, {how}, window {window}: other pixels")
    print(
      f"{name}: {_FILES.value} files ({counts['by our own decoder']} by our own "
      f"decoder), {counts['whole']} decoded whole, {counts['windows']} windows"
    )
  print(f"{targets} vector sets; decodes with other pixels than Pillow's: {wrong}")
  sys.exit(wrong > 0)


if __name__ == "__main__":
  app.run(main)
