"""PNG alone, raw pixels alone and a mix on one disk, and what holds up each of them."""

import contextlib
import os
import pathlib
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from liquid_tf._convert import pipelines
from liquid_tf._convert.source import Source
from liquid_tf._convert.sources.open_source import open_source
from liquid_tf._cost import budget
from liquid_tf._measure import repeated, throttle
from liquid_tf._native import encoders
from liquid_tf._profile import sample
from liquid_tf._profile.probe import Pipeline, Setting
from liquid_tf._store import manifest as manifests

SINGLE = ("png", "raw")

# Images that are stored in every format, and of the epochs made of them.
_IMAGES = 512
_EPOCH_IMAGES = 8192
# As `convert` encodes by default.
_ENCODING = pipelines.Encoding.of({}, encoders.resolve(None))

_ROUNDS = 3
_SECONDS = 1.0


def prepare(
  photos: pathlib.Path, folder: pathlib.Path, formats: Sequence[str], batch_size: int
) -> Setting:
  """Stores some photographs in every format, for runs without a cache.

  Args:
    photos: folder of class folders of equal images.
    folder: gets two datasets.
    formats: names of a mix, without pcr.
    batch_size: images in a batch.
  """
  short, long = folder / "short", folder / "long"
  source = open_source(Source(photos), os.fspath(short))
  threads = len(os.sched_getaffinity(0))
  order = sample.draw(source, 0)[:_IMAGES]
  manifest = sample.write(source, order, formats, _ENCODING, threads, os.fspath(short))
  long.mkdir()
  repeated.repeat(manifest, -(-_EPOCH_IMAGES // len(order)), os.fspath(long))
  memory = budget.resolve_memory("auto")
  paths = os.fspath(short), os.fspath(long)
  return Setting(*paths, min(batch_size, len(order)), threads, memory, _SECONDS, ())


def balanced_rate(setting: Setting) -> int:
  """Bytes per second of a disk that gives raw images as fast as PNG is decoded here.

  On a slower disk fewer bytes are better, and on a faster one less decoding: there,
  neither is best alone.
  """
  pipeline = Pipeline(setting, {"png": 1}, "decode")
  rate = statistics.median(pipeline.run().images_per_s for _ in range(_ROUNDS))
  raw = manifests.load(setting.short)["formats"]["raw"]
  return int(rate * raw["bytes"] / raw["samples"])


@contextlib.contextmanager
def held(path: str | os.PathLike, bytes_per_second: int) -> Iterator[str | None]:
  """Holds the disk back where this process may.

  Args:
    path: on that disk.
    bytes_per_second: that may be read past the page cache.

  Yields:
    Why the disk is as it is; None where it is held back.
  """
  try:
    throttled = throttle.Throttle(path, bytes_per_second)
  except OSError as error:
    yield str(error)
    return
  with throttled:
    yield None


def compare(
  setting: Setting, mixes: Mapping[str, Mapping[str, float]]
) -> dict[str, dict[str, Any]]:
  """Runs whole pipelines in turn, without a cache and past the page cache.

  Args:
    setting: what all runs have alike.
    mixes: weights of formats, by name.

  Returns:
    Of each: `images_per_s`, a median; `disk_bytes_per_s`; `disk_busy`, the share of the
    time in which reads were under way; `decoding`, threads that decoded on average; and
    `limit`: "the disk", "decoding" or "the reader of the batches", where it is known.
  """
  pipelines_of = {name: Pipeline(setting, mix, "both") for name, mix in mixes.items()}
  rates: dict[str, list[float]] = {name: [] for name in mixes}
  for _ in range(_ROUNDS):
    for name, pipeline in pipelines_of.items():
      rates[name].append(pipeline.run().images_per_s)
  return {
    name: {"images_per_s": statistics.median(rates[name]), **_limit(pipeline)}
    for name, pipeline in pipelines_of.items()
  }


def _limit(pipeline: Pipeline) -> dict[str, Any]:
  found = pipeline.verdict()
  names = {
    "disk-bound": "the disk",
    "decode-bound": "decoding",
    "consumer-bound": "the reader of the batches",
    "unknown": "not known from so few batches",
  }
  return {
    "disk_bytes_per_s": found.disk_bytes_per_second,
    "disk_busy": found.disk_busy,
    "decoding": found.decoders_busy,
    "limit": names[found.bound],
  }
