"""Times our JPEG decoder beside libjpeg-turbo, without and with the index of a file.

bazel build //tests/ops/codecs:libjpeg_capi.so
python -m tools.bench jpeg --sets=photos,web=more/photos

Each set is measured as it is, and encoded again with --quality and 4:2:0. All decoders
take turns on whole images and on windows that RandomResizedCrop takes. libjpeg-turbo
skips rows and crops columns of a window as far as its pixels stay those of the image.
"""

import ctypes
import io
import os
import pathlib
import random
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

from liquid_tf.cli import wheel_images
from liquid_tf.errors import WrongArgument
from tools.bench import codec_sets, page, turns, window

# Entries each so many MCUs of a row, by the name of the option.
_SPACINGS = {"row": 0, "16": 16, "8": 8}
_CHANNELS = {"L": 1, "RGB": 3}
_KINDS = ("whole", "window")
_WINDOWS = 2  # of an image
_LIBRARY = -1  # As decode() of jpeg_capi.cc takes it.
_NO_INDEX = "none"


class _File(NamedTuple):
  """A JPEG file in memory.

  Attributes:
    contents: its bytes.
    shape: [height, width, channels].
    indexes: by spacing; without one "".
    places: the whole image, and then windows: (y, x, height, width).
  """

  contents: bytes
  shape: tuple[int, int, int]
  indexes: dict[str, bytes]
  places: list[tuple[int, int, int, int]]


class _Decoders:
  """The functions of jpeg_capi.cc."""

  def __init__(self, path: str):
    self._library = ctypes.CDLL(os.path.abspath(path))
    for name in ("library_version", "target_name"):
      getattr(self._library, name).restype = ctypes.c_char_p
    self._library.make_index.restype = ctypes.c_int64
    self._library.make_index.argtypes = [
      *(ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint32),
      *(ctypes.c_char_p, ctypes.c_size_t),
    ]
    self.version = self._library.library_version().decode()

  def targets(self) -> dict[str, int]:
    """The numbers of this machine's vector sets, by name, but for plain code."""
    found, number = {}, 1
    while name := self._library.target_name(ctypes.c_size_t(number)):
      found[name.decode()] = number
      number += 1
    return found

  def index(self, contents: bytes, spacing: int) -> bytes:
    """The index of a file; empty where only the library decodes it."""
    out = ctypes.create_string_buffer(1 << 20)
    size = self._library.make_index(contents, len(contents), spacing, out, len(out))
    if size < 0:
      raise ChildProcessError("a file of the set cannot be indexed")
    return out.raw[:size]

  def calls(
    self, files: Sequence[_File], kind: str, target: int, index: str, out: np.ndarray
  ) -> Iterator[Callable[[], Any]]:
    """Yields decodes that take no arguments, so that little beside them is timed."""
    decode, pixels = self._library.decode, ctypes.c_void_p(out.ctypes.data)
    for file in files:
      entries = file.indexes.get(index, b"")
      shape = (ctypes.c_uint32 * 3)(*file.shape)
      for place in file.places[:1] if kind == "whole" else file.places[1:]:
        arguments = (
          *(ctypes.c_char_p(file.contents), ctypes.c_size_t(len(file.contents))),
          *(ctypes.c_char_p(entries), ctypes.c_size_t(len(entries))),
          *(shape, (ctypes.c_uint32 * 4)(*place), ctypes.c_int(target), pixels),
        )
        yield lambda arguments=arguments: decode(*arguments)


def _read(path: str, quality: int) -> bytes:
  """A file, or its pixels encoded again where there is a quality."""
  if not quality:
    return pathlib.Path(path).read_bytes()
  stream = io.BytesIO()
  image = wheel_images.open_rgb(pathlib.Path(path))
  image.save(stream, "JPEG", quality=quality, subsampling="4:2:0")
  return stream.getvalue()


def _files(paths: Sequence[str], quality: int, decoders: _Decoders) -> Iterator[_File]:
  """Yields those that our own decoder takes."""
  numbers = random.Random(0)
  for path in paths:
    contents = _read(path, quality)
    with Image.open(io.BytesIO(contents)) as image:
      width, height, channels = *image.size, _CHANNELS.get(image.mode, 0)
    if not channels:
      continue
    indexes = {n: decoders.index(contents, s) for n, s in _SPACINGS.items()}
    if not all(indexes.values()):
      continue
    places = [(0, 0, height, width)]
    for _ in range(_WINDOWS):
      left, top, wide, high = window.random_window(width, height, numbers)
      places.append((top, left, high, wide))
    yield _File(contents, (height, width, channels), indexes, places)


def measure(
  paths: Sequence[str], quality: int, passes: int, library: str
) -> dict[str, Any]:
  """Decodes files on one processor, every decoder in turn.

  Args:
    paths: of JPEG files.
    quality: to encode them again with, 4:2:0; 0 for the files as they are.
    passes: times that each decoder decodes all of them.
    library: path of libjpeg_capi.so.

  Returns:
    `version` of libjpeg-turbo; `images`, `left_out` (files that only libjpeg-turbo
    decodes), `bytes` and `pixels` of all; `index_bytes` by spacing; `milliseconds`
    [{target, index, whole, window}]: of a decode, in each pass; the first of them is
    libjpeg-turbo, without a target.

  Raises:
    ChildProcessError: a decoder fails, or gives other pixels than libjpeg-turbo.
  """
  os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
  decoders = _Decoders(library)
  files = list(_files(paths, quality, decoders))
  if not files:
    raise ChildProcessError("the set has no JPEG file that our own decoder takes")
  out = np.empty(max(int(np.prod(file.shape)) for file in files), np.uint8)
  sides: dict[tuple[str, str], dict[str, list[Callable]]] = {}
  numbers = {"": _LIBRARY, **decoders.targets()}
  for target, number in numbers.items():
    for index in (_NO_INDEX, *_SPACINGS) if target else (_NO_INDEX,):
      sides[target, index] = {
        kind: list(decoders.calls(files, kind, number, index, out)) for kind in _KINDS
      }
  _check(files, sides, out)
  found = {side: {kind: [] for kind in _KINDS} for side in sides}
  for _ in range(passes):
    for side, calls in sides.items():
      for kind in _KINDS:
        begin = time.process_time()
        for call in calls[kind]:
          call()
        seconds = time.process_time() - begin
        found[side][kind].append(1e3 * seconds / len(calls[kind]))
  return {
    "version": decoders.version,
    "images": len(files),
    "left_out": len(paths) - len(files),
    "bytes": sum(len(file.contents) for file in files),
    "pixels": sum(file.shape[0] * file.shape[1] for file in files),
    "index_bytes": {
      name: sum(len(file.indexes[name]) for file in files) for name in _SPACINGS
    },
    "milliseconds": [
      {"target": target, "index": index, **taken}
      for (target, index), taken in found.items()
    ],
  }


def _check(
  files: Sequence[_File],
  sides: dict[tuple[str, str], dict[str, list[Callable]]],
  out: np.ndarray,
) -> None:
  """Requires of every decode the pixels of libjpeg-turbo's whole image."""
  wholes = {side: iter(calls["whole"]) for side, calls in sides.items()}
  windows = {side: iter(calls["window"]) for side, calls in sides.items()}
  for file in files:
    expected = None
    for number, (y, x, high, wide) in enumerate(file.places):
      for side in sides:
        failed = next((windows if number else wholes)[side])()
        pixels = out[: high * wide * file.shape[2]].reshape(high, wide, file.shape[2])
        if expected is None:
          expected = pixels.copy()
        if failed or not np.array_equal(pixels, expected[y : y + high, x : x + wide]):
          raise ChildProcessError(f"{side} does not give libjpeg-turbo's pixels")


def bench(
  place: None = None,
  *,
  sets: Sequence[str],
  images: int,
  quality: int,
  passes: int,
  library: str,
  say: Callable[[str], None],
) -> dict[str, Any]:
  """Measures every decoder on every set, in processor time.

  Args:
    place: as of all benchmarks; nothing is written.
    sets: folders of JPEG files, as "FOLDER" or "NAME=FOLDER".
    images: most of each set, evenly taken from its names; 0 for all.
    quality: each set is encoded again with it, 4:2:0; 0 for no such set.
    passes: times that each decoder decodes a set, at least 2.
    library: path of libjpeg_capi.so.
    say: takes a line of progress.

  Returns:
    `sets`, what `measure` gives of each, by name.

  Raises:
    ValueError: there is no such library or folder.
    ChildProcessError: a measurement failed; the message says why.
  """
  if not os.path.exists(library):
    must = "must be what `bazel build //tests/ops/codecs:libjpeg_capi.so` makes"
    raise WrongArgument("library", library, must)
  if not sets:
    raise WrongArgument("sets", "", "must name folders of JPEG files")
  found = {}
  for one in codec_sets.photographs(list(sets)):
    paths = [path for path in one.paths if path.lower().endswith((".jpg", ".jpeg"))]
    if images:
      paths = paths[:: max(1, len(paths) // images)][:images]
    for again in [0, quality] if quality else [0]:
      name = f"{one.name}, q{again} 4:2:0" if again else one.name
      say(f"{name}: {len(paths)} files")
      found[name] = turns.apart(
        measure, {}, paths=paths, quality=again, passes=passes, library=library
      )
  return {"sets": found}


def _faster(entry: dict[str, Any], side: dict[str, Any], kind: str) -> str:
  """How many times as fast as libjpeg-turbo, pass by pass."""
  theirs = entry["milliseconds"][0][kind]
  times = [a / b for a, b in zip(theirs, side[kind], strict=True)]
  low, middle, high = statistics.quantiles(times, n=4, method="inclusive")
  return f"{middle:.2f} ({low:.2f} to {high:.2f})"


def sets_table(result: dict[str, Any]) -> str:
  """A table of Markdown of the sets, and what libjpeg-turbo takes for them."""

  def share(name: str) -> tuple[str, Callable]:
    told = f"index {name}, % of the files"
    return (
      told,
      lambda one: f"{100 * one[1]['index_bytes'][name] / one[1]['bytes']:.2f}",
    )

  def theirs(kind: str) -> tuple[str, Callable]:
    return (
      f"libjpeg-turbo, {kind}, ms",
      lambda one: f"{statistics.median(one[1]['milliseconds'][0][kind]):.3f}",
    )

  cells = [
    ("set", lambda one: one[0]),
    ("images", lambda one: one[1]["images"]),
    ("KB an image", lambda one: f"{one[1]['bytes'] / one[1]['images'] / 1e3:.1f}"),
    ("bits a pixel", lambda one: f"{8 * one[1]['bytes'] / one[1]['pixels']:.2f}"),
    *map(share, _SPACINGS),
    *map(theirs, _KINDS),
  ]
  return page.columns(result["sets"].items(), cells)


def speeds_table(result: dict[str, Any]) -> str:
  """A table of Markdown of our decoder beside libjpeg-turbo."""
  rows = [
    (name, entry, side)
    for name, entry in result["sets"].items()
    for side in entry["milliseconds"][1:]
  ]

  def kind(of: str) -> list[tuple[str, Callable]]:
    return [
      (f"{of}, ms", lambda row: f"{statistics.median(row[2][of]):.3f}"),
      (f"{of}, times as fast", lambda row: _faster(row[1], row[2], of)),
    ]

  cells = [
    ("set", lambda row: row[0]),
    ("vectors", lambda row: row[2]["target"]),
    ("index", lambda row: row[2]["index"]),
    *kind("whole"),
    *kind("window"),
  ]
  return page.columns(rows, cells, (0, 1, 2))


def text(result: dict[str, Any]) -> str:
  """Both tables, for a terminal."""
  return f"{sets_table(result)}\n\n{speeds_table(result)}"


def section(result: dict[str, Any]) -> page.Section:
  """What was measured, how and with what, and the tables."""
  entries = result["sets"].values()
  return page.section(
    "jpeg",
    result,
    table=sets_table(result),
    speeds=speeds_table(result),
    left_out=sum(one["left_out"] for one in entries),
    version=", ".join(sorted({one["version"] for one in entries})),
  )
