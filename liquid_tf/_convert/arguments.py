"""Checks of what a user may give, each with one sentence."""

import os
import re
from collections.abc import Mapping, Sized
from fractions import Fraction

from liquid_tf._native.encoders import Encoders
from liquid_tf._store.manifest import PIXELS
from liquid_tf._store.mix import REMADE
from liquid_tf._words import said, setting
from liquid_tf.errors import WrongArgument

# The share of samples that on_error="skip" may leave out.
_SKIPPED = Fraction(1, 100)


def path_of(name: str, path: str | os.PathLike) -> str:
  """A path as text; raises ValueError if it is empty, and so the current folder."""
  text = os.fspath(path)
  if not text:
    raise WrongArgument(name, "", "must not be empty")
  return text


def local_path_of(name: str, path: str | os.PathLike) -> str:
  """A path as text; raises ValueError if it is empty, or a URL."""
  text = path_of(name, path)
  if "://" in text:
    raise WrongArgument(
      name,
      text,
      "must be a local path: what is elsewhere, or is to go there, is copied by the "
      "tool of its storage (gcloud storage cp, aws s3 cp, curl)",
    )
  return text


def in_range(name: str, value: int, low: int, high: int) -> None:
  """Raises ValueError unless an argument is a whole number in [low, high]."""
  if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
    raise WrongArgument(name, value, f"must be a whole number in [{low}, {high}]")


def most_skipped(on_error: str) -> Fraction | None:
  """The share of samples that may be left out; None where none may.

  Args:
    on_error: "raise", "skip", or "skip:SHARE%".

  Raises:
    ValueError: it is none of these.
  """
  if on_error == "raise":
    return None
  found = re.fullmatch(r"skip(?::(\d+(?:\.\d+)?)%)?", str(on_error))
  share = _SKIPPED
  if found and found[1]:
    share = Fraction(found[1]) / 100
  if not found or share > 1:
    raise WrongArgument(
      "on_error",
      on_error,
      'must be "raise", "skip", which leaves out up to 1 %, or "skip:SHARE%", as '
      '"skip:10%"',
    )
  return share


def check_check(
  check: str,
  mix: Mapping[str, float],
  *,
  replicate: bool,
  transforms: Sized,
  encoders: Encoders | None,
) -> None:
  """Checks `check=`, with which each sample must be a copy of its file.

  Args:
    check: "pixels" or "headers".
    mix: weights of formats.
    replicate: whether every sample is stored in every format.
    transforms: what happens to images before they are stored.
    encoders: that were checked, without defaults.

  Raises:
    ValueError: it is neither, or the other arguments ask for more than copies.
  """
  if check not in PIXELS:
    known = ", ".join(f'"{name}"' for name in PIXELS)
    raise WrongArgument("check", check, f"must be one of {known}")
  if check == "pixels":
    return
  jpeg = (encoders or {}).get("jpeg", {})
  more = [
    *(
      (setting(f'encoders["jpeg"]["{option}"]', jpeg.get(option)), True)
      for option, plain in (("index", "none"), ("progressive", "keep"))
      if jpeg.get(option, plain) != plain
    ),
    (said("replicate=True"), replicate),
    ("transforms", bool(transforms)),
    *((f'"{name}" in the mix', name in mix) for name in (*REMADE, "webp-lossy")),
  ]
  for what, is_given in more:
    if is_given:
      raise WrongArgument(
        "check",
        check,
        f'must be "pixels" with {what}: with "headers" files are copied, and nothing '
        "is decoded",
      )


def resumes_replaces(existing: str, *, can_resume: bool = True) -> tuple[bool, bool]:
  """Whether to go on with an output that is there, and whether to replace it.

  Raises:
    ValueError: `existing` is not "refuse", "resume" or "replace".
  """
  known = ("refuse", "resume", "replace") if can_resume else ("refuse", "replace")
  if existing not in known:
    names = ", ".join(f'"{name}"' for name in known)
    raise WrongArgument("existing", existing, f"must be one of {names}")
  return existing == "resume", existing == "replace"
