"""Measures how fast a dataset feeds a training, and what limits it.

  liquid-tf measure --dataset=photos.liquid --cache=30%
  liquid-tf measure --dataset=photos.liquid --balanced --mixed=sketches.liquid:.5

After the pipeline, its two stages run by themselves: loading without decoding, and
decoding without the disk.
"""

import os

from liquid_tf._cost import amounts
from liquid_tf.cli import common_flags, tool
from liquid_tf.cli.flag_values import Flags

_FLAGS = Flags()
common_flags.define_batch_size(_FLAGS)
common_flags.define_rounds(_FLAGS)
common_flags.define_threads(_FLAGS)
common_flags.define_results(_FLAGS, report=False)
_FLAGS.string("dataset", None, "dataset directory", required=True)
_FLAGS.integer("epochs", 4, "epochs of each process; the first one does not count", 2)
_FLAGS.string("cache", "auto", 'share ("30%"), bytes, 0, or "auto"')
_FLAGS.string("memory", "auto", 'whole budget: bytes, or "auto"')
_FLAGS.switch("cold", "empty the page cache before each epoch")
_FLAGS.switch("limits", "measure the limits of the stages too", on=True)
_FLAGS.string("split", None, "splits, or slices, as train[:10%]")
_FLAGS.string("where", None, "only samples for which this holds, as 'width > 99'")
_FLAGS.switch("balanced", "give classes equal shares")
_FLAGS.words(
  "mixed",
  [],
  "other datasets to mix with this one, each with its weight, as b.liquid:.5",
)
_FLAGS.switch("shuffle", "random order, not the stored one", on=True)
_FLAGS.integer("seed", 0, "seed of the order")
_FLAGS.words("crop", None, "HEIGHT,WIDTH of a window to decode")
_FLAGS.words("image_size", None, "HEIGHT,WIDTH to resize to")


def _print(result: dict) -> None:
  rows = [["epoch", "seconds", "images/s", "from disk", "kept", "loaded"]]
  for number, epoch in enumerate(result["epochs"]):
    disk = epoch["disk_bytes"]
    rows.append(
      [
        str(number),
        f"{epoch['seconds']:.2f}",
        f"{epoch['images_per_s']:.1f}",
        amounts.size(epoch["stats_disk_bytes"] if disk is None else disk),
        str(epoch["hits"]),
        str(epoch["loads"]),
      ]
    )
  tool.say(tool.table(rows))
  if result["batches"]:
    tool.say("full batches from the second epoch on:")
    parts = {"kept": result["batches"]["hits"], "loaded": result["batches"]["loads"]}
    parts.update(result["batches"]["composition"])
    tool.say(
      "  " + ", ".join(f"{k} {v['min']} to {v['max']}" for k, v in parts.items())
    )
  line = f"{result['images_per_s']:.1f} images/s, {result['threads']} threads"
  limits = result["limits"]
  if result["efficiency"] is not None:
    line += (
      f": {result['efficiency']:.0%} of the lower of load ({limits['load']:.1f}) and "
      f"decode ({limits['decode']:.1f})"
    )
  tool.say(f"{line}; {amounts.size(result['max_rss_bytes'])} of memory at most")
  tool.say(result["verdict"])


def _mixed() -> dict[str, float]:
  """Weights of other datasets, by path."""
  mixed = {}
  for text in _FLAGS.mixed:
    path, colon, weight = text.rpartition(":")
    try:
      mixed[os.path.abspath(path)] = float(weight)
    except ValueError:
      colon = ""
    if not colon or not path:
      raise tool.FlagsError(f"--mixed ({text}) must be DATASET:WEIGHT, as b.liquid:.5")
  return mixed


def _main(arguments: list[str]) -> int:
  tool.no_arguments(arguments)
  from liquid_tf._measure import evidence, pipeline

  threads = common_flags.threads(_FLAGS)
  mixed = _mixed()
  result = evidence.with_evidence(
    _FLAGS.dataset,
    lambda: (
      pipeline.bench(
        os.path.abspath(_FLAGS.dataset),
        epochs=_FLAGS.epochs,
        threads=threads,
        cold=_FLAGS.cold,
        rounds=_FLAGS.rounds,
        limits=_FLAGS.limits,
        say=tool.say,
        batch_size=_FLAGS.batch_size,
        cache=tool.amount(_FLAGS.cache),
        memory=tool.amount(_FLAGS.memory),
        split=_FLAGS.split,
        where=_FLAGS.where,
        balanced=_FLAGS.balanced,
        mixed=mixed,
        shuffle=_FLAGS.shuffle,
        seed=_FLAGS.seed,
        transforms=tool.transforms(_FLAGS.crop, _FLAGS.image_size, _FLAGS.shuffle),
      )
      | {"threads": threads}
    ),
  )
  _print(result)
  return common_flags.finish(_FLAGS, result)


COMMAND = tool.Command(__doc__, _FLAGS, _main)
