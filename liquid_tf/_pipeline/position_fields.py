"""Reads the JSON of a position: each field of its type, within its bounds."""

import operator
import reprlib
from collections.abc import Callable, Mapping
from typing import Any

from liquid_tf._pipeline.start import MOST_WORKERS
from liquid_tf._words import Shown, shown
from liquid_tf.errors import WrongArgument

# Of the fields (docs/formats/position.md).
VERSION = 1

_MOST = (1 << 63) - 1

# Gives a value as its field has it, or raises an error that names the field.
_Check = Callable[[Any, str], Any]


def read(given: Mapping[str, Any], name: str) -> dict[str, Any]:
  """All fields of a position but its version.

  Args:
    given: the position.
    name: of it, for errors.

  Raises:
    ValueError: it is of another version, or not what it must be; the message names
      the field.
  """
  version = given.get("version")
  if type(version) is not int or version != VERSION:
    raise WrongArgument(
      f'{name}["version"]',
      Shown(_shown(version) if "version" in given else "none"),
      f"must be {VERSION}, the version that this release of liquid_tf reads: give what "
      "position() or state_dict() of this release gave",
    )
  fields = _POSITION({k: v for k, v in given.items() if k != "version"}, name)
  before = sum(steps for _, steps in fields["cuts"])
  if fields["step"] < before:
    raise _wrong(
      fields["step"],
      f'{name}["step"]',
      f"must be at least {before}, the steps of its cuts",
    )
  index, workers = fields["run"]["worker"]
  if index >= workers:
    raise _wrong([index, workers], f'{name}["run"]["worker"]', "must be [index, count]")
  return fields


def _wrong(value: Any, name: str, must: str) -> WrongArgument:
  return WrongArgument(name, Shown(_shown(value)), must)


def _shown(value: Any) -> str:
  """A value that may be long, or deep."""
  return shown(value[:100]) if isinstance(value, str) else reprlib.repr(value)


def _number(least: int = 0, most: int = _MOST) -> _Check:
  def check(value: Any, name: str) -> int:
    try:
      found = least - 1 if isinstance(value, bool) else operator.index(value)
    except TypeError:
      found = least - 1
    if not least <= found <= most:
      raise _wrong(value, name, f"must be a whole number from {least} to {most}")
    return found

  return check


def _text(value: Any, name: str) -> str:
  if not isinstance(value, str):
    raise _wrong(value, name, "must be a string")
  return value


def _flag(value: Any, name: str) -> bool:
  if not isinstance(value, bool):
    raise _wrong(value, name, "must be true or false")
  return value


def _items(value: Any, name: str) -> list[Any]:
  if not isinstance(value, list | tuple):
    raise _wrong(value, name, "must be a list")
  return list(value)


def _list(item: _Check) -> _Check:
  def check(value: Any, name: str) -> list[Any]:
    return [item(v, f"{name}[{i}]") for i, v in enumerate(_items(value, name))]

  return check


def _pair(*items: _Check) -> _Check:
  def check(value: Any, name: str) -> list[Any]:
    found = _items(value, name)
    if len(found) != len(items):
      raise _wrong(value, name, f"must have {len(items)} numbers")
    return [item(v, f"{name}[{i}]") for i, (item, v) in enumerate(zip(items, found))]

  return check


def _or_none(some: _Check) -> _Check:
  return lambda value, name: None if value is None else some(value, name)


def _mix(value: Any, name: str) -> str | dict[str, int]:
  if isinstance(value, str):
    return value
  if not isinstance(value, Mapping):
    raise _wrong(value, name, "must be a string, or a dict of numbers")
  return {
    _text(key, f"{name}: a key"): _number()(count, f"{name}[{_shown(key)}]")
    for key, count in value.items()
  }


def _dict(needed: Mapping[str, _Check], more: Mapping[str, _Check]) -> _Check:
  known = {**needed, **more}

  def check(value: Any, name: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
      raise _wrong(value, name, "must be a dict")
    for key in needed:
      if key not in value:
        raise _wrong(value, name, f'must have "{key}", as position() gave it')
    for key in value:
      if key not in known:
        raise _wrong(value, name, f"has no field {_shown(key)}: leave it out")
    return {key: known[key](v, f'{name}["{key}"]') for key, v in value.items()}

  return check


_RUN = _dict(
  {
    "dataset": _text,
    "split": _text,
    "samples": _text,
    "shard_policy": _or_none(_text),
    "batch_size": _number(1),
    "shuffle": _flag,
    "seed": _number(-_MOST - 1),
    "scan groups": _or_none(_list(_text)),
    "worker": _pair(_number(), _number(1)),
    "batches": _number(1),
    "samples of scan groups": _or_none(_list(_number())),
  },
  {"mix": _mix, "transforms": _list(_text)},
)

_POSITION = _dict(
  {
    "epoch": _number(),
    "step": _number(),
    "cuts": _list(_pair(_number(1, MOST_WORKERS), _number(1))),
    "cached": _list(_number()),
    "mixes": _list(_number()),
    "run": _RUN,
  },
  {"borrowed": _list(_number()), "skipped": _list(_number())},
)
