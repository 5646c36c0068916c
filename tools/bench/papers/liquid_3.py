"""Liquid, figure 3: loading and decoding along mixes of PNG and another format."""

import functools
import pathlib
import shutil
import statistics
from collections.abc import Mapping
from typing import Any

from tools.bench import page
from tools.bench.papers import speeds
from tools.bench.papers.figure import Figure, Part, Setting, emptied, results

_OTHERS = ("raw", "webp", "jpeg", "l3", "l3-compact")
_STAGES = ("load", "decode", "both")
_TENTHS = range(11)
# So that every tenth of a mix is an image of its own.
_IMAGES = 10
_HOW = {"batch_size": 10, "seconds": 3.0, "rounds": 2}
# So that PNG alone waits for its decoder and raw alone for the disk, as in the paper.
_DISK_BYTES_PER_S = 600_000_000
# How far loading may lie outside its ends before a run is refused.
_MARGIN = 0.05


def _why_not() -> str | None:
  from liquid_tf._measure import throttle

  return throttle.why_not()


def _parts(setting: Setting) -> Mapping[str, Part]:
  others = _OTHERS[:1] if setting.quick else _OTHERS
  return {other: functools.partial(_measure, setting, other) for other in others}


def _measure(setting: Setting, other: str) -> dict[str, Any]:
  """All stages of all mixes of PNG and another format, in turn."""
  height, width = speeds.resolutions(setting)["FHD"]
  with emptied(setting.folder / other) as folder:
    files = speeds.scaled(setting.sets[0], height, width, _IMAGES, folder)
    images = _repeat(files)
    made = speeds.dataset(files, ("png", other), folder / "all")
    cells = {
      f"{tenths}": {**speeds.cell(made, other), "mix": _mix(other, tenths)}
      for tenths in _TENTHS
    }
    how, found = speeds.in_turn(
      setting, cells, **_HOW, stages=_STAGES, read_bytes_per_s=_DISK_BYTES_PER_S
    )
  result = {
    "images": images,
    "shape": [height, width],
    "disk_bytes_per_s": _DISK_BYTES_PER_S,
    **how,
    "image_bytes": made["image_bytes"],
    "cells": found,
  }
  if not setting.quick:
    check(other, curve(result, "load"))
  return result


def _repeat(files: pathlib.Path) -> int:
  """Copies files until there are `_IMAGES`; returns how many there were."""
  found = sorted(files.iterdir())
  for i in range(len(found), _IMAGES):
    shutil.copy(found[i % len(found)], files / f"{i:03}.png")
  return len(found)


def _mix(other: str, tenths: int) -> dict[str, int]:
  weights = {"png": 10 - tenths, other: tenths}
  return {name: weight for name, weight in weights.items() if weight}


def curve(result: Mapping[str, Any], stage: str) -> list[float]:
  """Images per second of a stage by tenths of the other format: medians of rounds."""
  return [
    statistics.median(result["cells"][f"{tenths}"][stage]["images_per_s"])
    for tenths in _TENTHS
  ]


def check(other: str, rates: list[float]) -> None:
  """Refuses a run whose loading is outside its ends.

  A mix loads so many bytes of each format, so its rate lies between those of the
  formats alone; where it does not, the disk or the machine changed meanwhile.

  Raises:
    ChildProcessError: one does not.
  """
  ends = rates[0], rates[-1]
  least, most = min(ends) * (1 - _MARGIN), max(ends) * (1 + _MARGIN)
  for tenths, rate in enumerate(rates):
    if not least <= rate <= most:
      raise ChildProcessError(
        f"png and {other}: loading {10 * tenths} % {other} ran at {rate:.0f} images/s, "
        f"outside its ends, {ends[0]:.0f} and {ends[1]:.0f}, by over {_MARGIN:.0%}: "
        "the run is refused, and the same command measures it again"
      )


def _best(result: Mapping[str, Any]) -> int:
  rates = curve(result, "both")
  return rates.index(max(rates))


def _table(evidence: Mapping[str, Any]) -> str:
  rows = []
  for other, result in results(evidence).items():
    load, decode, both = (curve(result, stage) for stage in _STAGES)
    best = _best(result)
    rows.append(
      [
        other,
        "8:2" if other == "raw" else "",
        f"{10 - best}:{best}",
        f"{both[best]:.0f}",
        f"{both[best] / both[0]:.2f}",
        f"{both[best] / max(both[0], both[-1]):.2f}",
        f"{load[0]:.0f} to {load[-1]:.0f}",
        f"{decode[0]:.0f} to {decode[-1]:.0f}",
      ]
    )
  head = [
    "PNG with", "paper: best", "best here", "images/s", "times PNG alone",
    "times the better single", "loading, PNG to other", "decoding, PNG to other",
  ]  # fmt: skip
  return page.table(head, rows)


def _about(evidence: Mapping[str, Any]) -> str:
  first = next(iter(results(evidence).values()))
  height, width = first["shape"]
  return (
    f"{first['images']} images of *{next(iter(evidence['settings']['sets']))}* scaled "
    f"to {width}x{height}, repeated to {_IMAGES}, so that each tenth of a mix is an "
    "image, in both formats of each row. Eleven mixes, in tenths, load, "
    f"decode, and do both for at least {first['seconds']:g} s each, in turn, "
    f"{first['rounds']} times; a blkio cgroup holds the disk to "
    f"{first['disk_bytes_per_s'] / 1e6:.0f} MB/s, and nothing is cached. The table "
    "gives medians. A run whose loading leaves its ends by more than "
    f"{_MARGIN:.0%} is refused. The paper's BMP is *raw* here: the same pixels."
  )


def _why(evidence: Mapping[str, Any]) -> str:
  found = results(evidence)
  raw, best = found["raw"], _best(found["raw"])
  load, decode = curve(raw, "load"), curve(raw, "decode")
  return (
    "which share is best depends on the disk and the processors alone: at the best "
    f"one here, {10 - best}:{best}, loading by itself reaches {load[best]:.0f} "
    f"images/s and decoding {decode[best]:.0f}. The paper's machine has 8 cores, "
    "DALI's PNG decoder and four SSDs. Here both stages share the processors, which "
    "each alone has to itself."
  )


def _draw(evidence: Mapping[str, Any], canvas: Any) -> None:
  found = results(evidence)
  left, right = canvas.subplots(1, 2)
  for other, result in found.items():
    load, decode = curve(result, "load"), curve(result, "decode")
    line = left.plot(load, decode, "o-", markersize=3, label=other)[0]
    left.annotate(
      "",
      (load[-1], decode[-1]),
      (load[-2], decode[-2]),
      arrowprops={"arrowstyle": "-|>", "color": line.get_color()},
    )
  left.set_xlabel("loading, images/s")
  left.set_ylabel("decoding, images/s")
  left.set_title("(a) PNG towards another format", fontsize=10)
  left.set_yscale("log")
  left.legend(frameon=False, fontsize=8)
  for stage in _STAGES:
    both = stage == "both"
    right.plot(
      list(_TENTHS),
      curve(found["raw"], stage),
      "o-" if both else "--",
      color="black" if both else None,
      label=stage,
    )
  right.axvline(2, color="tab:gray", linestyle=":", label="paper: best")
  right.set_yscale("log")
  right.set_xlabel("tenths of raw, the rest is PNG")
  right.set_ylabel("images/s")
  right.set_title("(b) PNG and raw", fontsize=10)
  right.legend(frameon=False, fontsize=8)
  for axes in (left, right):
    axes.grid(True, which="both", alpha=0.3)


FIGURE = Figure(
  name="liquid-3",
  title="Liquid, figure 3: loading and decoding along mixes",
  paper="loading and decoding of Cityscapes along mixes of PNG with BMP, JPEG and "
  "WebP, and data preparation along mixes of PNG and BMP. BMP raises decoding and "
  "lowers loading; WebP changes little; PNG to BMP as 8:2 is best.",
  parts=_parts,
  about=_about,
  table=_table,
  why=_why,
  draw=_draw,
  size=(9.0, 4.0),
  why_not=_why_not,
)
