"""Changes a dataset, in a new version.

  liquid-tf edit photos.liquid --append=more_photos
  liquid-tf edit photos.liquid --annotate=scores.csv --defaults=age:-1
  liquid-tf edit photos.liquid --labels=right.csv
  liquid-tf edit photos.liquid --remove=3,17,20-29
  liquid-tf edit photos.liquid --remove='width < 64'
  liquid-tf edit photos.liquid --compact --forget=older
  liquid-tf edit photos.liquid --jpeg_index=16

Readers keep the version that they opened. --append stores the images as the dataset was
converted. --annotate adds the columns of a table, whose column number or name says
which sample a row is of; --labels gives samples the labels of one. --remove leaves the
records of samples in their shards; --compact writes these shards anew, and --forget
removes older versions after it. --jpeg_index gives JPEG files other entry points, with
which they decode faster: their shards are written anew, and their bytes stay. A change
that was killed leaves the dataset as it was: run the same command again.
"""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from liquid_tf._cost import amounts
from liquid_tf._native.encoders import JPEG_INDEX
from liquid_tf.cli import common_flags, source, tool
from liquid_tf.cli.flag_values import Flags

_FLAGS = Flags()
_FLAGS.string(
  "append",
  None,
  "add these images: a folder, files as data/*.rec, tfds:NAME, hf:NAME, or a dataset",
)
_FLAGS.string(
  "annotate", None, "add the columns of this table, .csv, .jsonl or .parquet"
)
_FLAGS.string(
  "labels", None, "correct labels by this table, with a column label beside the name"
)
_FLAGS.words(
  "defaults", [], "values of samples that the table lacks, by column, as age:-1"
)
_FLAGS.string(
  "remove",
  None,
  "remove samples: numbers as 3,17,20-29, or those for which a condition holds, as "
  "'width < 64 or label == \"blurred\"'",
)
_FLAGS.switch("compact", "write shards anew that hold records of removed samples")
_FLAGS.words(
  "forget",
  [],
  "versions to remove after --compact or --jpeg_index: older, or numbers as 1,2",
)
_FLAGS.choice(
  "jpeg_index",
  None,
  [str(index) for index in JPEG_INDEX],
  "entry points for JPEG files: in each row of MCUs, every 16 or 8 of them, or none",
)
_FLAGS.string(
  "splits", None, "splits to draw for the images of --append, as train:.9,val:.1"
)
_FLAGS.integer("workers", None, "images at a time; by default one a processor")
_FLAGS.integer("shard_size", 64 << 20, "bytes of a shard, roughly")
_FLAGS.switch("json", "one JSON object on stdout")
source.define_added(_FLAGS)
_FLAGS.choice(
  "duplicates",
  "refuse",
  ["refuse", "skip", "add"],
  "what to do with images of --append whose names samples have, or had before they "
  "were removed: refuse them, leave them out, or add them",
)
_FLAGS.choice(
  "existing",
  "resume",
  ["refuse", "resume", "replace"],
  "what happens to an unfinished --append: go on with it, or start over",
)
tool.define_on_error(_FLAGS, "an image that cannot be stored")
common_flags.define_limits(_FLAGS)


def _numbers(given: list[str], flag: str) -> list[int]:
  """The numbers of 3,17,20-29."""
  result: list[int] = []
  for text in given:
    match = re.fullmatch(r"(\d{1,18})(?:-(\d{1,18}))?", text.strip())
    first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
    if last < first or last - first >= 1 << 32:
      raise tool.FlagsError(f"--{flag} ({text}) must be numbers, as 3,17,20-29")
    result += range(first, last + 1)
  return result


def _defaults() -> dict[str, int | float | bool | str]:
  """The values of --defaults, which are what they look like."""
  result = {}
  for text in _FLAGS.defaults:
    name, colon, value = text.rpartition(":")
    if not colon or not name:
      raise tool.FlagsError(f"--defaults ({text}) must be COLUMN:VALUE, as age:-1")
    result[name] = _value(value)
  return result


def _value(text: str) -> int | float | bool | str:
  if text.lower() in ("true", "false"):
    return text.lower() == "true"
  for kind in (int, float):
    try:
      return kind(text)
    except ValueError:
      continue
  return text


def _append(path: str):
  from liquid_tf._edit.append import append

  return append(
    path,
    source.read(_FLAGS, _FLAGS.append),
    splits=_FLAGS.splits,
    duplicates=_FLAGS.duplicates,
    existing=_FLAGS.existing,
    on_error=tool.on_error(_FLAGS),
    workers=_FLAGS.workers,
    shard_size=_FLAGS.shard_size,
    limits=common_flags.limits(_FLAGS),
  )


def _annotate(path: str):
  from liquid_tf._edit.annotate import annotate

  return annotate(path, _FLAGS.annotate, defaults=_defaults())


def _relabel(path: str):
  from liquid_tf._edit.annotate import annotate

  return annotate(path, labels=_FLAGS.labels)


def _remove(path: str):
  from liquid_tf._edit.remove import remove
  from liquid_tf._view.view import open as open_view

  given, view = _FLAGS.remove, open_view(path)
  if re.fullmatch(r"[\d\s,-]+", given):
    return remove(view.take(_numbers(given.split(","), "remove")))
  return remove(view.where(given))


def _compact(path: str):
  from liquid_tf._edit.compact import OLDER, compact

  index, forget = _FLAGS.jpeg_index, _FLAGS.forget or None
  if forget == [OLDER]:
    forget = OLDER
  elif forget:
    forget = _numbers(forget, "forget")
  index = None if index is None else common_flags.index_of(index)
  return compact(path, jpeg_index=index, forget=forget)


class _Change(NamedTuple):
  """One of the changes.

  Attributes:
    work: does it to a dataset's directory, and returns a report.
    done: says it of the samples that it changed.
    flags: of this change only.
  """

  work: Callable[[str], Any]
  done: str
  flags: tuple[str, ...] = ()


_CHANGES = {
  "append": _Change(
    _append,
    "samples added",
    (
      *source.ADDED,
      "duplicates",
      "existing",
      "max_skipped",
      "on_error",
      "shard_size",
      "splits",
      "workers",
    ),
  ),
  "annotate": _Change(_annotate, "samples annotated", ("defaults",)),
  "labels": _Change(_relabel, "labels corrected"),
  "remove": _Change(_remove, "samples removed"),
  "compact": _Change(_compact, "removed records dropped", ("forget",)),
  "jpeg_index": _Change(_compact, "records of jpeg written anew", ("forget",)),
}


def _change() -> _Change:
  """The one change that is asked for."""
  asked = [name for name in _CHANGES if _FLAGS[name].value]
  if len(asked) != 1:
    names = ", ".join(f"--{name}" for name in _CHANGES)
    raise tool.FlagsError(f"one of {names} must be given, and no other")
  for name, change in _CHANGES.items():
    for flag in change.flags:
      if flag not in _CHANGES[asked[0]].flags and _FLAGS[flag].present:
        raise tool.FlagsError(f"--{flag} is of --{name}")
  return _CHANGES[asked[0]]


def _main(arguments: list[str]) -> int:
  if len(arguments) != 1:
    raise tool.FlagsError(f"PATH must be one dataset directory, not {len(arguments)}")
  change = _change()
  report = change.work(arguments[0])
  if _FLAGS.json:
    tool.print_json(report.to_dict())
  tool.say(
    f"{report.changed} {change.done}: version {report.version} of {report.path} has "
    f"{report.samples} samples, {amounts.size(report.bytes)}"
  )
  tool.say_index(report.jpeg_index)
  if report.duplicates:
    tool.say(f"{report.duplicates} images left out: the dataset knows their names")
  for note in report.notes:
    tool.say(note)
  tool.say_skipped(
    report.skipped, report.changed, "files or records", "; the manifest lists them"
  )
  return 0


def _interrupted() -> str:
  return "the dataset is as it was; run the same command again"


COMMAND = tool.Command(
  __doc__,
  _FLAGS,
  _main,
  _interrupted,
  {"source": "append", "table": "annotate", "where": "remove"},
)
