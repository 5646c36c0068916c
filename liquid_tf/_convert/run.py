"""A conversion from its first pass to its last."""

import os
from fractions import Fraction
from typing import Any

import numpy as np

from liquid_tf._convert import (
  choose,
  finish,
  holds,
  labels,
  pipelines,
  plan,
  scan,
  write,
)
from liquid_tf._convert import output as outputs
from liquid_tf._convert.engine import Engine, WriteJob
from liquid_tf._convert.journal import SCAN_DTYPE, Journal
from liquid_tf._convert.sources.source import SampleSource
from liquid_tf._store import manifest
from liquid_tf._store import mix as mixes
from liquid_tf._store.progress import Progress
from liquid_tf.errors import ConvertError


def check_same(output: str, arguments: dict[str, Any]) -> None:
  """Raises ConvertError unless the finished dataset was made with these arguments."""
  data = manifest.load(output)
  mix = {mixes.TARGETS[name][0]: share for name, share in arguments["mix"].items()}
  stored = data.data.get("pcr", {})
  pcr = None if not stored else {key: stored[key] for key in ("images", "groups")}
  if pcr != arguments["pcr"]:
    raise ConvertError(
      f'output ("{output}") already holds a dataset with pcr {pcr}, not '
      f'{arguments["pcr"]}: existing="replace" replaces it'
    )
  for key, given in (
    ("mix", mix),
    ("seed", arguments["seed"]),
    ("encoding", arguments["encoding"]),
    ("geometry", arguments["geometry"]),
    ("replicated", arguments["replicate"]),
  ):
    if data[key] != given:
      raise ConvertError(
        f'output ("{output}") already holds a dataset with {key} {data[key]}, not '
        f'{given}: existing="replace" replaces it'
      )


def run(
  source: SampleSource,
  output: str,
  arguments: dict[str, Any],
  encoding: pipelines.Encoding,
  engine: Engine,
  most_skipped: Fraction | None,
  progress: Progress,
) -> None:
  """Makes a dataset of a source, or goes on with it.

  Args:
    source: the samples.
    output: the dataset's directory, which is there and locked.
    arguments: all that the dataset's bytes depend on.
    encoding: what encoders are given.
    engine: that does the work.
    most_skipped: the share of samples that may be left out; None where none may.
    progress: is told of each sample.

  Raises:
    ConvertError: the conversion cannot go on; what is done so far is journaled.
    OSError: a file cannot be read or written.
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

    scan.scan_source(
      source, engine, journal, table, errors, touched, encoding, progress
    )
    mix = arguments["mix"]
    good, left_out = choose.choose(
      source,
      table,
      errors,
      mix,
      skip_bits=arguments["skip_bits"],
      most_skipped=most_skipped,
      output=output,
    )
    skipped = sorted(source.skipped + left_out, key=lambda pair: os.fsencode(pair[0]))
    samples = table[good]
    holds.check_holds(mix, int(samples["channels"][0]), int(samples["bits"][0]))

    label = labels.describe(source, samples, mix)
    strata = labels.strata(samples, label)
    sizes = source.sizes[good]
    pixels = samples["height"].astype(np.int64) * samples["width"]
    if arguments["splits"]:
      splits = list(arguments["splits"])
      split_of = plan.draw_splits(strata, arguments["splits"], arguments["seed"])
    else:
      splits = source.splits
      split_of = source.split_of[good].astype(np.int64)
    formats = None
    if not arguments["replicate"]:
      formats = plan.assign_formats(
        split_of, strata, pixels, sizes, mix, arguments["seed"]
      )
    names = np.array(manifest.FORMATS)[samples["format"]]
    if encoding.geometry.moves:
      # The files' sizes say little of what becomes of them.
      names[:] = ""
    pixel_bytes = pixels * samples["channels"] * samples["bits"] // 8
    estimates = {
      target: plan.estimate_bytes(target, names, sizes, pixel_bytes) for target in mix
    }
    pcr = arguments["pcr"] or {"images": 1, "groups": None}
    plans = plan.plan_shards(
      split_of,
      formats,
      estimates,
      splits,
      arguments["shard_size"],
      arguments["seed"],
      pcr["images"],
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
    )
    shards = write.write_shards(job, engine, journal, progress)
    finish.finish(
      output,
      source,
      table,
      good,
      skipped,
      splits,
      split_of,
      plans,
      shards,
      label,
      arguments,
    )
  finally:
    journal.close()
    progress.close()
