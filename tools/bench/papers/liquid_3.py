"""Liquid, figure 3: loading and decoding along mixes of PNG and another format."""

import functools
import statistics
from collections.abc import Mapping
from typing import Any

from tools.bench import page
from tools.bench.papers import speeds
from tools.bench.papers.figure import Part, Setting, emptied

_OTHERS = ("raw", "webp", "jpeg", "l3", "l3-compact")
_STAGES = ("load", "decode", "both")
_TENTHS = range(11)
# So that every tenth of a mix is an image of its own.
_IMAGES = 10
# So that PNG alone waits for its decoder and raw alone for the disk, as in the paper.
_DISK_BYTES_PER_S = 600_000_000
# How far loading may lie outside its ends before a run is refused.
_MARGIN = 0.05


def parts(setting: Setting) -> Mapping[str, Part]:
  return {
    other: functools.partial(_measure, setting, other) for other in setting.few(_OTHERS)
  }


def _measure(setting: Setting, other: str) -> dict[str, Any]:
  """All stages of all mixes of PNG and another format, in turn."""
  from tools.bench import preparation

  height, width = speeds.resolutions(setting)["FHD"]
  with emptied(setting.folder / other) as folder:
    scaled = speeds.scaled(setting.sets[0], height, width, _IMAGES, folder)
    images = sorted(scaled.iterdir())
    preparation.copies(images, folder / "files", _IMAGES)
    made = speeds.dataset(folder / "files", ("png", other), folder / "all")
    cells = {
      f"{tenths}": {**speeds.cell(made, other), "mix": _mix(other, tenths)}
      for tenths in _TENTHS
    }
    found = speeds.in_turn(
      setting,
      cells,
      batch_size=10,
      seconds=3.0,
      rounds=2,
      stages=_STAGES,
      read_bytes_per_s=_DISK_BYTES_PER_S,
    )
  result = {
    "images": len(images),
    "shape": [height, width],
    "disk_bytes_per_s": _DISK_BYTES_PER_S,
    "image_bytes": made["image_bytes"],
    **found,
  }
  if not setting.quick:
    check(other, curve(result, "load"))
  return result


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


def table(found: Mapping[str, Any]) -> str:
  rows = []
  for other, result in found.items():
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


def words(found: Mapping[str, Any]) -> dict[str, Any]:
  raw = found["raw"]
  best = _best(raw)
  return {
    "most": _IMAGES,
    "rate": raw["disk_bytes_per_s"] / 1e6,
    "margin": _MARGIN,
    "best": f"{10 - best}:{best}",
    "load": curve(raw, "load")[best],
    "decode": curve(raw, "decode")[best],
  }


def draw(found: Mapping[str, Any], canvas: Any) -> None:
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
  left.set(xlabel="loading, images/s", ylabel="decoding, images/s")
  left.set_title("(a) PNG towards another format", fontsize=10)
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
  right.set(xlabel="tenths of raw, the rest is PNG", ylabel="images/s")
  right.set_title("(b) PNG and raw", fontsize=10)
  for axes in (left, right):
    axes.set_yscale("log")
    axes.legend(frameon=False, fontsize=8)
    axes.grid(True, which="both", alpha=0.3)
