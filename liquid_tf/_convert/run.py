"""A conversion from its first pass to its last."""

import dataclasses
import os
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from liquid_tf._convert import choose, labels, pipelines, plan, scan, write
from liquid_tf._convert import output as outputs
from liquid_tf._convert.job import Base, Engine, Made, WriteJob
from liquid_tf._convert.journal import SCAN_DTYPE, Journal
from liquid_tf._convert.outlet import Destination, open_outlet
from liquid_tf._convert.sources.samples import SampleSource
from liquid_tf._native.limits import Limits
from liquid_tf._store import manifest
from liquid_tf._store import mix as mixes
from liquid_tf._store.progress import Progress
from liquid_tf._version import __version__
from liquid_tf._words import argument, setting
from liquid_tf.errors import ConvertError


def _place(skipped: tuple[str, str]) -> tuple[bytes, int]:
  """By what files and records that were skipped are listed: path, and offset there."""
  path, *offset = re.split(r", offset (\d+)", skipped[0], maxsplit=1)
  return os.fsencode(path), int(offset[0]) if offset else -1


def arguments_of(
  source: Mapping[str, Any],
  encoding: pipelines.Encoding,
  limits: Limits,
  *,
  mix: Mapping[str, float],
  seed: int,
  splits: Mapping[str, float] | None,
  shard_size: int,
  replicate: bool,
  pcr: Mapping[str, Any] | None,
  skip_bits: bool = False,
) -> dict[str, Any]:
  """All that the bytes of a dataset depend on, as the journal keeps it.

  Args:
    source: what is told of the images; see `Source.record`.
    encoding: what the encoders are given.
    limits: of the images that are decoded.
    mix: shares of formats.
    seed: of the plan.
    splits: shares of splits to draw; None for those of the source.
    shard_size: bytes of a shard, at most roughly.
    replicate: whether every format holds all samples.
    pcr: options of its encoder; None without pcr.
    skip_bits: whether images of other bits than most are left out.
  """
  return {
    "created_by": f"liquid_tf {__version__}",
    **source,
    "mix": mix,
    "seed": seed,
    "splits": splits,
    "shard_size": shard_size,
    "replicate": replicate,
    "encoding": encoding.record,
    "geometry": encoding.geometry.record,
    "skip_bits": skip_bits,
    "check": encoding.check,
    "pcr": pcr,
    "limits": dataclasses.asdict(limits),
  }


def check_same(output: str, arguments: dict[str, Any]) -> None:
  """Raises ConvertError unless the finished dataset was made with these arguments."""
  data = manifest.load(output)
  mix = {mixes.TARGETS[name][0]: share for name, share in arguments["mix"].items()}
  stored = data.data.get("pcr", {})
  pcr = None if not stored else {key: stored[key] for key in ("images", "groups")}
  for key, has, given in (
    ("pcr", pcr, arguments["pcr"]),
    ("mix", data["mix"], mix),
    # Before the encoding, which follows from it.
    ("pixels", data["pixels"], manifest.PIXELS[arguments["check"]]),
    *((key, data[key], arguments[key]) for key in ("seed", "encoding", "geometry")),
    ("replicated", data["replicated"], arguments["replicate"]),
  ):
    if has != given:
      raise ConvertError(
        f"{argument('output', output)} already holds a dataset with {key} {has}, not "
        f"{given}: {setting('existing', 'replace')} replaces it"
      )


def run(
  source: SampleSource,
  output: str,
  arguments: dict[str, Any],
  encoding: pipelines.Encoding,
  engine: Engine,
  most_skipped: Fraction | None,
  progress: Progress,
  base: Base | None = None,
  lists_problems: bool = True,
  destination: Destination | None = None,
) -> Made:
  """Writes the shards of a source, or goes on with that.

  Args:
    source: the samples.
    output: the folder of shards and journal, which is there and locked.
    arguments: all that the dataset's bytes depend on.
    encoding: what encoders are given.
    engine: that does the work.
    most_skipped: the share of samples that may be left out; None where none may.
    progress: is told of each sample.
    base: of the dataset that the samples are added to; None for a new one.
    lists_problems: whether `output` stays after an error, with a list of samples that
      make no dataset.
    destination: what gets the shards, which then do not stay in `output`; or None.

  Raises:
    ConvertError: the conversion cannot go on; what is done so far is journaled.
    OSError: a file cannot be read, written or sent.
  """
  journal = Journal(output)
  try:
    if journal.is_new():
      journal.start(arguments, source)
      table, errors, touched = np.zeros(len(source), SCAN_DTYPE), {}, []
    else:
      table, errors, touched = journal.resume(arguments, source)
    shards = journal.shards()
    outputs.remove_leftovers(output, set(shards))
    if not shards:
      scan.forget(table, errors, encoding)

    listed = output if lists_problems else None
    choose.check_lost(source, most_skipped, listed)
    scan.scan_source(
      source, engine, journal, table, errors, touched, encoding, progress
    )
    good, left_out = choose.choose(
      source,
      table,
      errors,
      arguments["mix"],
      skip_bits=arguments["skip_bits"],
      copies=encoding.check == "headers",
      most_skipped=most_skipped,
      output=listed,
    )
    scan.note_pages(source, table, good)
    job, splits, split_of, label = _plan(
      source, output, table, good, arguments, encoding, base
    )
    with open_outlet(output, journal, destination) as outlet:
      written = write.write_shards(job, engine, journal, outlet, progress)
    return Made(
      source=source,
      scan=table,
      good=good,
      skipped=sorted(source.reasons + left_out, key=_place),
      splits=splits,
      split_of=split_of,
      plans=job.plans,
      shards=written,
      label=label,
      first=job.first,
    )
  finally:
    journal.close()
    progress.close()


def _plan(
  source: SampleSource,
  output: str,
  table: np.ndarray,
  good: np.ndarray,
  arguments: dict[str, Any],
  encoding: pipelines.Encoding,
  base: Base | None,
) -> tuple[WriteJob, list[str], np.ndarray, dict[str, Any] | None]:
  """Plans the shards, the splits, the split of each sample, and the label."""
  mix, seed = arguments["mix"], arguments["seed"]
  samples = table[good]
  choose.check_holds(mix, int(samples["channels"][0]), int(samples["bits"][0]))
  label = labels.describe(source, samples, mix)
  if base is not None:
    label = base.check(source, samples, label)
  strata = labels.strata(samples, label)
  sizes = source.sizes[good]
  pixels = samples["height"].astype(np.int64) * samples["width"]
  splits, split_of = _splits(source, good, strata, arguments, base)
  names = np.array(manifest.FORMATS)[samples["format"]]
  formats = None
  if encoding.check == "headers":
    # Files are copied, so they keep their formats.
    formats = plan.positions_of(names, mix)
  elif not arguments["replicate"]:
    dealt = None if base is None else base.dealt
    formats = plan.assign_formats(split_of, strata, pixels, sizes, mix, seed, dealt)
  if encoding.geometry.moves:
    # The files' sizes say little of what becomes of them.
    names[:] = ""
  pixel_bytes = pixels * samples["channels"] * samples["bits"] // 8
  estimates = {
    target: plan.estimate_bytes(target, names, sizes, pixel_bytes) for target in mix
  }
  pcr = arguments["pcr"] or {"images": 1, "groups": None}
  plans = plan.plan_shards(
    split_of, formats, estimates, splits, arguments["shard_size"], seed, pcr["images"]
  )
  job = WriteJob(
    output,
    source,
    table,
    good,
    plans,
    encoding,
    pcr["groups"],
    labels.count(label),
    0 if base is None else base.first,
  )
  return job, splits, split_of, label


def _splits(
  source: SampleSource,
  good: np.ndarray,
  strata: np.ndarray,
  arguments: dict[str, Any],
  base: Base | None,
) -> tuple[list[str], np.ndarray]:
  """Names of all splits, and the position of each sample's."""
  shares = arguments["splits"]
  given = list(shares) if shares else source.splits
  splits = list(dict.fromkeys([*(base.splits if base else ()), *given]))
  if shares:
    first = None if base is None else base.first
    split_of = plan.draw_splits(strata, shares, arguments["seed"], first)
  else:
    split_of = source.split_of[good].astype(np.int64)
  counts = np.bincount(split_of, minlength=len(given))
  empty = [name for name, count in zip(given, counts.tolist()) if not count]
  # Small appends fill the splits together.
  if empty and base is None:
    raise ConvertError(_empty_splits(source, empty, given, len(good), shares))
  return splits, np.array([splits.index(name) for name in given])[split_of]


def _empty_splits(
  source: SampleSource,
  empty: Sequence[str],
  every: Sequence[str],
  samples: int,
  shares: Mapping[str, float] | None,
) -> str:
  """The error for splits that would have no sample."""
  names = ", ".join(empty)
  if shares is None:
    return (
      f"{argument('source', source.named)} has no sample for the split {names}: put "
      "images there, or take it away"
    )
  given = ",".join(f"{name}:{shares[name]:g}" for name in every)
  return (
    f"{argument('splits', given)} would leave {names} without any of the {samples} "
    f"samples of {argument('source', source.named)}: give it a larger share, or "
    "leave it out"
  )
