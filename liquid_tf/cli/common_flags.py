"""Flags that several commands have, each group beside the function that reads it."""

import json
import os
import pathlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from liquid_tf._native.encoders import JPEG_INDEX
from liquid_tf._native.limits import Limits
from liquid_tf.cli import tool
from liquid_tf.cli.flag_values import Flags

if TYPE_CHECKING:
  from liquid_tf._view.view import View

_SELECTION = ("split", "where", "version")


_EFFORT = "l3_effort"

# Flag: format, option, default, what it is.
_ENCODERS: dict[str, tuple[str, str, int | str | None, str]] = {
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
  "jpeg_index": (
    "jpeg",
    "index",
    None,
    "entry points beside a JPEG file, with which it decodes faster: in each row of "
    "MCUs, every 16 or 8 of them, or none (default: 16; none with --check=headers)",
  ),
  "jpeg_progressive": (
    "jpeg",
    "progressive",
    "keep",
    "what becomes of a progressive JPEG file: keep its bytes, or make it baseline, of "
    "the same coefficients, since it decodes faster so",
  ),
}
# Words of a flag that is no number.
_WORDS = {
  _EFFORT: ["fast", "default", "best"],
  "jpeg_index": [str(index) for index in JPEG_INDEX],
  "jpeg_progressive": ["keep", "baseline"],
}
# Of records alone, since what is no dataset has files.
_OF_RECORDS = ("jpeg_index", "jpeg_progressive")
_GROUPS = "pcr_groups"


def define_selection(values: Flags) -> None:
  """Defines --split, --where and --version."""
  values.string(
    "split", None, "samples of a dataset: splits, or slices, as train[:10%]+val"
  )
  values.string(
    "where",
    None,
    "samples of a dataset for which this holds, as "
    "'height >= 256 and label == \"owl\"'",
  )
  values.integer("version", None, "of a dataset; by default the newest", 1)


def selection(values: Flags, path: str) -> "str | View":
  """The samples that the flags choose; the path where they choose none.

  Raises:
    ManifestError: they are given, and the path is no sound dataset.
    ValueError: one is wrong, or no sample is chosen.
  """
  if not any(values[name].present for name in _SELECTION):
    return path
  from liquid_tf._view import view as views

  view = views.open(path, values.version)
  if values.split is not None:
    view = view.split(values.split)
  if values.where is not None:
    view = view.where(values.where)
  return view


def define_encoders(
  values: Flags, formats: Sequence[str], *, are_records: bool = True
) -> None:
  """Defines the flags of some formats; see `encoders.resolve`."""
  for name, (target, _, default, about) in _ENCODERS.items():
    if target not in formats or (name in _OF_RECORDS and not are_records):
      continue
    if name in _WORDS:
      values.choice(name, default, _WORDS[name], about)
    else:
      values.integer(name, default, about)
  if "pcr" in formats:
    values.words(
      _GROUPS,
      None,
      "last scan of each scan group, as 1,2,5,10; by default each scan is a group",
    )


def encoders(values: Flags, *, only_given: bool = False) -> dict[str, dict[str, Any]]:
  """The value of `encoders=`.

  Args:
    values: of the command.
    only_given: whether to leave out flags that were not given.

  Raises:
    tool.FlagsError: scan groups are no numbers.
  """
  result: dict[str, dict[str, Any]] = {}
  for name, (target, option, _, _) in _ENCODERS.items():
    if name not in values or (only_given and not values[name].present):
      continue
    value = values[name].value
    if value is not None:
      value = index_of(value) if option == "index" else value
      result.setdefault(target, {})[option] = value
  groups = values[_GROUPS].value if _GROUPS in values else None
  if groups is not None:
    try:
      result.setdefault("pcr", {})["groups"] = [int(group) for group in groups]
    except ValueError:
      raise tool.FlagsError(
        f"--{_GROUPS} ({','.join(groups)}) must be numbers, as 1,2,5,10"
      ) from None
  return result


def index_of(word: str) -> int | str:
  """An index of entry points, as the package takes it, of its word."""
  return int(word) if word.isdigit() else word


def define_limits(values: Flags) -> None:
  """Defines --max_pixels and --max_scans."""
  usual = Limits()
  values.integer(
    "max_pixels",
    usual.pixels,
    "height times width of the largest image that is decoded",
  )
  values.integer(
    "max_scans",
    usual.scans,
    "most scans of a JPEG that is decoded; each costs a pass over the image",
  )


def limits(values: Flags) -> Limits:
  """The limits that the flags say; raises ValueError where one is out of its range."""
  return Limits(pixels=values.max_pixels, scans=values.max_scans)


def define_results(values: Flags, *, report: bool = True) -> None:
  """Defines where a result goes: --output, --json and --report."""
  values.string("output", None, "write the JSON here too")
  values.switch("json", "print one JSON object to stdout")
  if report:
    values.string("report", None, "page of Markdown that gets the result as a section")


def define_rounds(values: Flags) -> None:
  """Defines --rounds."""
  values.integer("rounds", 2, "processes of each kind, in turn", 1)


def define_threads(values: Flags) -> None:
  """Defines --threads."""
  values.integer("threads", 0, "threads of tf.data; 0: one a processor", 0)


def define_batch_size(values: Flags) -> None:
  """Defines --batch_size."""
  values.integer("batch_size", 32, "images in a batch", 1)


def threads(values: Flags) -> int:
  """The value of --threads: by default the processors there are."""
  return values.threads or len(os.sched_getaffinity(0))


def finish(values: Flags, result: dict[str, Any]) -> int:
  """Writes a result where --output and --json say; returns the exit code."""
  if values.output:
    pathlib.Path(values.output).write_text(json.dumps(result, indent=1) + "\n")
  if values.json:
    tool.print_json(result)
  return 0
