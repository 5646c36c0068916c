"""A profile from the user's images to advice."""

import dataclasses
import os
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from liquid_tf._convert.sources.samples import SampleSource
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
from liquid_tf._words import setting
from liquid_tf.errors import TooNoisyError, WrongArgument
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
    found = Measurement(
      samples=len(source),
      own_format=own_format,
      encoded=encoded,
      manifest=manifest,
      kept=paths["kept"],
      files=paths["files"],
      setting=_setting(encoded, manifest, paths, options),
      options=options,
      say=say,
    ).measure(begin + MOST_SECONDS - _LEFT_SECONDS)
  return found | {
    "source": source.named,
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
class Measurement:
  """Everything that measuring and advising needs.

  Attributes:
    samples: of the user's source.
    own_format: of its images, or None.
    encoded: what encoding some of them showed.
    manifest: of the replicated sample.
    kept: a folder for what the last runs read.
    files: an empty folder for the files of stock tf.data.
    setting: what all runs have alike.
    options: see `liquid_tf.profile`.
    say: receives a line of progress.
  """

  samples: int
  own_format: str | None
  encoded: sample.Encoded
  manifest: Manifest
  kept: str
  files: str
  setting: Setting
  options: Options
  say: Callable[[str], None]

  def measure(self, end: float) -> dict[str, Any]:
    """Measures until `end` of the monotonic clock at the latest.

    Where the last runs are not what formats had led to expect, and time is left, the
    machine may have changed, and all is measured once more, if the mix matters to the
    training. Where that is too noisy, what was found before stands, with the doubt that
    its verdict has.
    """
    begin = time.monotonic()
    found = self._measure_once(end)
    now = time.monotonic()
    runs = found["verified"]
    surprise = advice.surprise(
      runs["advised"], runs["predicted"], statistics.median(runs["mix"])
    )
    if found["training"] and not found["training"]["mix_matters"]:
      return found
    if surprise is not None and now + _ENOUGH * (now - begin) < end:
      self.say("these runs are not what the formats had led to expect: all once more")
      try:
        return self._measure_once(end)
      except TooNoisyError as error:
        self.say(f"{error}; what was found before stands")
    return found

  def _measure_once(self, end: float) -> dict[str, Any]:
    """Measures formats, then mixes."""
    setting, options, say = self.setting, self.options, self.say
    lossless = groups.lossless(self.encoded, self.manifest)
    rounds = costs_of.Rounds(setting, self.encoded, lossless, options.trials)
    say("measuring each format: loading, decoding")
    now = time.monotonic()
    at_stake = self._measure_formats(rounds, now + _OF_FORMATS * (end - now))
    costs = rounds.costs()
    for line in costs_of.lines(costs, rounds.runs):
      say(line)
    settled = self._is_settled(rounds)
    if settled:
      say("one format alone is faster than the training: nothing hangs on the mix")
    elif options.strategy == "lp":
      now = time.monotonic()
      times = processors.factor(
        setting,
        costs,
        self.machine(costs).of_runs,
        rounds.processors,
        options.trials,
        now + _OF_PROCESSORS * (end - now),
        say,
      )
      if times != 1:
        costs = processors.apply(costs, times)
        possible = (processors.apply(each, times) for each in rounds.resampled())
        choice = planner.best_mix(costs, self.machine(costs))
        at_stake = stake.of(choice, possible, self.machine).best
    say("measuring the disk")
    largest = max(costs, key=lambda name: costs[name].stored_bytes)
    blocks = disk.sweep(setting.long, names.stored(largest), options.seconds / 2)
    machine = self.machine(costs)
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
      self.manifest, costs, machine, [advised, single], setting.memory, self.kept
    )
    verified = verify.verify(
      setting if long is None else dataclasses.replace(setting, long=long),
      self.manifest,
      self.files,
      advised,
      single,
      held=verify.held(costs, machine),
      trials=options.trials,
      end=0.0 if settled else end,
      say=say,
    )
    return result.build(
      outcome.Findings(
        encoded=self.encoded,
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
        own_format=self.own_format,
        written=_bytes_written(self.manifest) + verified.stock_bytes,
      )
    )

  def _measure_formats(self, rounds: costs_of.Rounds, end: float) -> float:
    """Measures rounds until little is at stake between the best mixes.

    Args:
      rounds: gets them: `trials` at least, and more until `end`.
      end: of the monotonic clock.

    Returns:
      What the best mix by these costs may lose, as a share; see `stake.Stake`.

    Raises:
      TooNoisyError: a format may be much faster than what is best so far.
      ValueError: no format fits into the space.
    """
    at_stake = 1.0
    for number in noise.rounds(self.options.trials, end):
      if number == self.options.trials + 1:
        self.say(
          f"after {len(rounds)} rounds the best mix may lose {at_stake:.0%}: measuring "
          f"on, for {end - time.monotonic():.0f} s at most"
        )
      rounds.measure()
      if number < self.options.trials:
        continue
      costs = rounds.costs()
      machine = self.machine(costs)
      if planner.best_single(costs, machine) is None:
        raise WrongArgument(
          "space",
          machine.space_bytes,
          f"must have room for {machine.samples} images in one format",
        )
      choice = planner.best_mix(costs, machine)
      found = stake.of(choice, rounds.resampled(), self.machine)
      at_stake = found.best
      if at_stake <= stake.LITTLE or self._is_settled(rounds):
        return at_stake
    self.say(f"after {len(rounds)} rounds the best mix may lose {at_stake:.0%}")
    stake.check(choice, found, len(rounds))
    return at_stake

  def _is_settled(self, rounds: costs_of.Rounds) -> bool:
    """Says whether some format alone outruns the training, so that no mix matters."""
    consumer = self.options.consumer
    return consumer is not None and stake.suffices(
      consumer, rounds.costs(), rounds.resampled(), self.machine
    )

  def machine(self, costs: model.Costs) -> model.Machine:
    """The budget of a training; a copy from memory costs what decoding raw does.

    Where the GPU decodes, memory keeps no pixels.
    """
    options = self.options
    cache = arguments.cache_of(options.cache)
    raw = costs.get("raw") if options.decode == "cpu" else None
    return model.Machine(
      samples=self.samples,
      pixel_bytes=float(np.mean(self.encoded.pixel_bytes)),
      cache_bytes=cache if isinstance(cache, int) else 0,
      cache_share=None if isinstance(cache, int) else cache,
      copy_seconds=raw.decode_seconds if raw is not None else 0,
      reserve=options.reserve,
      space_bytes=options.space,
      resources=groups.resources(options.resources, costs),
    )


def _bytes_written(manifest: Manifest) -> int:
  return sum(shard.bytes for shard in manifest.shards)
