"""Makes a dataset of images, or a new mix of a dataset.

  liquid-tf convert --input=photos --output=photos.liquid --mix=png:6,raw:4
  liquid-tf convert --input=photos --output=photos.liquid --profile=profile.json
  liquid-tf convert --input='data/*.rec' --output=photos.liquid --mix=jpeg
  liquid-tf convert --input=old.liquid --output=new.liquid --mix=l3:1,raw:1

The input is a folder of class folders, of images, or with --masks of images with masks;
files of RecordIO (*.rec); files of TFRecords of tf.train.Examples; tfds:NAME, a dataset
that TFDS prepared; or another dataset. A conversion that was killed goes on with
--resume, and ends in the same bytes.
"""

import os
import shlex

from absl import flags

from liquid_tf.cli import limits, tool

_FLAGS = flags.FlagValues()
flags.DEFINE_string(
  "input",
  None,
  "folder of images, files of records as data/*.rec, tfds:NAME, or a dataset",
  required=True,
  flag_values=_FLAGS,
)
flags.DEFINE_string(
  "output", None, "dataset directory to make", required=True, flag_values=_FLAGS
)
flags.DEFINE_string(
  "mix",
  None,
  "weights of formats, as png:6,raw:4: png, jpeg, webp, webp-lossy, raw, bmp, l3, pcr",
  flag_values=_FLAGS,
)
flags.DEFINE_string(
  "profile",
  None,
  "file that `liquid-tf profile --output` wrote: gives the mix, and what no flag gives "
  "of channels, bits, qualities and PNG level",
  flag_values=_FLAGS,
)
flags.DEFINE_string(
  "image_feature",
  None,
  "Example feature that holds the image (default: image/encoded)",
  flag_values=_FLAGS,
)
flags.DEFINE_string(
  "label_feature",
  None,
  "Example feature that holds the label (default: image/class/label); empty for none",
  flag_values=_FLAGS,
)
flags.DEFINE_list("features", [], "other Example features to keep", flag_values=_FLAGS)
flags.DEFINE_string(
  "tfds_dir",
  None,
  "folder of TFDS datasets (default: ~/tensorflow_datasets)",
  flag_values=_FLAGS,
)
flags.DEFINE_string(
  "masks", None, "folder with a mask for each image", flag_values=_FLAGS
)
flags.DEFINE_string(
  "mask_suffix",
  None,
  "end of a mask's name, as _mask; or the image's and the mask's, as "
  "_leftImg8bit:_gtFine_labelIds",
  flag_values=_FLAGS,
)
flags.DEFINE_string(
  "splits", None, "splits to draw, as train:.9,val:.1", flag_values=_FLAGS
)
flags.DEFINE_integer("seed", 0, "seed of formats, splits and order", flag_values=_FLAGS)
flags.DEFINE_integer(
  "channels", None, "1 to 4, of every image, where they differ", flag_values=_FLAGS
)
flags.DEFINE_enum(
  "bits",
  None,
  ["8", "16", "skip"],
  "bits of every image, where they differ; skip leaves out the less common depth",
  flag_values=_FLAGS,
)
flags.DEFINE_integer(
  "workers", None, "images at a time; by default one a processor", flag_values=_FLAGS
)
flags.DEFINE_string(
  "runner",
  None,
  "convert by Apache Beam: DirectRunner, SparkRunner, FlinkRunner, …",
  flag_values=_FLAGS,
)
flags.DEFINE_string(
  "beam_options",
  "",
  "more options of the Beam pipeline, as '--flink_master=host:1'",
  flag_values=_FLAGS,
)
flags.DEFINE_string(
  "staging",
  None,
  "local folder to make the dataset in, for an --output of s3://, gs://, …",
  flag_values=_FLAGS,
)
flags.DEFINE_integer(
  "shard_size", 64 << 20, "bytes of a shard, roughly", flag_values=_FLAGS
)
flags.DEFINE_bool(
  "resume", False, "go on with an interrupted conversion", flag_values=_FLAGS
)
flags.DEFINE_bool(
  "overwrite", False, "replace the dataset that is there", flag_values=_FLAGS
)
flags.DEFINE_bool(
  "verify", False, "read and check everything at the end", flag_values=_FLAGS
)
flags.DEFINE_bool(
  "replicate", False, "store every sample in every format", flag_values=_FLAGS
)
flags.DEFINE_integer("jpeg_quality", 95, "JPEG quality, 1 to 100", flag_values=_FLAGS)
flags.DEFINE_integer("png_level", 6, "zlib level of PNG, 0 to 9", flag_values=_FLAGS)
flags.DEFINE_integer(
  "webp_quality", 90, "quality of webp-lossy, 0 to 100", flag_values=_FLAGS
)
flags.DEFINE_integer(
  "pcr_images", 64, "images of a record of the format pcr", flag_values=_FLAGS
)
flags.DEFINE_list(
  "pcr_groups",
  None,
  "last scan of each scan group, as 1,2,5,10; by default each scan is a group",
  flag_values=_FLAGS,
)
flags.DEFINE_enum(
  "on_error",
  "raise",
  ["skip", "raise"],
  "what to do with an image that cannot be stored; skip leaves it out and counts it",
  flag_values=_FLAGS,
)
flags.DEFINE_bool("json", False, "one JSON object on stdout", flag_values=_FLAGS)
limits.define(_FLAGS)


def _print(report) -> None:
  rows = [["format", "samples", "on disk", "pixels"]]
  rows += [
    [
      name,
      str(entry["samples"]),
      tool.size(entry["bytes"]),
      tool.size(entry["pixel_bytes"]),
    ]
    for name, entry in report.formats.items()
  ]
  tool.say(tool.table(rows))
  tool.say(f"{report.samples} samples in {report.output}, {report.seconds:.1f} s")
  if report.by_pillow:
    tool.say(f"{report.by_pillow} images were read by Pillow")
  tool.say_skipped(
    report.skipped, report.samples, "files or records", "; the manifest lists them"
  )


def _main(arguments: list[str]) -> int:
  tool.no_arguments(arguments)
  for name in ("input", "output", "masks", "staging", "tfds_dir", "profile"):
    if _FLAGS[name].value == "":
      raise tool.FlagsError(f"--{name} must not be empty")
  if _FLAGS.resume and _FLAGS.overwrite:
    raise tool.FlagsError("--resume and --overwrite exclude each other")
  if os.path.isfile(_FLAGS.input) and _is_image(_FLAGS.input):
    raise tool.FlagsError(
      f"--input ({_FLAGS.input}) is one image: `liquid-tf image` converts it"
    )
  if (_FLAGS.mix is None) == (_FLAGS.profile is None):
    raise tool.FlagsError(
      "--mix, as --mix=png:6,raw:4, or --profile must be given, and not both"
    )
  from liquid_tf.errors import ManifestError

  try:
    report = _convert()
  except ManifestError:
    raise  # A ValueError too, but not of a flag.
  except ValueError as error:
    raise tool.wrong_value(error, _FLAGS, source="input") from error
  if _FLAGS.json:
    tool.print_json(report.to_dict())
  _print(report)
  return 0


def _is_image(path: str) -> bool:
  from liquid_tf._convert import single

  return single.format_of(path) is not None


def _beam() -> list[str] | None:
  if _FLAGS.runner is None:
    if _FLAGS.beam_options:
      raise tool.FlagsError("--beam_options needs --runner")
    return None
  return [f"--runner={_FLAGS.runner}", *shlex.split(_FLAGS.beam_options)]


def _pcr_groups() -> list[int] | None:
  groups = _FLAGS.pcr_groups
  if groups is None:
    return None
  try:
    return [int(group) for group in groups]
  except ValueError:
    raise tool.FlagsError(
      f"--pcr_groups ({','.join(groups)}) must be numbers, as 1,2,5,10"
    ) from None


def _mix_and_encoding():
  """The mix and the encoders' options: a profile's, except for what a flag gives."""
  bits = _FLAGS.bits
  encoding = {
    "channels": _FLAGS.channels,
    "bits": bits if bits in (None, "skip") else int(bits),
    "jpeg_quality": _FLAGS.jpeg_quality,
    "png_level": _FLAGS.png_level,
    "webp_quality": _FLAGS.webp_quality,
  }
  if _FLAGS.profile is None:
    return _FLAGS.mix, encoding
  from liquid_tf._profile.profile import Profile

  found = Profile.from_json(_FLAGS.profile)
  tool.say(f"the profile's advice: {found.verdict}")
  for name, value in found.encoding.items():
    if not _FLAGS[name].present:
      encoding[name] = value
  return found.mix, encoding


def _convert():
  from liquid_tf._convert.convert import convert

  mix, encoding = _mix_and_encoding()
  return convert(
    _FLAGS.input,
    _FLAGS.output,
    mix,
    seed=_FLAGS.seed,
    masks=_FLAGS.masks,
    mask_suffix=_FLAGS.mask_suffix,
    splits=_FLAGS.splits,
    image_feature=_FLAGS.image_feature,
    label_feature=_FLAGS.label_feature,
    features=_FLAGS.features,
    tfds_dir=_FLAGS.tfds_dir,
    workers=_FLAGS.workers,
    beam=_beam(),
    staging=_FLAGS.staging,
    shard_size=_FLAGS.shard_size,
    resume=_FLAGS.resume,
    overwrite=_FLAGS.overwrite,
    verify=_FLAGS.verify,
    replicate=_FLAGS.replicate,
    **encoding,
    pcr_images=_FLAGS.pcr_images,
    pcr_groups=_pcr_groups(),
    on_error=_FLAGS.on_error,
    limits=limits.read(_FLAGS),
  )


def _interrupted() -> str:
  from liquid_tf._convert import output

  # Before anything is begun, --resume would find what is to be replaced.
  if _FLAGS.overwrite and not output.is_begun(_FLAGS.staging or _FLAGS.output):
    return "run the same command again"
  place = " in place of --overwrite" if _FLAGS.overwrite else ""
  return f"run the same command with --resume{place} to go on"


COMMAND = tool.Command(__doc__, _FLAGS, _main, _interrupted)
