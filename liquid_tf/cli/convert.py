"""Makes a Liquid dataset of images, or other files of one; or converts one image.

  python -m tools.convert --input=photos --output=photos.liquid --mix=png:6,raw:4
  python -m tools.convert --input=photos --output=photos.liquid --profile=profile.json
  python -m tools.convert --input='data/*.rec' --output=photos.liquid --mix=jpeg
  python -m tools.convert --input=photos.liquid --output=photos --export=rec
  python -m tools.convert --input=photo.png --output=photo.l3

The input is a folder of class folders, of images, or with --masks of images with masks;
files of RecordIO (*.rec); files of TFRecords of tf.train.Examples; tfds:NAME, a dataset
that TFDS prepared; or another dataset, for a new mix or with --export for other files.
Started again with --resume, a conversion that was killed ends in the same bytes.
Of a single image, the extension of --output names the format: bmp, jpeg, l3, png, raw
or webp.
"""

import os
import shlex
import sys

from absl import flags

from liquid_tf.cli import tool

_INPUT = flags.DEFINE_string(
  "input",
  None,
  "folder of images, files of records as data/*.rec, tfds:NAME, dataset, or one image",
  required=True,
)
_OUTPUT = flags.DEFINE_string(
  "output", None, "dataset directory, folder to export to, or image file", required=True
)
_EXPORT = flags.DEFINE_enum(
  "export",
  None,
  ["rec", "folder", "tfrecord"],
  "of a dataset: rec, idx and lst for MXNet and DALI; class folders; TFRecords",
)
_EXPORT_FORMAT = flags.DEFINE_enum(
  "export_format",
  None,
  ["png", "jpeg", "webp", "bmp"],
  "of every exported image; by default JPEG stays, and others are PNG",
)
_EXPORT_SPLIT = flags.DEFINE_string("export_split", None, "the only split to export")
_IMAGE_FEATURE = flags.DEFINE_string(
  "image_feature", None, "of an Example, that holds the image; image/encoded"
)
_LABEL_FEATURE = flags.DEFINE_string(
  "label_feature", None, "that holds the label; image/class/label; empty for none"
)
_FEATURES = flags.DEFINE_list("features", [], "of an Example, to keep besides these")
_TFDS_DIR = flags.DEFINE_string(
  "tfds_dir", None, "where TFDS keeps datasets; ~/tensorflow_datasets"
)
_MIX = flags.DEFINE_string(
  "mix",
  None,
  "weights of formats, as png:6,raw:4: png, jpeg, webp, webp-lossy, raw, bmp, l3, pcr",
)
_PROFILE = flags.DEFINE_string(
  "profile",
  None,
  "take the mix, and where no flag gives them channels, qualities and png_level, from "
  "this file, the --output of tools.profile",
)
_MASKS = flags.DEFINE_string("masks", None, "folder with a mask for each image")
_MASK_SUFFIX = flags.DEFINE_string(
  "mask_suffix",
  None,
  "end of a mask's name, as _mask; or of both, as _leftImg8bit:_gtFine_labelIds",
)
_SPLITS = flags.DEFINE_string("splits", None, "splits to draw, as train:.9,val:.1")
_SEED = flags.DEFINE_integer("seed", 0, "of formats, splits and order")
_CHANNELS = flags.DEFINE_integer("channels", None, "of every image, where they differ")
_BITS = flags.DEFINE_enum(
  "bits",
  None,
  ["8", "16", "skip"],
  "of every image, where they differ; skip leaves out those of an uncommon depth",
)
_WORKERS = flags.DEFINE_integer("workers", None, "images at a time; one a processor")
_RUNNER = flags.DEFINE_string(
  "runner", None, "convert by Apache Beam: DirectRunner, SparkRunner, FlinkRunner, …"
)
_BEAM_OPTIONS = flags.DEFINE_string(
  "beam_options", "", "further options of the Beam pipeline, as '--flink_master=host:1'"
)
_STAGING = flags.DEFINE_string(
  "staging", None, "local folder to make a dataset in whose --output is s3://, gs://, …"
)
_SHARD_SIZE = flags.DEFINE_integer("shard_size", 64 << 20, "bytes of a shard, roughly")
_RESUME = flags.DEFINE_bool("resume", False, "go on with an interrupted conversion")
_OVERWRITE = flags.DEFINE_bool("overwrite", False, "replace the output")
_VERIFY = flags.DEFINE_bool("verify", False, "read and check everything at the end")
_REPLICATE = flags.DEFINE_bool("replicate", False, "every sample in every format")
_JPEG_QUALITY = flags.DEFINE_integer("jpeg_quality", 95, "1 to 100")
_PNG_LEVEL = flags.DEFINE_integer("png_level", 6, "zlib's level, 0 to 9")
_WEBP_QUALITY = flags.DEFINE_integer("webp_quality", 90, "0 to 100, of webp-lossy")
_PCR_IMAGES = flags.DEFINE_integer("pcr_images", 64, "of a record of the format pcr")
_PCR_GROUPS = flags.DEFINE_list(
  "pcr_groups", None, "last scan of each scan group, as 1,2,5,10; a group a scan"
)
_L3_VERSION = flags.DEFINE_integer("l3_version", 2, "1 or 2, of a single .l3")
_L3_PATCH = flags.DEFINE_integer(
  "l3_patch", 0, "side of the patches of a single .l3; 0: by the version's rule"
)
_ON_ERROR = flags.DEFINE_enum(
  "on_error",
  "raise",
  ["skip", "raise"],
  "what a sample does that cannot be stored; skip leaves it out and counts it",
)
_MAX_PIXELS = flags.DEFINE_integer("max_pixels", 1 << 28, "of an image, at most")
_MAX_SCANS = flags.DEFINE_integer("max_scans", 100, "of a JPEG, at most")
_JSON = flags.DEFINE_bool("json", False, "one JSON object on stdout")


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
  print(tool.table(rows), file=sys.stderr)
  print(
    f"{report.samples} samples in {report.output}, {report.seconds:.1f} s",
    file=sys.stderr,
  )
  _print_skipped(report.skipped, "files or records", "; the manifest lists them")
  if report.by_pillow:
    print(f"{report.by_pillow} images were read by Pillow", file=sys.stderr)


def _print_skipped(skipped: list[dict[str, str]], what: str, where: str = "") -> None:
  for one in skipped[:5]:
    print(f"skipped {one['path']}: {one['reason']}", file=sys.stderr)
  if len(skipped) > 5:
    print(f"skipped {len(skipped)} {what} in all{where}", file=sys.stderr)


def main(arguments: list[str]) -> int:
  if arguments:
    raise tool.FlagsError(f"argument ({arguments[0]}) is not used: all are flags")
  for flag in (_INPUT, _OUTPUT, _MASKS, _STAGING, _TFDS_DIR, _PROFILE):
    if flag.value == "":
      raise tool.FlagsError(f"--{flag.name} must not be empty")
  if _RESUME.value and _OVERWRITE.value:
    raise tool.FlagsError("--resume and --overwrite exclude each other")
  from liquid_tf._convert.convert import convert
  from liquid_tf.errors import ManifestError

  if _EXPORT.value is not None:
    return _export()
  if _is_image():
    return _convert_image()
  _refuse(_OF_EXPORTS - _OF_DATASETS, "is of --export")
  _refuse(_OF_IMAGES - _OF_DATASETS, "is of a single image, and --input is none")
  if _MIX.value is None and _PROFILE.value is None and _is_missing_image():
    raise tool.FlagsError(f"--input ({_INPUT.value}) does not exist")
  if (_MIX.value is None) == (_PROFILE.value is None):
    raise tool.FlagsError(
      "--mix, as --mix=png:6,raw:4, or --profile must be given, and not both"
    )
  try:
    report = _convert(convert)
  except ManifestError:
    raise  # A ValueError too, but not of a flag.
  except ValueError as error:
    raise tool.FlagsError(str(error)) from error
  if _JSON.value:
    tool.print_json(report.to_dict())
  _print(report)
  return 0


def _is_image() -> bool:
  """Whether a single image is to be converted, and not a file of records."""
  from liquid_tf._convert import single

  if not os.path.isfile(_INPUT.value) or _INPUT.value.endswith(".rec"):
    return False
  if _PROFILE.value is not None:
    return False
  return _MIX.value is None or single.format_of(_OUTPUT.value) is not None


def _is_missing_image() -> bool:
  from liquid_tf._convert import single

  wanted = single.format_of(_INPUT.value) and single.format_of(_OUTPUT.value)
  return bool(wanted) and not os.path.exists(_INPUT.value)


def _beam() -> list[str] | None:
  if _RUNNER.value is None:
    if _BEAM_OPTIONS.value:
      raise tool.FlagsError("--beam_options needs --runner")
    return None
  return [f"--runner={_RUNNER.value}", *shlex.split(_BEAM_OPTIONS.value)]


def _names() -> set[str]:
  module = sys.modules[__name__]
  return {flag.name for flag in flags.FLAGS.get_key_flags_for_module(module)}


def _refuse(names: set[str], why: str) -> None:
  """Raises FlagsError if one of these flags was given."""
  for name in sorted(names):
    if flags.FLAGS[name].present:
      raise tool.FlagsError(f"--{name} {why}")


# What a single image, an export and a conversion take of the flags above.
_OF_IMAGES = set(
  (
    "input output channels overwrite png_level jpeg_quality l3_version l3_patch "
    "max_pixels max_scans json"
  ).split()
)
_OF_EXPORTS = set(
  (
    "input output export export_format export_split image_feature label_feature "
    "workers shard_size overwrite jpeg_quality png_level on_error max_pixels "
    "max_scans json"
  ).split()
)
_OF_DATASETS = _names() - set(
  "export export_format export_split l3_version l3_patch".split()
)


def _limits():
  from liquid_tf import Limits

  return Limits(pixels=_MAX_PIXELS.value, scans=_MAX_SCANS.value)


def _convert_image() -> int:
  from liquid_tf._convert import single

  _refuse(_names() - _OF_IMAGES, "must not be given for a single image")
  if _L3_VERSION.value not in (1, 2):
    raise tool.FlagsError(f"--l3_version ({_L3_VERSION.value}) must be 1 or 2")
  try:
    report = single.convert_image(
      _INPUT.value,
      _OUTPUT.value,
      channels=_CHANNELS.value,
      overwrite=_OVERWRITE.value,
      png_level=_PNG_LEVEL.value,
      jpeg_quality=_JPEG_QUALITY.value,
      l3_version=_L3_VERSION.value,
      l3_patch=_L3_PATCH.value,
      limits=_limits(),
    )
  except ValueError as error:
    raise tool.FlagsError(str(error)) from error
  if _JSON.value:
    tool.print_json(report)
  print(
    f"{report['output']}: {' x '.join(map(str, report['shape']))}, {report['bits']} "
    f"bits, {tool.size(report['bytes'])} "
    f"({report['bytes'] / report['pixel_bytes']:.3f} of the pixels; the source had "
    f"{tool.size(report['source_bytes'])})",
    file=sys.stderr,
  )
  if report["by_pillow"]:
    print(f"{report['input']} was read by Pillow", file=sys.stderr)
  if not report["orientation_kept"]:
    print(
      f"{report['format']} has no room for the EXIF orientation of {report['input']}, "
      f"{report['orientation']}: the pixels are stored as they are, not turned",
      file=sys.stderr,
    )
  return 0


def _export() -> int:
  from liquid_tf._export.export import export
  from liquid_tf.errors import ManifestError

  _refuse(_names() - _OF_EXPORTS, "must not be given with --export")
  options = {
    name: flags.FLAGS[name].value
    for name in ("image_feature", "label_feature")
    if flags.FLAGS[name].present
  }
  try:
    report = export(
      _INPUT.value,
      _OUTPUT.value,
      _EXPORT.value,
      split=_EXPORT_SPLIT.value,
      image_format=_EXPORT_FORMAT.value,
      shard_size=_SHARD_SIZE.value,
      jpeg_quality=_JPEG_QUALITY.value,
      png_level=_PNG_LEVEL.value,
      workers=_WORKERS.value,
      overwrite=_OVERWRITE.value,
      on_error=_ON_ERROR.value,
      limits=_limits(),
      **options,
    )
  except ManifestError:
    raise  # A ValueError too, but not of a flag.
  except ValueError as error:
    raise tool.FlagsError(str(error)) from error
  if _JSON.value:
    tool.print_json(report.to_dict())
  formats = ", ".join(f"{count} {name}" for name, count in report.formats.items())
  print(
    f"{sum(report.samples.values())} samples ({formats}, {tool.size(report.bytes)}) in "
    f"{report.output}, {report.seconds:.1f} s",
    file=sys.stderr,
  )
  _print_skipped(report.skipped, "samples")
  if report.orientations_lost:
    print(
      f"{report.orientations_lost} images have an EXIF orientation, for which their "
      "format has no room: their pixels are as stored, not turned",
      file=sys.stderr,
    )
  return 0


def _pcr_groups() -> list[int] | None:
  groups = _PCR_GROUPS.value
  if groups is None:
    return None
  try:
    return [int(group) for group in groups]
  except ValueError:
    raise tool.FlagsError(
      f"--pcr_groups ({','.join(groups)}) must be numbers, as 1,2,5,10"
    ) from None


def _mix_and_encoding():
  """The mix and the encoders' options: a profile's, but for what a flag gives."""
  encoding = {
    "channels": _CHANNELS.value,
    "bits": _BITS.value if _BITS.value in (None, "skip") else int(_BITS.value),
    "jpeg_quality": _JPEG_QUALITY.value,
    "png_level": _PNG_LEVEL.value,
    "webp_quality": _WEBP_QUALITY.value,
  }
  if _PROFILE.value is None:
    return _MIX.value, encoding
  from liquid_tf._profile.profile import Profile

  found = Profile.from_json(_PROFILE.value)
  print(f"the profile's advice: {found.verdict}", file=sys.stderr)
  for name, value in found.encoding.items():
    if not flags.FLAGS[name].present:
      encoding[name] = value
  return found.mix, encoding


def _convert(convert):
  mix, encoding = _mix_and_encoding()
  return convert(
    _INPUT.value,
    _OUTPUT.value,
    mix,
    seed=_SEED.value,
    masks=_MASKS.value,
    mask_suffix=_MASK_SUFFIX.value,
    splits=_SPLITS.value,
    image_feature=_IMAGE_FEATURE.value,
    label_feature=_LABEL_FEATURE.value,
    features=_FEATURES.value,
    tfds_dir=_TFDS_DIR.value,
    workers=_WORKERS.value,
    beam=_beam(),
    staging=_STAGING.value,
    shard_size=_SHARD_SIZE.value,
    resume=_RESUME.value,
    overwrite=_OVERWRITE.value,
    verify=_VERIFY.value,
    replicate=_REPLICATE.value,
    **encoding,
    pcr_images=_PCR_IMAGES.value,
    pcr_groups=_pcr_groups(),
    on_error=_ON_ERROR.value,
    limits=_limits(),
  )


def _after_interrupt() -> str:
  from liquid_tf._convert import output

  # Before anything is begun, --resume would find what is to be replaced.
  again = _OVERWRITE.value and not output.is_begun(_STAGING.value or _OUTPUT.value)
  if again or _EXPORT.value is not None or _is_image():
    return "run the same command again"
  place = " in place of --overwrite" if _OVERWRITE.value else ""
  return f"run the same command with --resume{place} to go on"


if __name__ == "__main__":
  tool.run(main, resume=_after_interrupt)
