"""The choice of scanned samples that a dataset holds, and why others are left out.

Some are too large for a format of the mix, or of a kind that it does not hold.
"""

import itertools
import json
import math
import os
from collections.abc import Iterator, Mapping
from fractions import Fraction

import numpy as np

from liquid_tf._convert import labels
from liquid_tf._convert.sources.left_out import LeftOut
from liquid_tf._convert.sources.samples import SampleSource
from liquid_tf._store.files import write_file
from liquid_tf._store.formats import BY_NAME
from liquid_tf._store.manifest import FORMATS, PROBLEMS
from liquid_tf._store.mix import TARGETS
from liquid_tf._words import argument, few, said, setting
from liquid_tf.errors import ConvertError

# A sample's kind: all of a dataset have the same.
_KIND = ["channels", "bits", "mask_bits"]


# Reasons of losses that an error tells.
_REASONS = 3


def check_lost(
  source: SampleSource, most_skipped: Fraction | None, output: str | None
) -> None:
  """Checks that a source lacks few samples, before anything of it is read.

  Args:
    source: the samples.
    most_skipped: see `choose`.
    output: likewise.

  Raises:
    ConvertError: more of what it should have is missing.
    OSError: the list of problems cannot be written.
  """
  if source.lost > (most_skipped or 0) * (len(source) + source.lost):
    complaints = [_complain_of_problems(source, {}, most_skipped, output)]
    nothing = np.zeros(0, np.int64)
    raise _refused(source, complaints, output, nothing, {}, nothing)


def _refused(
  source: SampleSource,
  complaints: list[str],
  output: str | None,
  table: np.ndarray,
  skipped: Mapping[int, str],
  good: np.ndarray,
) -> ConvertError:
  """The error for what is wrong, of which a list is made; see `_write_list`."""
  if output is not None:
    path = os.path.join(output, PROBLEMS)
    _write_list(path, source, table, skipped, good)
    complaints.append(
      f"{path} lists them all, and {setting('existing', 'resume')} goes on from the "
      "scan"
    )
  return ConvertError(f"{argument('source', source.named)}: {'; '.join(complaints)}")


def choose(
  source: SampleSource,
  table: np.ndarray,
  errors: Mapping[int, str],
  mix: Mapping[str, float],
  *,
  skip_bits: bool,
  copies: bool,
  most_skipped: Fraction | None,
  output: str | None,
) -> tuple[np.ndarray, list[tuple[str, str]]]:
  """Chooses the samples of a dataset.

  Args:
    source: the samples.
    table: shape [positions], SCAN_DTYPE.
    errors: why samples cannot be read, by position.
    mix: of the dataset, whose every format must hold each sample.
    skip_bits: whether samples of another depth than most are left out.
    copies: whether files are only copied, so that each must be of the mix.
    most_skipped: the share of samples that may be left out since they cannot be stored;
      None where none may.
    output: the dataset's directory, where the list of problems goes; None for no list.

  Returns:
    Positions of the samples, and (path, reason) of the others.

  Raises:
    ConvertError: the samples cannot make one dataset. The list, if any, says why.
    OSError: that file cannot be written.
  """
  problems = {"cannot be read": dict(errors)}
  good = np.flatnonzero(table["bits"])
  labelled = table["labels"][good] > 0
  without = good[~labelled].tolist() if labelled.any() else []
  problems["without a label"] = dict.fromkeys(without, "has no label, but others have")
  labelled = good[labelled]
  problems["of no class"] = {
    int(labelled[i]): reason
    for i, reason in labels.of_no_class(source, table[labelled]).items()
  }
  unfit = {"too large for the mix": too_large(mix, table[good])}
  if copies:
    unfit["of no format of the mix"] = of_other_formats(mix, table[good])
  for what, found in unfit.items():
    problems[what] = {int(good[i]): reason for i, reason in found.items()}
  skipped = {p: why for found in problems.values() for p, why in found.items()}
  good = good[~np.isin(good, list(skipped))]

  complaints = []
  bad, every = len(skipped) + source.lost, len(source) + source.lost
  if bad > (most_skipped or 0) * every:
    complaints.append(_complain_of_problems(source, problems, most_skipped, output))
  uncommon = _uncommon_depths(table, good) if skip_bits else {}
  good = good[~np.isin(good, list(uncommon))]
  kinds = np.unique(table[_KIND][good])
  if len(kinds) > 1:
    complaints.append(_complain_of_kinds(source, table, good, kinds))
  if complaints:
    listed = good if len(kinds) > 1 else good[:0]
    raise _refused(source, complaints, output, table, skipped, listed)
  skipped |= uncommon
  if not len(good):
    position, reason = min(skipped.items())
    raise ConvertError(
      f"none of the {len(skipped)} samples of {source.named} can be stored; the first, "
      f"{source.path(position)}: {reason}"
    )
  return good, [(source.path(p), reason) for p, reason in skipped.items()]


def of_other_formats(mix: Mapping[str, float], samples: np.ndarray) -> dict[int, str]:
  """Why files cannot be copied into a format of the mix, by position in `samples`."""
  names = np.array(FORMATS)[samples["format"]]
  given = setting("check", "headers")
  return {
    i: f"is in the format {names[i]}, and {given} copies files of {_list(tuple(mix))}"
    for i in np.flatnonzero(~np.isin(names, list(mix))).tolist()
  }


def _uncommon_depths(table: np.ndarray, good: np.ndarray) -> dict[int, str]:
  """Why samples have another depth than most, by position; the smaller at a tie."""
  depths = table[["bits", "mask_bits"]][good]
  kinds, counts = np.unique(depths, return_counts=True)
  if len(kinds) < 2:
    return {}
  common = kinds[counts.argmax()]
  return {
    int(p): f"has {_depth(table[p])}, but most samples have {_depth(common)}"
    for p in good[depths != common]
  }


def _depth(row: np.void) -> str:
  mask = f" and a mask of {row['mask_bits']}" if row["mask_bits"] else ""
  return f"{row['bits']} bits{mask}"


def _complain_of_problems(
  source: SampleSource,
  problems: Mapping[str, Mapping[int, str]],
  most_skipped: Fraction | None,
  output: str | None,
) -> str:
  count = source.lost + len(set().union(*problems.values()))
  every = len(source) + source.lost
  parts = []
  for what, found in problems.items():
    if found:
      position, reason = min(found.items())
      parts.append(f"{len(found)} {what}, as {source.path(position)}: {reason}")
  if source.lost:
    parts.append(_complain_of_lost(source))
  found = f"{count} of {every} samples cannot be stored ({'; '.join(parts)})"
  # Down to a tenth of a percent, rounded up, so that it is enough.
  needed = math.ceil(1000 * count / every) / 10
  if most_skipped is None and needed <= 1:
    advice = setting("on_error", "skip")
  else:
    advice = setting("on_error", f"skip:{needed:g}%")
  if output is not None:
    # What is begun is there, and would be refused.
    advice += f" and {setting('existing', 'resume')}"
  if most_skipped is not None:
    found += f", and at most {float(100 * most_skipped):g} % may be left out"
  return (
    f"{found}: leave them out with {advice}, or mend them and start over with "
    f"{setting('existing', 'replace')}"
  )


def _complain_of_lost(source: SampleSource) -> str:
  """Counts what has no position, and tells the first reasons."""
  lost: dict[str, list[LeftOut]] = {}
  for one in source.skipped:
    if one.samples:
      reason = f"{one.reason}; {one.advice}" if one.advice else one.reason
      lost.setdefault(reason, []).append(one)
  parts = [
    f"{few([one.path for one in some])}: {reason}"
    for reason, some in itertools.islice(lost.items(), _REASONS)
  ]
  return f"{source.lost} lost, as {'; '.join(parts)}"


def _complain_of_kinds(
  source: SampleSource, table: np.ndarray, good: np.ndarray, kinds: np.ndarray
) -> str:
  found = table[_KIND][good]
  parts = []
  for kind in kinds:
    positions = good[found == kind]
    parts.append(
      f"{len(positions)} of {kind['channels']} channels and {_depth(kind)}, as "
      f"{source.path(positions[0])}"
    )
  mixed = [field for field in _KIND if len(np.unique(kinds[field])) > 1]
  advice = ["Channels(N)"] if "channels" in mixed else []
  if "mask_bits" in mixed:
    advice.append('Bits("skip")')
  elif "bits" in mixed:
    advice.append("Bits(N)")
  return (
    f"its samples are of {len(kinds)} kinds ({'; '.join(parts)}): choose one with "
    + said(f"transforms=[{', '.join(advice)}]")
  )


def _write_list(
  path: str,
  source: SampleSource,
  table: np.ndarray,
  skipped: Mapping[int, str],
  good: np.ndarray,
) -> None:
  """Lists problems with their reasons and samples with their kinds, one a line."""

  def lines() -> Iterator[str]:
    for one in source.skipped:
      if one.samples:
        yield json.dumps({"path": one.path, "reason": one.reason})
    for position, reason in sorted(skipped.items()):
      yield json.dumps({"path": source.path(position), "reason": reason})
    fields = _KIND if source.has_masks else _KIND[:2]
    for position in good.tolist():
      kind = {field: int(table[field][position]) for field in fields}
      yield json.dumps({"path": source.path(position), **kind})

  write_file(path, "".join(f"{line}\n" for line in lines()).encode())


# The largest payload of a record, and what of it is not the image's.
RECORD_BYTES = (1 << 29) - 1
_RECORD_HEADER = 24


def too_large(mix: Mapping[str, float], samples: np.ndarray) -> dict[int, str]:
  """Finds samples that are too large for a format of the mix.

  Args:
    mix: of the dataset.
    samples: shape [samples], SCAN_DTYPE.

  Returns:
    Why, by position in `samples`.
  """
  found: dict[int, str] = {}
  labels = np.where(samples["labels"] > 1, samples["labels"], 0).astype(np.int64)
  around = _RECORD_HEADER + 4 * labels
  for name in mix:
    holds = BY_NAME[TARGETS[name][0]]
    if holds.side is not None:
      sides = np.maximum(samples["height"], samples["width"])
      for i in np.flatnonzero(sides > holds.side).tolist():
        height, width = samples["height"][i], samples["width"][i]
        found[i] = (
          f'has {height} x {width} pixels, and sides of the mix\'s format "{name}" are '
          f"at most {holds.side}"
        )
    if holds.file_bytes is not None:
      sizes = around + holds.file_bytes(samples)
      for i in np.flatnonzero(sizes > RECORD_BYTES).tolist():
        found[i] = (
          f'needs a record of {sizes[i]} bytes in the mix\'s format "{name}", and '
          f"records have at most {RECORD_BYTES}"
        )
  return found


def check_holds(mix: Mapping[str, float], channels: int, bits: int) -> None:
  """Raises ConvertError if a format of the mix cannot store such images."""
  for name in mix:
    holds = BY_NAME[TARGETS[name][0]]
    if channels not in holds.channels or bits not in holds.bits:
      raise ConvertError(
        f'mix: format "{name}" holds images of {_list(holds.channels)} channels and '
        f"{_list(holds.bits)} bits, but these have {channels} channels and {bits} "
        "bits: resume with another format, or "
        f"{said('transforms=[Channels(N), Bits(N)]')}"
      )


def _list(choices: tuple[int | str, ...]) -> str:
  return " or ".join(str(choice) for choice in choices)
