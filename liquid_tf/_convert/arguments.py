"""Checks of what a user may give, each with one sentence."""

import os
from collections.abc import Sequence


def path_of(name: str, path: str | os.PathLike) -> str:
  """A path as text; raises ValueError if it is empty, and so the current folder."""
  text = os.fspath(path)
  if not text:
    raise ValueError(f'{name} ("") must not be empty')
  return text


def in_range(name: str, value: int, low: int, high: int) -> None:
  """Raises ValueError unless an argument is a whole number in [low, high]."""
  if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
    raise ValueError(f"{name} ({value}) must be a whole number in [{low}, {high}]")


def check_on_error(on_error: str) -> None:
  """Raises ValueError unless it says what an error does."""
  if on_error not in ("skip", "raise"):
    raise ValueError(f'on_error ("{on_error}") must be "skip" or "raise"')


def scan_groups(groups: Sequence[int]) -> list[int]:
  """Checks the last scans of scan groups; raises ValueError."""
  groups = list(groups)
  for group, before in zip(groups, [0, *groups]):
    if type(group) is not int or group <= before:
      raise ValueError(
        f"pcr_groups ({groups}) must be ascending scan numbers, the first at least 1"
      )
  return groups
