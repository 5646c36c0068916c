"""Makes other files of a dataset: RecordIO, class folders or TFRecords.

liquid-tf export --input=photos.liquid --output=photos --to=rec
liquid-tf export --input=photos.liquid --output=photos --to=folder --format=png
"""

from absl import flags

from liquid_tf.cli import limits, tool

_FLAGS = flags.FlagValues()
flags.DEFINE_string(
  "input", None, "dataset directory", required=True, flag_values=_FLAGS
)
flags.DEFINE_string("output", None, "folder to make", required=True, flag_values=_FLAGS)
flags.DEFINE_enum(
  "to",
  None,
  ["rec", "folder", "tfrecord"],
  "what to make: RecordIO for MXNet and DALI, class folders, or TFRecords",
  required=True,
  flag_values=_FLAGS,
)
flags.DEFINE_string(
  "format",
  None,
  "format of the images, as png or jpeg; by default as they are stored",
  flag_values=_FLAGS,
)
flags.DEFINE_string("split", None, "one split; by default all", flag_values=_FLAGS)
flags.DEFINE_string(
  "image_feature",
  None,
  "Example feature that gets the image (default: image/encoded)",
  flag_values=_FLAGS,
)
flags.DEFINE_string(
  "label_feature",
  None,
  "Example feature that gets the label (default: image/class/label)",
  flag_values=_FLAGS,
)
flags.DEFINE_integer(
  "workers", None, "images at a time; by default one a processor", flag_values=_FLAGS
)
flags.DEFINE_integer(
  "shard_size", 64 << 20, "bytes of a file of records, roughly", flag_values=_FLAGS
)
flags.DEFINE_bool(
  "overwrite", False, "replace the export that is there", flag_values=_FLAGS
)
flags.DEFINE_integer("jpeg_quality", 95, "JPEG quality, 1 to 100", flag_values=_FLAGS)
flags.DEFINE_integer("png_level", 6, "zlib level of PNG, 0 to 9", flag_values=_FLAGS)
flags.DEFINE_enum(
  "on_error",
  "skip",
  ["skip", "raise"],
  "what to do with a damaged sample; skip leaves it out and counts it",
  flag_values=_FLAGS,
)
flags.DEFINE_bool("json", False, "one JSON object on stdout", flag_values=_FLAGS)
limits.define(_FLAGS)


def _main(arguments: list[str]) -> int:
  tool.no_arguments(arguments)
  from liquid_tf._export.export import export
  from liquid_tf.errors import ManifestError

  features = {
    name: _FLAGS[name].value
    for name in ("image_feature", "label_feature")
    if _FLAGS[name].present
  }
  try:
    report = export(
      _FLAGS.input,
      _FLAGS.output,
      _FLAGS.to,
      split=_FLAGS.split,
      image_format=_FLAGS.format,
      shard_size=_FLAGS.shard_size,
      jpeg_quality=_FLAGS.jpeg_quality,
      png_level=_FLAGS.png_level,
      workers=_FLAGS.workers,
      overwrite=_FLAGS.overwrite,
      on_error=_FLAGS.on_error,
      limits=limits.read(_FLAGS),
      **features,
    )
  except ManifestError:
    raise  # A ValueError too, but not of a flag.
  except ValueError as error:
    raise tool.wrong_value(error, _FLAGS, image_format="format") from error
  if _FLAGS.json:
    tool.print_json(report.to_dict())
  formats = ", ".join(f"{count} {name}" for name, count in report.formats.items())
  tool.say(
    f"{sum(report.samples.values())} samples ({formats}, {tool.size(report.bytes)}) in "
    f"{report.output}, {report.seconds:.1f} s"
  )
  if report.orientations_lost:
    tool.say(
      f"{report.orientations_lost} images have an EXIF orientation, for which their "
      "format has no room: their pixels are as stored, not turned"
    )
  tool.say_skipped(report.skipped, sum(report.samples.values()), "samples")
  return 0


def _interrupted() -> str:
  return "run the same command again"


COMMAND = tool.Command(__doc__, _FLAGS, _main, _interrupted)
