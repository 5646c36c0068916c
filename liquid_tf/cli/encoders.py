"""The flags of encoders' options, by format."""

from collections.abc import Sequence
from typing import Any

from liquid_tf.cli import tool
from liquid_tf.cli.flag_values import Flags

_EFFORT = "l3_effort"

# Flag: format, option, default, what it is.
_FLAGS = {
  "jpeg_quality": ("jpeg", "quality", 95, "JPEG quality, 1 to 100"),
  "png_level": ("png", "level", 6, "zlib level of PNG, 0 to 9"),
  "webp_quality": ("webp-lossy", "quality", 90, "quality of webp-lossy, 0 to 100"),
  _EFFORT: (
    "l3-compact",
    "effort",
    "default",
    "what the encoder of l3-compact spends on finding the smallest file",
  ),
  "pcr_images": ("pcr", "images", 64, "images of a record of the format pcr"),
}
_GROUPS = "pcr_groups"


def define(values: Flags, formats: Sequence[str]) -> None:
  """Defines the flags of some formats."""
  for name, (target, _, default, about) in _FLAGS.items():
    if target not in formats:
      continue
    if name == _EFFORT:
      values.choice(name, default, ["fast", "default", "best"], about)
    else:
      values.integer(name, default, about)
  if "pcr" in formats:
    values.words(
      _GROUPS,
      None,
      "last scan of each scan group, as 1,2,5,10; by default each scan is a group",
    )


def read(values: Flags, *, only_given: bool = False) -> dict[str, dict[str, Any]]:
  """The value of `encoders=`.

  Args:
    values: of the command.
    only_given: whether to leave out flags that were not given.

  Raises:
    tool.FlagsError: scan groups are no numbers.
  """
  result: dict[str, dict[str, Any]] = {}
  for name, (target, option, _, _) in _FLAGS.items():
    if name in values and (values[name].present or not only_given):
      result.setdefault(target, {})[option] = values[name].value
  groups = values[_GROUPS].value if _GROUPS in values else None
  if groups is not None:
    try:
      result.setdefault("pcr", {})["groups"] = [int(group) for group in groups]
    except ValueError:
      raise tool.FlagsError(
        f"--{_GROUPS} ({','.join(groups)}) must be numbers, as 1,2,5,10"
      ) from None
  return result
