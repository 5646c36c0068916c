"""A profile from the user's images to advice."""

import dataclasses
import os
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from liquid_tf._convert import pipelines
from liquid_tf._convert.sources.source import SampleSource
from liquid_tf._cost import budget, model, planner
from liquid_tf._measure import repeated
from liquid_tf._pipeline import sizes
from liquid_tf._pipeline.recipe import Recipe
from liquid_tf._profile import choose, disk, measure, result, sample
from liquid_tf._profile.probe import Setting
from liquid_tf._store import manifest as manifests
from liquid_tf._store.manifest import Manifest
from liquid_tf._store.mix import TARGETS
from liquid_tf.transforms import ChannelsFirst, Ragged, Step

# An epoch of the repeated sample.
_EPOCH_IMAGES = 4096
_MOST_REPEATS = 512

# Pixels of a batch, and so the batch size where images are large.
_BATCH_BYTES = 32 << 20
_LEAST_BATCH = 4

# What `cache="auto"` has of `memory="auto"`, beside buffers and look-ahead, roughly.
_CACHE_OF_MEMORY = 0.75

# A share of a dataset is found to this part.
_PARTS = 10**6


@dataclasses.dataclass(frozen=True)
class Options:
  """What a profile is told; see `liquid_tf.profile`."""

  formats: list[str]
  strategy: str
  trials: int
  seconds: float
  batch_size: int
  threads: int
  cache: int | str
  reserve: float
  space: int | None
  step_ms: float | None
  transforms: tuple[Step, ...]
  decode: str
  resources: dict[str, model.Resource]
  encoding: pipelines.Encoding
  seed: int


def run(
  source: SampleSource, folder: str, options: Options, say: Callable[[str], None]
) -> dict[str, Any]:
  """Measures and advises.

  Args:
    source: the user's images.
    folder: on the file system where the dataset will lie; what is made there is gone
      afterwards.
    options: see `liquid_tf.profile`.
    say: receives a line of progress.

  Returns:
    The profile's JSON object without `evidence`; see `liquid_tf.Profile`.

  Raises:
    TooNoisyError: measurements disagree too much to advise.
    ConvertError: the images cannot be read.
    ValueError: an argument is wrong.
  """
  begin = time.monotonic()
  order = sample.draw(source, options.seed)
  workers, encoding = options.threads, options.encoding
  recipe = Recipe.parse(options.transforms)
  own_format = sample.look(source, order, encoding, workers, recipe)
  say(f"encoding some of {len(source)} images as {', '.join(options.formats)}")
  encoded = sample.encode(source, order, options.formats, encoding, workers)
  count = sample.images_to_write(encoded, len(source))
  with tempfile.TemporaryDirectory(prefix=".liquid_profile_", dir=folder) as temporary:
    paths = {name: os.path.join(temporary, name) for name in ("short", "long", "files")}
    for path in paths.values():
      os.mkdir(path)
    say(f"writing {count} images in every format below {temporary}")
    manifest = sample.write(
      source, order[:count], options.formats, encoding, workers, paths["short"]
    )
    repeats = -(-_EPOCH_IMAGES // manifest["samples"])
    repeated.repeat(manifest, min(_MOST_REPEATS, repeats), paths["long"])
    setting = _setting(encoded, manifest, paths, options)
    found = _measure(
      len(source), own_format, encoded, manifest, paths["files"], setting, options, say
    )
  return found | {
    "source": source.root,
    "source_format": own_format,
    "directory": folder,
    "seconds": time.monotonic() - begin,
  }


def _setting(
  encoded: sample.Encoded, manifest: Manifest, paths: dict[str, str], options: Options
) -> Setting:
  transforms = options.transforms
  index = manifests.load_index(manifest)
  if sizes.results(Recipe.parse(transforms), {"all": index}).one is None:
    if options.decode == "gpu":
      raise ValueError(
        'transforms must have a CenterCrop with decode="gpu": the images differ in size'
      )
    transforms = (
      *(step for step in transforms if not isinstance(step, ChannelsFirst)),
      Ragged(),
    )
  fits = max(_LEAST_BATCH, int(_BATCH_BYTES / np.mean(encoded.pixel_bytes)))
  return Setting(
    short=paths["short"],
    long=paths["long"],
    batch_size=max(1, min(options.batch_size, fits, manifest["samples"])),
    threads=options.threads,
    memory=budget.resolve_memory("auto"),
    seconds=options.seconds,
    transforms=transforms,
    decode=options.decode,
  )


def _measure(
  samples: int,
  own_format: str | None,
  encoded: sample.Encoded,
  manifest: Manifest,
  files: str,
  setting: Setting,
  options: Options,
  say: Callable[[str], None],
) -> dict[str, Any]:
  say("measuring each format: loading, decoding")
  lossless = {
    name: manifest["formats"][TARGETS[name][0]]["lossless"] for name in options.formats
  }
  costs, runs = measure.costs(setting, encoded, lossless, options.trials, say)
  largest = max(costs, key=lambda name: costs[name].stored_bytes)
  say("measuring the disk")
  blocks = disk.sweep(setting.long, TARGETS[largest][0], options.seconds / 2)
  machine = _machine(samples, encoded, costs, options)
  single = planner.best_single(costs, machine)
  if single is None:
    raise ValueError(
      f"space ({machine.space_bytes}) must have room for {samples} images in one format"
    )
  advised = single
  choice, measured = choose.choose(
    setting, costs, machine, options.strategy, options.trials, say
  )
  # What the search found was measured; whether it is worth it, the next runs say.
  worth = choice.prediction.throughput > planner.WORTH * single.prediction.throughput
  if worth or options.strategy == "search":
    advised = choice
  verified = choose.verify(
    setting, manifest, files, advised, single, options.trials, say
  )
  return result.build(
    encoded=encoded,
    costs=costs,
    runs=runs,
    machine=machine,
    blocks=blocks,
    advised=advised,
    single=single,
    measured=measured,
    verified=verified,
    setting=setting,
    options=options,
    own_format=own_format,
    written=_bytes_written(manifest) + verified.stock_bytes,
  )


def cache_of(cache: int | str) -> int | float:
  """Bytes of `cache=`, or the share of the dataset where it is one (a float).

  Raises:
    ValueError: it is neither.
  """
  if cache == "auto":
    return int(_CACHE_OF_MEMORY * budget.resolve_memory("auto"))
  # Checks both forms.
  (share,) = budget.cached_samples(cache, [_PARTS], [0], 0)
  if isinstance(cache, str) and "%" in cache:
    return share / _PARTS
  return budget.parse_bytes(cache, "cache")


def _machine(
  samples: int, encoded: sample.Encoded, costs: model.Costs, options: Options
) -> model.Machine:
  """What there is to spend; a copy from memory costs what raw pixels' decoding does.

  Where the GPU decodes, memory keeps no pixels.
  """
  cache = cache_of(options.cache)
  raw = costs.get("raw") if options.decode == "cpu" else None
  return model.Machine(
    samples=samples,
    pixel_bytes=float(np.mean(encoded.pixel_bytes)),
    cache_bytes=cache if isinstance(cache, int) else 0,
    cache_share=None if isinstance(cache, int) else cache,
    copy_seconds=raw.decode_seconds if raw is not None else 0,
    reserve=options.reserve,
    space_bytes=options.space,
    resources=options.resources,
  )


def _bytes_written(manifest: Manifest) -> int:
  return sum(shard.bytes for shard in manifest.shards)
