"""Finds the mix of formats that is fastest for some images on this machine.

  python -m tools.profile --input=photos --output=profile.json --report=profile.html
  python -m tools.convert --input=photos --output=photos.liquid --profile=profile.json

A sample of the images is encoded in each format, read and decoded by the real pipeline
on the disk where the dataset will lie. Exit code 3, and no advice, where runs disagree
too much.
"""

import logging
import sys

from absl import flags

from liquid_tf.cli import tool

_INPUT = flags.DEFINE_string("input", None, "images, as for convert", required=True)
_FORMATS = flags.DEFINE_list(
  "formats",
  None,
  "to choose from, as png,webp,raw; by default png,l3,raw, of JPEG files jpeg,l3,raw",
)
_DIRECTORY = flags.DEFINE_string(
  "directory",
  None,
  "where the dataset will lie; by default beside the input; needed for tfds:NAME",
)
_STRATEGY = flags.DEFINE_enum(
  "strategy",
  "lp",
  ["lp", "search"],
  "linear programme, or the paper's binary search, of mixes without a cache",
)
_TRIALS = flags.DEFINE_integer("trials", 3, "runs of everything", 2)
_SECONDS = flags.DEFINE_float("seconds", 1.0, "that a run lasts at least", 0.01)
_BATCH_SIZE = flags.DEFINE_integer("batch_size", 32, "images in a batch", 1)
_THREADS = flags.DEFINE_integer("threads", 0, "that decode; 0: one a processor", 0)
_CACHE = flags.DEFINE_string(
  "cache", "auto", 'share ("30%"), bytes, 0, or "auto", which is 0 for the search'
)
_RESERVE = flags.DEFINE_float(
  "reserve", 0.0, "share of the processors that the training needs", 0, 0.99
)
_SPACE = flags.DEFINE_string("space", None, "bytes that the dataset may take, as 500GB")
_STEP_MS = flags.DEFINE_float(
  "step_ms", None, "milliseconds of a training step by itself: does any of it matter?"
)
_CROP = flags.DEFINE_list("crop", None, "HEIGHT,WIDTH of a window to decode")
_IMAGE_SIZE = flags.DEFINE_list("image_size", None, "HEIGHT,WIDTH to resize to")
_DECODE = flags.DEFINE_enum(
  "decode", "cpu", ["cpu", "gpu"], "where; gpu: l3 and raw on TensorFlow's first GPU"
)
_IMAGE_FEATURE = flags.DEFINE_string(
  "image_feature", None, "of an Example, that holds the image; image/encoded"
)
_TFDS_DIR = flags.DEFINE_string(
  "tfds_dir", None, "where TFDS keeps datasets; ~/tensorflow_datasets"
)
_CHANNELS = flags.DEFINE_integer("channels", None, "of every image, where they differ")
_BITS = flags.DEFINE_enum("bits", None, ["8", "16"], "of every image, likewise")
_JPEG_QUALITY = flags.DEFINE_integer("jpeg_quality", 95, "1 to 100")
_PNG_LEVEL = flags.DEFINE_integer("png_level", 6, "zlib's level, 0 to 9")
_WEBP_QUALITY = flags.DEFINE_integer("webp_quality", 90, "0 to 100, of webp-lossy")
_SEED = flags.DEFINE_integer("seed", 0, "of the sample", 0)
_OUTPUT = flags.DEFINE_string("output", None, "write the profile here, for convert")
_REPORT = flags.DEFINE_string("report", None, "write a page of HTML here")
_JSON = flags.DEFINE_bool("json", False, "one JSON object on stdout")


def _say(text: str) -> None:
  print(text, file=sys.stderr, flush=True)


def _print(data: dict) -> None:
  rows = [["format", "an image", "loads/s", "decodes/s", "predicted/s"]]
  for name, entry in data["formats"].items():
    rates = (entry["load"], entry["decode"], entry["predicted"])
    rows.append([name, tool.size(round(entry["bytes"])), *(f"{r:.0f}" for r in rates)])
  _say(tool.table(rows))
  for row in data["what_if"]:
    mix = ", ".join(f"{share:.0%} {name}" for name, share in row["mix"].items())
    _say(f"with {row['change']}: {mix}, {row['gain']:.2f} times as fast")
  convert = data["convert"]
  _say(
    f"converting: {tool.size(round(convert['bytes']))}, about "
    f"{convert['seconds']:.0f} s"
  )
  _say(data["verdict"])
  if data["training"]:
    _say(data["training"]["sentence"])


def main(arguments: list[str]) -> int:
  if arguments:
    raise tool.FlagsError(f"argument ({arguments[0]}) is not used: all are flags")
  crop = tool.pair("crop", _CROP.value)
  image_size = tool.pair("image_size", _IMAGE_SIZE.value)
  # The budgets of dozens of short runs are nobody's concern.
  logging.getLogger("liquid_tf").setLevel(logging.WARNING)
  from liquid_tf._cost import budget
  from liquid_tf._profile.profile import profile
  from liquid_tf.errors import ManifestError, TooNoisyError

  try:
    found = profile(
      _INPUT.value,
      _FORMATS.value,
      directory=_DIRECTORY.value,
      strategy=_STRATEGY.value,
      trials=_TRIALS.value,
      seconds=_SECONDS.value,
      batch_size=_BATCH_SIZE.value,
      threads=_THREADS.value or None,
      cache=tool.amount(_CACHE.value),
      reserve=_RESERVE.value,
      space=_SPACE.value and budget.parse_bytes(_SPACE.value, "space"),
      step_ms=_STEP_MS.value,
      crop=crop,
      image_size=image_size,
      decode=_DECODE.value,
      image_feature=_IMAGE_FEATURE.value,
      tfds_dir=_TFDS_DIR.value,
      channels=_CHANNELS.value,
      bits=_BITS.value and int(_BITS.value),
      jpeg_quality=_JPEG_QUALITY.value,
      png_level=_PNG_LEVEL.value,
      webp_quality=_WEBP_QUALITY.value,
      seed=_SEED.value,
      say=_say,
    )
  except TooNoisyError as error:
    _say(str(error))
    return tool.TOO_NOISY
  except ManifestError:
    raise  # A ValueError too, but not of a flag.
  except ValueError as error:
    raise tool.FlagsError(str(error)) from error
  _print(found.data)
  if _OUTPUT.value:
    found.to_json(_OUTPUT.value)
  if _REPORT.value:
    found.report(_REPORT.value)
  if _JSON.value:
    tool.print_json(found.data)
  return 0


if __name__ == "__main__":
  tool.run(main)
