"""Reads the file of a profile, and checks what it must hold."""

import dataclasses
import json
import math
from typing import Any

from liquid_tf._convert import pipelines
from liquid_tf._native import encoders
from liquid_tf._profile import names
from liquid_tf._profile.result import SCHEMA
from liquid_tf._store import mix as mixes
from liquid_tf.errors import WrongArgument

# A profile is some dozen kilobytes.
MOST_BYTES = 16 << 20

_KEYS = (
  "schema",
  "formats",
  "measured",
  "mix",
  "fidelity",
  "cache_form",
  "predicted",
  "best_single",
  "verdict",
)
_KEPT = ("encoded", "pixels")
_ENCODING = {field.name for field in dataclasses.fields(pipelines.Encoding)}
# What a profile does not choose.
_ENCODING -= {"geometry", "check"}


def parse(contents: bytes, path: str) -> dict[str, Any]:
  """Reads a profile.

  Args:
    contents: of the file.
    path: its name, for errors.

  Raises:
    ValueError: it is none; the message says what is wrong.
  """
  if len(contents) > MOST_BYTES:
    raise ValueError(f"{path} is no profile: it has more than {MOST_BYTES} bytes")
  try:
    data = json.loads(contents)
  except (ValueError, RecursionError) as error:
    raise ValueError(f"{path} is no profile: it is not JSON: {error}") from error
  if not isinstance(data, dict):
    raise ValueError(f"{path} is no profile: it must be an object")
  missing = [key for key in _KEYS if key not in data]
  if missing:
    raise ValueError(
      f"{path} is no profile: it has no {missing[0]!r}; make one with "
      "`liquid-tf profile --output`"
    )
  if data["schema"] != SCHEMA:
    raise ValueError(
      f"{path} has schema {data['schema']!r}, and this version reads {SCHEMA}: make it "
      "again"
    )
  _check_mix(data["mix"], path)
  _check_fidelity(data, path)
  if data["cache_form"] not in _KEPT:
    raise WrongArgument(
      f"{path}: cache_form", data["cache_form"], f"must be one of {', '.join(_KEPT)}"
    )
  try:
    encoding(data)
    encoder_options(data)
  except ValueError as error:
    raise ValueError(f"{path}: {error}") from error
  return data


def encoder_options(data: dict[str, Any]) -> dict[str, dict[str, Any]]:
  """The options for `convert`, by format; pcr only if it was measured.

  Raises:
    ValueError: the profile does not say so, or a value is wrong.
  """
  options: dict[str, dict[str, Any]] = encoding(data).encoders
  pcr = data["setting"].get("pcr")
  if pcr is not None or names.PCR in data["mix"]:
    # Other groups than those that were measured would be another fidelity.
    if not isinstance(pcr, dict) or set(pcr) != {"images", "groups"}:
      raise WrongArgument(
        "setting: pcr", pcr, "must give images and groups: make the profile again"
      )
    options[names.PCR] = pcr
  resolved = encoders.resolve(options)
  return {name: resolved[name] for name in options}


def encoding(data: dict[str, Any]) -> pipelines.Encoding:
  """The encoding that was measured.

  Raises:
    ValueError: the profile does not say so, or a value is wrong.
  """
  setting = data.get("setting")
  options = setting.get("encoding") if isinstance(setting, dict) else None
  if not isinstance(options, dict) or set(options) != _ENCODING:
    names = ", ".join(sorted(_ENCODING))
    raise WrongArgument(
      "setting: encoding", options, f"must give {names}: make the profile again"
    )
  result = pipelines.Encoding(**options)
  _ = result.transforms
  encoders.resolve(result.encoders)
  return result


def _check_mix(mix: Any, path: str) -> None:
  if not isinstance(mix, dict) or not all(
    isinstance(share, (int, float)) and math.isfinite(share) for share in mix.values()
  ):
    raise WrongArgument(f"{path}: mix", mix, "must give shares of formats")
  try:
    mixes.parse_mix(mix)
  except ValueError as error:
    raise ValueError(f"{path}: {error}") from error


def _check_fidelity(data: dict[str, Any], path: str) -> None:
  group = data["fidelity"]
  whole = isinstance(group, int) and not isinstance(group, bool) and group >= 1
  if group is not None and not (whole and names.PCR in data["mix"]):
    raise WrongArgument(
      f"{path}: fidelity",
      group,
      "must be null, or the scan group, from 1, that the pcr of the mix is read "
      "through",
    )
