"""Makes a dataset of images, or a new mix of a dataset.

  liquid-tf convert --input=photos --output=photos.liquid --mix=png:6,raw:4
  liquid-tf convert --input=photos --output=photos.liquid --profile=profile.json
  liquid-tf convert --input='data/*.rec' --output=photos.liquid --mix=jpeg
  liquid-tf convert --input=old.liquid --output=new.liquid --mix=l3:1,raw:1
  liquid-tf convert --input=s3://a/photos --output=s3://b/photos.liquid --mix=png

The input is a folder of class folders, of images, or with --masks of images with masks;
files of RecordIO (*.rec), of Parquet (*.parquet), or of TFRecords of tf.train.Examples;
a ZIP or tar archive of such a folder, or tar archives of webdataset; tfds:NAME or
hf:NAME, a dataset that TFDS prepared, or that is in a cache of Hugging Face; or another
dataset. All but these two may be of s3://, and files and datasets of https://. An
output of s3:// or gs:// gets each shard as soon as it is made. A conversion that was
killed goes on with --existing=resume, and ends in the same bytes.
"""

import os
import shlex

from liquid_tf._cost import amounts
from liquid_tf._store.mix import TARGETS
from liquid_tf._words import few, setting
from liquid_tf.cli import common_flags, source, tool
from liquid_tf.cli.flag_values import Flags

_FLAGS = Flags()
_FLAGS.string("output", None, "dataset directory to make", required=True)
_FLAGS.string(
  "mix",
  None,
  f"weights of formats, as png:6,raw:4: {', '.join(TARGETS)}",
)
_FLAGS.string(
  "profile",
  None,
  "file that `liquid-tf profile --output` wrote: gives the mix, and what no flag gives "
  "of channels, bits, qualities, PNG level and effort",
)
_FLAGS.switch("orient", "turn every image as its EXIF says")
_FLAGS.integer(
  "resize_shorter", None, "resize every image to that shorter side, in pixels"
)
_FLAGS.integer("resize_longer", None, "likewise, to that longer side")
_FLAGS.string("splits", None, "splits to draw, as train:.9,val:.1")
_FLAGS.integer("seed", 0, "seed of formats, splits and order")
_FLAGS.integer("workers", None, "images at a time; by default one a processor")
_FLAGS.string(
  "runner", None, "convert by Apache Beam: DirectRunner, SparkRunner, FlinkRunner, …"
)
_FLAGS.string(
  "beam_options", "", "more options of the Beam pipeline, as '--flink_master=host:1'"
)
_FLAGS.string(
  "staging",
  None,
  "local folder of what is not yet sent to an --output of s3:// or gs://; by default "
  "one in ~/.cache/liquid_tf",
)
_FLAGS.integer("shard_size", 64 << 20, "bytes of a shard, roughly")
_FLAGS.switch("verify", "read and check everything at the end")
_FLAGS.switch(
  "dry_run",
  "write nothing: say what the dataset would hold, its bytes, and the time, from "
  "encodings of a sample",
)
_FLAGS.switch("replicate", "store every sample in every format")
_FLAGS.switch("json", "one JSON object on stdout")
source.define(_FLAGS, whole=True)
common_flags.define_encoders(_FLAGS, ("jpeg", "png", "webp-lossy", "l3-compact", "pcr"))
tool.define_existing(_FLAGS, "a dataset", can_resume=True)
tool.define_on_error(_FLAGS, "an image that cannot be stored")
_FLAGS.choice(
  "check",
  "pixels",
  ["pixels", "headers"],
  "what is checked of every image; headers is for copies of files, and decodes none",
)
common_flags.define_limits(_FLAGS)


# Names of splits and classes that are said.
_NAMED = 8


def _counts(samples: dict[str, int]) -> str:
  return few([f"{name} {count}" for name, count in samples.items()], _NAMED)


def _print(report) -> None:
  rows = [["format", "samples", "on disk", "pixels"]]
  rows += [
    [
      name,
      str(entry["samples"]),
      amounts.size(entry["bytes"]),
      amounts.size(entry["pixel_bytes"]),
    ]
    for name, entry in report.formats.items()
  ]
  tool.say(tool.table(rows))
  tool.say(f"{report.samples} samples in {report.output}, {report.seconds:.1f} s")
  tool.say(f"splits: {_counts(report.splits)}")
  if report.classes:
    tool.say(f"{len(report.classes)} classes: {_counts(report.classes)}")
  tool.say_index(report.jpeg_index)
  if report.by_pillow:
    tool.say(f"{report.by_pillow} images were read by Pillow")
  for note in report.notes:
    tool.say(note)
  tool.say_skipped(
    report.skipped, report.samples, "files or records", "; the manifest lists them"
  )


def _size(estimate) -> str:
  if estimate.low == estimate.high:
    return amounts.size(estimate.bytes)
  ends = " to ".join(map(amounts.size, (estimate.low, estimate.high)))
  return f"{amounts.size(estimate.bytes)} ({ends})"


def _print_dry(report) -> None:
  rows = [["format", "samples", "on disk"]]
  rows += [[name, str(one.samples), _size(one)] for name, one in report.formats.items()]
  rows.append(["all", str(report.total.samples), _size(report.total)])
  tool.say(tool.table(rows))
  tool.say(
    f"{report.samples} samples, some {report.seconds:.0f} s; {report.checked} were "
    "encoded, and nothing was written"
  )
  tool.say(f"splits: {_counts(report.splits)}")
  if report.classes:
    known = None not in report.classes.values()
    names = _counts(report.classes) if known else few(list(report.classes), _NAMED)
    tool.say(f"{len(report.classes)} classes: {names}")
  tool.say(f"kinds among the encoded: {_counts(report.kinds)}")
  for one in report.bad[:_NAMED]:
    tool.say(f"cannot be stored: {one['path']}: {one['reason']}")
  if report.bad_count:
    tool.say(f"{report.bad_count} of {report.checked} cannot be stored")
  tool.say_skipped(report.skipped, report.samples, "files or records")


def _main(arguments: list[str]) -> int:
  tool.no_arguments(arguments)
  for name in (
    "input",
    "output",
    "masks",
    "staging",
    "tfds_dir",
    "profile",
  ):
    if _FLAGS[name].value == "":
      raise tool.FlagsError(f"--{name} must not be empty")
  if os.path.isfile(_FLAGS.input) and _is_image(_FLAGS.input):
    raise tool.FlagsError(
      f"--input ({_FLAGS.input}) is one image: `liquid-tf image` converts it"
    )
  if (_FLAGS.mix is None) == (_FLAGS.profile is None):
    raise tool.FlagsError(
      "--mix, as --mix=png:6,raw:4, or --profile must be given, and not both"
    )
  if _FLAGS.profile and not os.path.isfile(_FLAGS.profile):
    raise tool.FlagsError(
      f"--profile ({_FLAGS.profile}) does not exist: `liquid-tf profile "
      f"--input={_FLAGS.input} --output={_FLAGS.profile}` makes it"
    )
  if _FLAGS.dry_run and _FLAGS.verify:
    raise tool.FlagsError("--dry_run makes nothing that --verify could read")
  report = _convert()
  if _FLAGS.dry_run:
    if _FLAGS.json:
      tool.print_json(report.to_dict())
    _print_dry(report)
    return 0
  if _FLAGS.verify:
    _verify(report.output)
  if _FLAGS.json:
    tool.print_json(report.to_dict())
  _print(report)
  return 0


def _is_image(path: str) -> bool:
  from liquid_tf._convert import single

  return single.format_of(path) is not None


def _workers():
  """Images at a time, or the options of the Beam pipeline that --runner asks for."""
  if _FLAGS.runner is None:
    if _FLAGS.beam_options:
      raise tool.FlagsError("--beam_options needs --runner")
    return _FLAGS.workers
  if _FLAGS.workers is not None:
    raise tool.FlagsError("--workers and --runner exclude each other")
  return [f"--runner={_FLAGS.runner}", *shlex.split(_FLAGS.beam_options)]


def _profiled() -> tuple[str | dict[str, float], list, dict]:
  """Mix, transforms and encoders: a profile's, except for what a flag gives."""
  if _FLAGS.profile is None:
    return _FLAGS.mix, source.steps(_FLAGS), common_flags.encoders(_FLAGS)
  from liquid_tf._profile.profile import Profile

  found = Profile.from_json(_FLAGS.profile)
  tool.say(f"the profile's advice: {found.verdict}")
  options = found.encoders
  for name, given in common_flags.encoders(_FLAGS, only_given=True).items():
    options[name] = options.get(name, {}) | given
  return found.mix, source.steps(_FLAGS, found.transforms), options


def _geometry() -> list:
  """The steps that move pixels."""
  from liquid_tf.transforms import Orient, Resize

  steps: list = [Orient()] if _FLAGS.orient else []
  shorter, longer = _FLAGS.resize_shorter, _FLAGS.resize_longer
  if shorter is not None and longer is not None:
    raise tool.FlagsError("--resize_shorter and --resize_longer exclude each other")
  for name, side in (("resize_shorter", shorter), ("resize_longer", longer)):
    if side is not None and side < 1:
      raise tool.FlagsError(f"--{name} ({side}) must be a number of pixels, at least 1")
  if shorter is not None or longer is not None:
    steps.append(Resize(shorter=shorter, longer=longer))
  return steps


def _convert():
  from liquid_tf._convert.convert import convert

  mix, transforms, options = _profiled()
  return convert(
    source.read(_FLAGS),
    _FLAGS.output,
    mix,
    seed=_FLAGS.seed,
    splits=_FLAGS.splits,
    transforms=[*_geometry(), *transforms],
    encoders=options,
    replicate=_FLAGS.replicate,
    existing=_FLAGS.existing,
    on_error=tool.on_error(_FLAGS),
    check=_FLAGS.check,
    workers=_workers(),
    staging=_FLAGS.staging,
    shard_size=_FLAGS.shard_size,
    limits=common_flags.limits(_FLAGS),
    dry_run=_FLAGS.dry_run,
  )


def _verify(path: str) -> None:
  from liquid_tf._view.inspection import verify
  from liquid_tf.errors import ConvertError

  problems = verify(path, limits=common_flags.limits(_FLAGS), progress=True)["problems"]
  if problems:
    raise ConvertError(
      f"{path} is damaged ({len(problems)} problems): {problems[0]}; convert again "
      f"with {setting('existing', 'replace')}"
    )


def _interrupted() -> str:
  from liquid_tf._convert import output
  from liquid_tf._convert.stores.open import staging_folder
  from liquid_tf._store import storage

  folder = _FLAGS.output
  if storage.is_remote(folder):
    folder = staging_folder(folder, _FLAGS.staging)
  # Before anything is begun, --existing=resume would find what is to be replaced.
  replaces = _FLAGS.existing == "replace"
  if replaces and not output.is_begun(folder):
    return "run the same command again"
  place = " in place of --existing=replace" if replaces else ""
  return f"run the same command with --existing=resume{place} to go on"


COMMAND = tool.Command(__doc__, _FLAGS, _main, _interrupted)
