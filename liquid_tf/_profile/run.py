"""A profile from the user's images to advice."""

import dataclasses
import os
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from liquid_tf._convert.sources.source import SampleSource
from liquid_tf._cost import budget, model, planner
from liquid_tf._measure import repeated
from liquid_tf._pipeline import sizes
from liquid_tf._pipeline.recipe import Recipe
from liquid_tf._profile import (
  advice,
  arguments,
  choose,
  disk,
  groups,
  names,
  noise,
  outcome,
  processors,
  result,
  sample,
  scratch,
  stake,
  verify,
)
from liquid_tf._profile import costs as costs_of
from liquid_tf._profile.arguments import Options
from liquid_tf._profile.probe import Setting
from liquid_tf._store import manifest as manifests
from liquid_tf._store.manifest import Manifest
from liquid_tf.errors import TooNoisyError, WrongArgument, setting
from liquid_tf.transforms import ChannelsFirst, Ragged

# An epoch of the repeated sample.
_EPOCH_IMAGES = 4096
_MOST_REPEATS = 512

# Pixels of a batch, and so the batch size where images are large.
_BATCH_BYTES = 32 << 20
_LEAST_BATCH = 4

# Measuring goes on for so long at most; formats by themselves have this part of it, and
# what processors decoding gets has that part of the rest.
MOST_SECONDS = 300.0
_OF_FORMATS = 0.5
_OF_PROCESSORS = 0.6
# Of the time that all of it took, what it needs if it begins again.
_ENOUGH = 0.8
# What is left to the disk's speeds, and to what follows the last round.
_LEFT_SECONDS = 10.0


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
    The profile's JSON object without `evidence`; see `Profile`.

  Raises:
    TooNoisyError: measurements leave open which format is faster.
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
  with scratch.folder(folder) as temporary:
    parts = ("short", "long", "kept", "files")
    paths = {name: os.path.join(temporary, name) for name in parts}
    for path in paths.values():
      os.mkdir(path)
    say(f"writing {count} images in every format below {temporary}")
    manifest = sample.write(
      source,
      order[:count],
      options.formats,
      encoding,
      workers,
      paths["short"],
      options.pcr,
    )
    encoded = groups.split(encoded, manifest, options.pcr, options.least_mssim)
    repeats = -(-_EPOCH_IMAGES // manifest["samples"])
    repeated.repeat(manifest, min(_MOST_REPEATS, repeats), paths["long"])
    setting = _setting(encoded, manifest, paths, options)
    found = _measure(
      _Subject(
        len(source), own_format, encoded, manifest, paths["kept"], paths["files"]
      ),
      setting,
      options,
      begin + MOST_SECONDS - _LEFT_SECONDS,
      say,
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
        f"transforms must have a CenterCrop with {setting('decode', 'gpu')}: the "
        "images differ in size"
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


@dataclasses.dataclass(frozen=True)
class _Subject:
  """The images that are measured, and folders for it.

  Attributes:
    samples: of the user's source.
    own_format: of its images, or None.
    encoded: what encoding some of them showed.
    manifest: of the replicated sample.
    kept: a folder for what the last runs read.
    files: an empty folder for the files of stock tf.data.
  """

  samples: int
  own_format: str | None
  encoded: sample.Encoded
  manifest: Manifest
  kept: str
  files: str


def _measure(
  subject: _Subject,
  setting: Setting,
  options: Options,
  end: float,
  say: Callable[[str], None],
) -> dict[str, Any]:
  """Measures until `end` of the monotonic clock at the latest.

  Where the last runs are not what formats had led to expect, and time is left, the
  machine may have changed, and all is measured once more, if the mix matters to the
  training. Where that is too noisy, what was found before stands, with the doubt that
  its verdict has.
  """
  begin = time.monotonic()
  found = _measure_once(subject, setting, options, end, say)
  now = time.monotonic()
  runs = found["verified"]
  surprise = advice.surprise(
    runs["advised"], runs["predicted"], statistics.median(runs["mix"])
  )
  if found["training"] and not found["training"]["mix_matters"]:
    return found
  if surprise is not None and now + _ENOUGH * (now - begin) < end:
    say("these runs are not what the formats had led to expect: all once more")
    try:
      return _measure_once(subject, setting, options, end, say)
    except TooNoisyError as error:
      say(f"{error}; what was found before stands")
  return found


def _measure_once(
  subject: _Subject,
  setting: Setting,
  options: Options,
  end: float,
  say: Callable[[str], None],
) -> dict[str, Any]:
  """Measures formats, then mixes."""
  manifest, encoded = subject.manifest, subject.encoded
  lossless = groups.lossless(encoded, manifest)
  rounds = costs_of.Rounds(setting, encoded, lossless, options.trials)

  def machine_of(costs: model.Costs) -> model.Machine:
    return _machine(subject.samples, encoded, costs, options)

  say("measuring each format: loading, decoding")
  now = time.monotonic()
  at_stake = _measure_formats(
    rounds, machine_of, options, now + _OF_FORMATS * (end - now), say
  )
  costs = rounds.costs()
  for line in costs_of.lines(costs, rounds.runs):
    say(line)
  settled = _is_settled(rounds, machine_of, options)
  if settled:
    say("one format alone is faster than the training: nothing hangs on the mix")
  elif options.strategy == "lp":
    now = time.monotonic()
    times = processors.factor(
      setting,
      costs,
      machine_of(costs).of_runs,
      rounds.processors,
      options.trials,
      now + _OF_PROCESSORS * (end - now),
      say,
    )
    if times != 1:
      costs = processors.apply(costs, times)
      possible = (processors.apply(each, times) for each in rounds.resampled())
      choice = planner.best_mix(costs, machine_of(costs))
      at_stake = stake.of(choice, possible, machine_of).best
  say("measuring the disk")
  largest = max(costs, key=lambda name: costs[name].stored_bytes)
  blocks = disk.sweep(setting.long, names.stored(largest), options.seconds / 2)
  machine = machine_of(costs)
  single = advised = planner.best_single(costs, machine)
  choice, measured = single, []
  if not settled:
    choice, measured = choose.choose(
      setting, costs, machine, options.strategy, options.trials, say
    )
  # What the search found was measured; whether it is worth it, the next runs say.
  worth = choice.prediction.throughput > planner.WORTH * single.prediction.throughput
  if worth or options.strategy == "search":
    advised = choice
  long = verify.kept_sample(
    manifest, costs, machine, [advised, single], setting.memory, subject.kept
  )
  verified = verify.verify(
    setting if long is None else dataclasses.replace(setting, long=long),
    manifest,
    subject.files,
    verify.Contest(
      advised,
      single,
      verify.held(costs, machine),
      options.trials,
      0.0 if settled else end,
    ),
    say,
  )
  return result.build(
    outcome.Findings(
      encoded=encoded,
      costs=costs,
      runs=rounds.runs,
      machine=machine,
      blocks=blocks,
      advised=advised,
      single=single,
      at_stake=at_stake,
      measured=measured,
      verified=verified,
      setting=setting,
      options=options,
      own_format=subject.own_format,
      written=_bytes_written(manifest) + verified.stock_bytes,
    )
  )


def _measure_formats(
  rounds: costs_of.Rounds,
  machine_of: Callable[[model.Costs], model.Machine],
  options: Options,
  end: float,
  say: Callable[[str], None],
) -> float:
  """Measures rounds until little is at stake between the best mixes.

  Args:
    rounds: gets them: `trials` at least, and more until `end`.
    machine_of: what there is to spend, by costs.
    options: see `liquid_tf.profile`.
    end: of the monotonic clock.
    say: receives a line of progress.

  Returns:
    What the best mix by these costs may lose, as a share; see `stake.Stake`.

  Raises:
    TooNoisyError: a format may be much faster than what is best so far.
    ValueError: no format fits into the space.
  """
  at_stake = 1.0
  for number in noise.rounds(options.trials, end):
    if number == options.trials + 1:
      say(
        f"after {len(rounds)} rounds the best mix may lose {at_stake:.0%}: measuring "
        f"on, for {end - time.monotonic():.0f} s at most"
      )
    rounds.measure()
    if number < options.trials:
      continue
    costs = rounds.costs()
    machine = machine_of(costs)
    if planner.best_single(costs, machine) is None:
      raise WrongArgument(
        "space",
        machine.space_bytes,
        f"must have room for {machine.samples} images in one format",
      )
    choice = planner.best_mix(costs, machine)
    found = stake.of(choice, rounds.resampled(), machine_of)
    at_stake = found.best
    if at_stake <= stake.LITTLE or _is_settled(rounds, machine_of, options):
      return at_stake
  say(f"after {len(rounds)} rounds the best mix may lose {at_stake:.0%}")
  stake.check(choice, found, len(rounds))
  return at_stake


def _is_settled(
  rounds: costs_of.Rounds,
  machine_of: Callable[[model.Costs], model.Machine],
  options: Options,
) -> bool:
  """Says whether some format alone outruns the training, so that no mix matters."""
  return options.consumer is not None and stake.suffices(
    options.consumer, rounds.costs(), rounds.resampled(), machine_of
  )


def _machine(
  samples: int, encoded: sample.Encoded, costs: model.Costs, options: Options
) -> model.Machine:
  """The budget of a training; a copy from memory costs what decoding raw does.

  Where the GPU decodes, memory keeps no pixels.
  """
  cache = arguments.cache_of(options.cache)
  raw = costs.get("raw") if options.decode == "cpu" else None
  return model.Machine(
    samples=samples,
    pixel_bytes=float(np.mean(encoded.pixel_bytes)),
    cache_bytes=cache if isinstance(cache, int) else 0,
    cache_share=None if isinstance(cache, int) else cache,
    copy_seconds=raw.decode_seconds if raw is not None else 0,
    reserve=options.reserve,
    space_bytes=options.space,
    resources=groups.resources(options.resources, costs),
  )


def _bytes_written(manifest: Manifest) -> int:
  return sum(shard.bytes for shard in manifest.shards)
