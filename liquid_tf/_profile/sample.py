"""A sample of the user's images, encoded in memory and as a small dataset."""

import dataclasses
import os
import time
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import tensorflow as tf

from liquid_tf._convert import finish, pipelines, run
from liquid_tf._convert.sources.samples import DEFAULT_SPLIT, SampleSource
from liquid_tf._convert.workers import LocalEngine
from liquid_tf._cost.model import ScanGroup
from liquid_tf._native.limits import Limits
from liquid_tf._pipeline import sizes
from liquid_tf._pipeline.recipe import Recipe
from liquid_tf._profile import noise, stock
from liquid_tf._store import manifest as manifests
from liquid_tf._store import mix as mixes
from liquid_tf._store.formats import BY_NAME
from liquid_tf._store.progress import Progress
from liquid_tf.errors import ConvertError

# The sample grows by so many images until every format's mean size is known so well.
_STEP = 16
_NARROW = 0.05
_MOST_IMAGES = 128
_MOST_SECONDS = 30.0

# So many are decoded before all that takes time.
_LOOKED_AT = 64
# If such a share of them begin so, the source is one of JPEG.
_NEARLY_ALL = 0.95
(_JPEG,) = BY_NAME["jpeg"].first_bytes

# The small dataset has as many images as make so many bytes of pixels, in these bounds,
# never takes longer to write than that, and never writes more than the last number.
_PIXEL_BYTES = 64 << 20
_LEAST_WRITTEN = 64
_MOST_WRITTEN = 2048
_MOST_WRITING_SECONDS = 30.0
MOST_BYTES = 10**9


class Subset(SampleSource):
  """Some of a source's images, without labels, masks and other features.

  Args:
    source: where they are.
    positions: which; their order is kept.
  """

  def __init__(self, source: SampleSource, positions: np.ndarray):
    self._source = source
    self._positions = np.asarray(positions, np.int64)
    super().__init__(
      source.root,
      "images",
      [source.files[i] for i in source.file_of[self._positions]],
      np.arange(len(self._positions)),
      np.zeros(len(self._positions), np.uint8),
      source.sizes[self._positions],
      splits=(DEFAULT_SPLIT,),
      is_remote=source.is_remote,
      named=source.named,
    )

  def path(self, position: int) -> str:
    return self._source.path(int(self._positions[position]))

  def knows_pixels(self, channels: int | None, bits: int | None) -> bool:
    return self._source.knows_pixels(channels, bits)

  def columns(self, positions: Sequence[int], targets: Sequence[str] | None) -> tuple:
    return self._source.columns(self._positions[np.asarray(positions)], targets)

  def load(self, *columns: tf.Tensor) -> dict[str, tf.Tensor]:
    loaded = self._source.load(*columns)
    for name in ("mask", "mask_crc32c"):
      loaded.pop(name, None)
    return loaded | {
      "labels": tf.zeros([0], tf.float32),
      "example": tf.constant(b""),
    }


@dataclasses.dataclass(frozen=True)
class Encoded:
  """The measurements of encoding the sample in memory.

  Attributes:
    images: how many were encoded in every format.
    pixel_bytes: of each decoded image.
    stored_bytes: of each record, by format.
    seconds: of all processors together for an image, by format: to read it, encode it,
      and prove that it comes back.
    scans: how much of pcr is read, by its names in the profile; empty without it.
  """

  images: int
  pixel_bytes: list[int]
  stored_bytes: dict[str, list[int]]
  seconds: dict[str, float]
  scans: dict[str, ScanGroup] = dataclasses.field(default_factory=dict)


def draw(source: SampleSource, seed: int) -> np.ndarray:
  """All positions of a source in random order: its first n are a sample of n."""
  return np.random.default_rng(seed).permutation(len(source))


def is_jpeg(source: SampleSource, order: np.ndarray, workers: int) -> bool:
  """Says whether nearly all images are JPEG, by the first bytes of some.

  Args:
    source: the user's images.
    order: of `draw`.
    workers: images at a time.
  """
  some = order[:_LOOKED_AT]
  found = pipelines.first_bytes(source, some, "jpeg", len(_JPEG), workers)
  begins = [begin for begin in found.as_numpy_iterator() if begin]
  return bool(begins) and begins.count(_JPEG) >= _NEARLY_ALL * len(begins)


def look(
  source: SampleSource,
  order: np.ndarray,
  encoding: pipelines.Encoding,
  workers: int,
  recipe: Recipe,
) -> str | None:
  """Looks at some images before any of them is encoded.

  Args:
    source: the user's images.
    order: of `draw`.
    encoding: what encoders are given.
    workers: images at a time.
    recipe: whose steps must fit every image.

  Returns:
    The format that most of them have; None where none can be read.

  Raises:
    ValueError: a step does not fit one.
  """
  subset = Subset(source, order[:_LOOKED_AT])
  formats: list[str] = []
  data = pipelines.scan(subset, range(len(subset)), encoding, workers)
  for i, element in enumerate(data):
    if element["error"]:
      continue
    formats.append(element["format"].decode())
    height, width, _ = element["shape"]
    try:
      sizes.result(recipe, height, width)
    except sizes.Misfit as misfit:
      raise ValueError(
        f"{misfit}, but {subset.path(i)} then has {misfit.size}: give a smaller crop, "
        "or Resize before it"
      ) from None
  return max(set(formats), key=formats.count) if formats else None


def encode(
  source: SampleSource,
  order: np.ndarray,
  formats: Sequence[str],
  encoding: pipelines.Encoding,
  workers: int,
) -> Encoded:
  """Encodes a sample in memory, and more until sizes are known well enough.

  Args:
    source: the user's images.
    order: of `draw`.
    formats: as in a mix.
    encoding: what encoders are given.
    workers: images at a time.

  Raises:
    ConvertError: no image of the sample can be stored in any of the formats.
    ValueError: none can be stored in one of them, and some in others.
  """
  stored: dict[str, list[int]] = {name: [] for name in formats}
  spent = dict.fromkeys(formats, 0.0)
  shapes: dict[int, tuple[int, ...]] = {}
  failed: dict[int, str] = {}
  begin, done = time.monotonic(), 0
  while done < len(order):
    subset = Subset(source, order[done : done + _STEP])
    for name in formats:
      start = time.perf_counter()
      for i, size, shape, error in _encode(subset, name, encoding, workers):
        if error:
          failed[done + i] = f"{subset.path(i)}: {error}"
        else:
          shapes[done + i] = shape
          stored[name].append(size)
      spent[name] += time.perf_counter() - start
    done = min(done + _STEP, len(order))
    if done >= _MOST_IMAGES or time.monotonic() - begin > _MOST_SECONDS:
      break
    if all(
      len(sizes) > 1 and noise.interval(sizes).relative <= _NARROW
      for sizes in stored.values()
    ):
      break
  lost = [name for name, sizes in stored.items() if not sizes]
  if len(lost) == len(formats):
    raise ConvertError(f"none of {done} images can be stored; {min(failed.items())[1]}")
  if lost:
    raise ValueError(
      f"none of {done} images can be stored as {lost[0]}; {min(failed.items())[1]}"
    )
  return Encoded(
    images=len(shapes),
    pixel_bytes=[h * w * c * bits // 8 for h, w, c, bits in shapes.values()],
    stored_bytes=stored,
    seconds={name: seconds / done for name, seconds in spent.items()},
  )


def _encode(subset: Subset, name: str, encoding: pipelines.Encoding, workers: int):
  """Yields (position, size of the record, (height, width, channels, bits), error)."""
  everything = range(len(subset))
  data = pipelines.encode(
    subset, everything, [name] * len(subset), np.arange(len(subset)), encoding, workers
  )
  for i, element in enumerate(data):
    shape = (*element["shape"].tolist(), int(element["bits"]))
    yield i, len(element["stored"]), shape, element["error"].decode(errors="replace")


def images_to_write(encoded: Encoded, available: int) -> int:
  """The number of images in the small dataset, which has each in every format."""
  pixels = float(np.mean(encoded.pixel_bytes))
  size = {name: float(np.mean(sizes)) for name, sizes in encoded.stored_bytes.items()}
  # Those of one format are written once more, as files for stock tf.data.
  each = sum(size.values()) + size.get(stock.format_of(size), 0)
  wanted = int(np.clip(_PIXEL_BYTES / pixels, _LEAST_WRITTEN, _MOST_WRITTEN))
  # Half of it is enough to measure with.
  in_time = int(_MOST_WRITING_SECONDS / sum(encoded.seconds.values()))
  wanted = min(wanted, max(in_time, _LEAST_WRITTEN // 2))
  return max(1, min(available, wanted, int(MOST_BYTES * 0.9 / each)))


def write(
  source: SampleSource,
  order: np.ndarray,
  formats: Sequence[str],
  encoding: pipelines.Encoding,
  workers: int,
  path: str,
  pcr: Mapping[str, Any] | None = None,
) -> manifests.Manifest:
  """Converts images into a dataset that has each in every format.

  Args:
    source: the user's images.
    order: positions of those to convert.
    formats: as in a mix.
    encoding: what encoders are given.
    workers: images at a time.
    path: an empty directory for it.
    pcr: options of its encoder, where it is one of the formats.

  Raises:
    ConvertError: they cannot be converted.
  """
  os.makedirs(path, exist_ok=True)
  arguments = run.arguments_of(
    {"masks": False},
    encoding,
    Limits(),
    mix=mixes.parse_mix(dict.fromkeys(formats, 1)),
    seed=0,
    splits=None,
    # One file of each format.
    shard_size=MOST_BYTES,
    replicate=True,
    pcr=pcr and dict(pcr),
  )
  made = run.run(
    Subset(source, order),
    path,
    arguments,
    encoding,
    LocalEngine(workers),
    Fraction(1),
    Progress(False),
    lists_problems=False,
  )
  finish.finish(path, made, arguments)
  return manifests.load(path)
