"""Makes other files of a dataset: RecordIO, folders, TFRecords, tar files, Parquet.

liquid-tf export --input=photos.liquid --output=photos --to=rec
liquid-tf export --input=photos.liquid --output=photos --to=folder --format=png
liquid-tf export --input=photos.liquid --output=wide --to=folder --where='width > 999'
"""

from liquid_tf._cost import amounts
from liquid_tf.cli import common_flags, tool
from liquid_tf.cli.flag_values import Flags

_FLAGS = Flags()
_FLAGS.string("input", None, "dataset directory", required=True)
_FLAGS.string("output", None, "folder to make", required=True)
_FLAGS.choice(
  "to",
  None,
  ["rec", "folder", "tfrecord", "webdataset", "parquet"],
  "what to make: RecordIO for MXNet and DALI, class folders with a metadata.jsonl, "
  "TFRecords, tar files for webdataset, or Parquet for Hugging Face",
  required=True,
)
_FLAGS.string(
  "format",
  None,
  "format of all images, as png or jpeg; by default PNG and JPEG stay, and others "
  "become PNG",
)
common_flags.define_selection(_FLAGS)
_FLAGS.string(
  "image_feature", None, "Example feature that gets the image (default: image/encoded)"
)
_FLAGS.string(
  "label_feature",
  None,
  "Example feature that gets the label (default: image/class/label)",
)
_FLAGS.integer("workers", None, "images at a time; by default one a processor")
_FLAGS.integer(
  "shard_size", 64 << 20, "bytes of a file of tfrecord, webdataset or parquet, roughly"
)
_FLAGS.switch("json", "one JSON object on stdout")
common_flags.define_encoders(_FLAGS, ("jpeg", "png"), are_records=False)
tool.define_existing(_FLAGS, "an export", can_resume=False)
tool.define_on_error(_FLAGS, "a damaged sample")
common_flags.define_limits(_FLAGS)


def _main(arguments: list[str]) -> int:
  tool.no_arguments(arguments)
  from liquid_tf._export.export import export

  features = {
    name: _FLAGS[name].value
    for name in ("image_feature", "label_feature")
    if _FLAGS[name].present
  }
  report = export(
    common_flags.selection(_FLAGS, _FLAGS.input),
    _FLAGS.output,
    _FLAGS.to,
    image_format=_FLAGS.format,
    shard_size=_FLAGS.shard_size,
    encoders=common_flags.encoders(_FLAGS),
    workers=_FLAGS.workers,
    existing=_FLAGS.existing,
    on_error=tool.on_error(_FLAGS),
    limits=common_flags.limits(_FLAGS),
    **features,
  )
  if _FLAGS.json:
    tool.print_json(report.to_dict())
  formats = ", ".join(f"{count} {name}" for name, count in report.formats.items())
  tool.say(
    f"{sum(report.samples.values())} samples ({formats}, {amounts.size(report.bytes)}) "
    f"in {report.output}, {report.seconds:.1f} s"
  )
  if report.orientations_lost:
    tool.say(
      f"{report.orientations_lost} images have an EXIF orientation, for which their "
      "format has no room: their pixels are as stored, not turned"
    )
  for note in report.notes:
    tool.say(note)
  tool.say_skipped(report.skipped, sum(report.samples.values()), "samples")
  return 0


COMMAND = tool.Command(
  __doc__, _FLAGS, _main, tool.run_again, {"path": "input", "image_format": "format"}
)
