"""Finds the mix of formats that is fastest for some images on this machine.

  liquid-tf profile --input=photos --output=profile.json --report=profile.html
  liquid-tf convert --input=photos --output=photos.liquid --profile=profile.json

A sample of the images is encoded in each format, read and decoded by the real pipeline
on the disk where the dataset will lie. On a busy machine that takes up to five minutes.
Exit code 3, and no advice, where it is then still open which format is fastest.
"""

import logging
from typing import TYPE_CHECKING

from liquid_tf._cost import amounts
from liquid_tf.cli import common_flags, source, tool
from liquid_tf.cli.flag_values import Flags

if TYPE_CHECKING:
  from liquid_tf._profile.profile import Profile

_FLAGS = Flags()
_FLAGS.words(
  "formats",
  None,
  "formats to choose from, as png,webp,raw; by default png,l3-compact,l3,raw, and "
  "jpeg,l3,raw if nearly all images are JPEG",
)
_FLAGS.number(
  "least_mssim",
  None,
  "how much the images of a scan group of pcr must resemble whole ones for it to be "
  "advised, as .95; by default pcr is advised whole or not at all",
)
_FLAGS.string(
  "directory",
  None,
  "where the dataset will lie; by default beside the input; needed for tfds:NAME and "
  "hf:NAME",
)
_FLAGS.choice(
  "strategy",
  "lp",
  ["lp", "search"],
  "how to find the mix: by linear programming, or by the paper's binary search, which "
  "knows no cache",
)
_FLAGS.integer("trials", 3, "rounds, at least; more on a busy machine", 2)
_FLAGS.number("seconds", 1.0, "seconds that a run lasts at least", 0.01)
_FLAGS.integer("batch_size", 32, "images in a batch", 1)
_FLAGS.integer("threads", 0, "threads that decode; 0: one a processor", 0)
_FLAGS.string(
  "cache", "auto", 'share ("30%"), bytes, 0, or "auto", which is 0 for the search'
)
_FLAGS.number(
  "reserve", 0.0, "share of the processors that the training needs", 0, 0.99
)
_FLAGS.string("space", None, "bytes that the dataset may take, as 500GB")
_FLAGS.number(
  "step_ms",
  None,
  "milliseconds of a training step alone, for one batch of --batch_size images: tells "
  "whether the data limits it",
)
_FLAGS.words("crop", None, "HEIGHT,WIDTH of a window to decode")
_FLAGS.words("image_size", None, "HEIGHT,WIDTH to resize to")
_FLAGS.choice(
  "decode",
  "cpu",
  ["cpu", "gpu"],
  "where images are decoded; gpu: l3, l3-compact, raw and jpeg, on the first GPU",
)
_FLAGS.integer("seed", 0, "seed of the sample of images", 0)
_FLAGS.string("output", None, "write the profile here, for convert")
_FLAGS.string("report", None, "write a page of HTML here")
source.define(_FLAGS, whole=False)
common_flags.define_encoders(_FLAGS, ("jpeg", "png", "webp-lossy", "l3-compact", "pcr"))
_FLAGS.switch("json", "one JSON object on stdout")


def _print(found: "Profile") -> None:
  data = found.data
  rows = [["format", "an image", "loads/s", "decodes/s", "images/s"]]
  scanned = any(entry["scans"] for entry in data["formats"].values())
  if scanned:
    rows[0].append("MSSIM")
  for name, entry in data["formats"].items():
    rates = (entry["load"], entry["decode"], entry["predicted"])
    scans = entry["scans"] or {"read_bytes": entry["bytes"], "mssim": None}
    mssim = "" if scans["mssim"] is None else f"{scans['mssim']:.4f}"
    size = amounts.size(scans["read_bytes"])
    row = [name, size, *(f"{rate:.0f}" for rate in rates)]
    rows.append([*row, mssim] if scanned else row)
  tool.say(tool.table(rows))
  training = data["training"]
  if training and not training["matters"]:
    tool.say(found.verdict)
    return
  for row in data["what_if"] if not training or training["mix_matters"] else ():
    mix = ", ".join(f"{share:.0%} {name}" for name, share in row["mix"].items())
    tool.say(f"with {row['change']}: {mix}, {row['gain']:.2f} times as fast")
  convert = data["convert"]
  tool.say(
    f"converting: {amounts.size(convert['bytes'])}, about {convert['seconds']:.0f} s"
  )
  tool.say(found.verdict)


def _main(arguments: list[str]) -> int:
  tool.no_arguments(arguments)
  transforms = tool.transforms(_FLAGS.crop, _FLAGS.image_size)
  # The budgets of dozens of short runs would bury what the command says.
  logging.getLogger("liquid_tf").setLevel(logging.WARNING)
  from liquid_tf._profile.profile import profile
  from liquid_tf.errors import TooNoisyError

  if _FLAGS.report:
    # What it needs is missed now, and not after minutes of common_flags.
    from liquid_tf._profile import report  # noqa: F401
  try:
    found = profile(
      source.read(_FLAGS),
      _FLAGS.formats,
      directory=_FLAGS.directory,
      strategy=_FLAGS.strategy,
      runs=(_FLAGS.trials, _FLAGS.seconds),
      batch_size=_FLAGS.batch_size,
      transforms=[*source.steps(_FLAGS), *transforms],
      cache=tool.amount(_FLAGS.cache),
      decode=_FLAGS.decode,
      encoders=common_flags.encoders(_FLAGS),
      step=_FLAGS.step_ms,
      threads=_FLAGS.threads or None,
      reserve=_FLAGS.reserve,
      space=_FLAGS.space,
      least_mssim=_FLAGS.least_mssim,
      seed=_FLAGS.seed,
      say=tool.say,
    )
  except TooNoisyError as error:
    tool.say(str(error))
    return tool.TOO_NOISY
  _print(found)
  if _FLAGS.output:
    found.to_json(_FLAGS.output)
  if _FLAGS.report:
    found.report(_FLAGS.report)
  if _FLAGS.json:
    tool.print_json(found.data)
  return 0


COMMAND = tool.Command(
  __doc__, _FLAGS, _main, renamed={"mix: format": "formats", "step": "step_ms"}
)
