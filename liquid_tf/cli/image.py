"""Turns one image file into another.

  liquid-tf image --input=photo.png --output=photo.l3
  liquid-tf image --input=photo.l3 --output=photo.png

The extension of --output names the format.
"""

import os

from liquid_tf._cost import amounts
from liquid_tf._store.formats import BY_EXTENSION
from liquid_tf.cli import common_flags, tool
from liquid_tf.cli.flag_values import Flags

_FLAGS = Flags()
_FLAGS.string("input", None, "image file", required=True)
_FLAGS.string(
  "output", None, f"file to make, of {', '.join(BY_EXTENSION)}", required=True
)
_FLAGS.integer("channels", None, "1 to 4; by default the image's own")
_FLAGS.integer("l3_version", 2, "version of L3, 1 or 2")
_FLAGS.integer("l3_patch", 0, "side of L3's patches; 0: as the version has it")
_FLAGS.choice(
  "l3_profile",
  "fast",
  ["fast", "compact"],
  "of L3 version 2: compact is smaller, and decodes more slowly",
)
_FLAGS.switch("json", "one JSON object on stdout")
common_flags.define_encoders(_FLAGS, ("jpeg", "png", "l3-compact"), are_records=False)
tool.define_existing(_FLAGS, "a file", can_resume=False)
common_flags.define_limits(_FLAGS)


def _main(arguments: list[str]) -> int:
  tool.no_arguments(arguments)
  for name in ("input", "output"):
    if not _FLAGS[name].value:
      raise tool.FlagsError(f"--{name} must not be empty")
  if not os.path.exists(_FLAGS.input):
    raise tool.FlagsError(f"--input ({_FLAGS.input}) does not exist")
  if os.path.isdir(_FLAGS.input):
    raise tool.FlagsError(
      f"--input ({_FLAGS.input}) is a folder: `liquid-tf convert` makes a dataset of it"
    )
  if _FLAGS.l3_version not in (1, 2):
    raise tool.FlagsError(f"--l3_version ({_FLAGS.l3_version}) must be 1 or 2")
  from liquid_tf._convert import single

  report = single.convert_image(
    _FLAGS.input,
    _FLAGS.output,
    channels=_FLAGS.channels,
    existing=_FLAGS.existing,
    encoders=common_flags.encoders(_FLAGS),
    l3_version=_FLAGS.l3_version,
    l3_patch=_FLAGS.l3_patch,
    l3_profile=_FLAGS.l3_profile,
    limits=common_flags.limits(_FLAGS),
  )
  if _FLAGS.json:
    tool.print_json(report)
  tool.say(
    f"{report['output']}: {' x '.join(map(str, report['shape']))}, {report['bits']} "
    f"bits, {amounts.size(report['bytes'])} "
    f"({report['bytes'] / report['pixel_bytes']:.3f} of the pixels; the source had "
    f"{amounts.size(report['source_bytes'])})"
  )
  if report["by_pillow"]:
    tool.say(f"{report['input']} was read by Pillow")
  if not report["orientation_kept"]:
    tool.say(
      f"{report['format']} has no room for the EXIF orientation of {report['input']}, "
      f"{report['orientation']}: the pixels are stored as they are, not turned"
    )
  return 0


COMMAND = tool.Command(__doc__, _FLAGS, _main, tool.run_again)
