"""Options of the encoders, by format."""

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

from liquid_tf._native import whole
from liquid_tf.errors import WrongArgument

Option = int | str | Sequence[int] | None
Encoders = Mapping[str, Mapping[str, Option]]

# All that `encoders["jpeg"]["index"]` may be, and the entries' distance in MCUs for the
# ops, where 0 is a row and -1 is for no index.
JPEG_INDEX = {"row": 0, 16: 16, 8: 8, "none": -1}

# Format, option: its default, least and most; or its default and all that it may be.
_OPTIONS = {
  "jpeg": {
    "quality": (95, 1, 100),
    "index": (16, tuple(JPEG_INDEX)),
    "progressive": ("keep", ("keep", "baseline")),
  },
  "png": {"level": (6, 0, 9)},
  "webp-lossy": {"quality": (90, 0, 100)},
  "l3-compact": {"effort": ("default", ("fast", "default", "best"))},
  "pcr": {"images": (64, 1, 1 << 16), "groups": (None, 1, 1 << 16)},
}
# Formats and options of what a dataset makes of files that it copies.
_OF_RECORDS = (("jpeg", "index"), ("jpeg", "progressive"))


def resolve(encoders: Encoders | None, *, are_records: bool = True) -> dict[str, dict]:
  """Checks `encoders=` and fills in what is not given.

  Args:
    encoders: options by format, as {"jpeg": {"quality": 90}}; of "jpeg" the "quality"
      from 1 to 100, the "index" of entry points, "row", 16, 8 or "none", and what
      becomes of "progressive" files, "keep" or "baseline"; of "png" zlib's "level" from
      0 to 9, of "webp-lossy" the "quality" from 0 to 100, of "l3-compact" the "effort",
      "fast", "default" or "best", which the encoder spends on finding the smallest
      file, of "pcr" the "images" of a record, and "groups", the last scan of each of
      its scan groups, as (1, 2, 5, 10), or None for a group for each scan.
    are_records: whether records of a dataset are made; files have no "index", and are
      copied.

  Returns:
    Every option of every format.

  Raises:
    ValueError: a name is unknown, or a value out of range.
  """
  result = {
    name: {option: value[0] for option, value in options.items()}
    for name, options in _OPTIONS.items()
  }
  if encoders is None:
    return result
  if not isinstance(encoders, Mapping):
    raise WrongArgument(
      "encoders", encoders, 'must be options by format, as {"jpeg": {"quality": 90}}'
    )
  for name, options in encoders.items():
    known = _known(name, _OPTIONS, "encoders")
    if not isinstance(options, Mapping):
      raise WrongArgument(
        f'encoders["{name}"]', options, "must be a mapping of options"
      )
    for option, value in options.items():
      _, *allowed = _known(option, known, f'encoders["{name}"]')
      where = f'encoders["{name}"]["{option}"]'
      if (name, option) in _OF_RECORDS and not are_records:
        raise WrongArgument(
          where, value, "must be left out: it is of records of a dataset, not of files"
        )
      if len(allowed) == 1:
        _known(value, dict.fromkeys(allowed[0]), where)
        result[name][option] = value
        continue
      least, most = allowed
      if option == "groups":
        result[name][option] = _groups(value, where, most)
        continue
      value = whole.number(value, where, least)
      if value > most:
        raise WrongArgument(where, value, f"must be from {least} to {most}")
      result[name][option] = value
  return result


def check_index(index: str | int, where: str) -> None:
  """Raises ValueError unless a JPEG can have such an index; `where` it was given."""
  _known(index, JPEG_INDEX, where)


def _known(name: Any, table: Mapping[Any, Any], where: str) -> Any:
  if type(name) in (str, int) and name in table:
    return table[name]
  names = [str(known) for known in table]
  near = difflib.get_close_matches(str(name), names, 1)
  hint = f"; did you mean {near[0]}?" if near else ""
  raise ValueError(f"{where}: {name!r} must be one of {', '.join(names)}{hint}")


def _groups(value: Any, where: str, most: int) -> list[int] | None:
  if value is None:
    return None
  try:
    scans = [whole.number(scan, where, 1) for scan in value]
  except (TypeError, ValueError):
    scans = []
  rising = all(a < b for a, b in zip(scans, scans[1:]))
  if not scans or not rising or scans[-1] > most:
    raise WrongArgument(
      where, value, "must be None, or rising numbers of scans, as (1, 2, 5, 10)"
    )
  return scans
