"""L3, figure 8: loading and decoding lossy formats by quality, at three resolutions."""

import functools
import pathlib
from collections.abc import Mapping
from typing import Any

from tools.bench import page
from tools.bench.papers import show, speeds
from tools.bench.papers.figure import Setting

_QUALITIES = (50, 70, 80, 90, 95)
_QUICK_QUALITIES = (50, 95)
_LOSSY = {"jpeg": "JPEG", "webp-lossy": "lossy WebP"}
_LOSSLESS = ("l3", "l3-compact")


def _measure(
  setting: Setting, folder: pathlib.Path, files: pathlib.Path
) -> dict[str, Any]:
  """Both lossy formats at each quality, and L3, at one resolution, in turn."""
  cells, sizes = {}, {}
  for quality in _QUICK_QUALITIES if setting.quick else _QUALITIES:
    options = {name: {"quality": quality} for name in _LOSSY}
    made = speeds.dataset(files, tuple(_LOSSY), folder / f"{quality}", options)
    for name in _LOSSY:
      cells[f"{name} {quality}"] = speeds.cell(made, name)
      sizes[f"{name} {quality}"] = made["image_bytes"][name]
  made = speeds.dataset(files, _LOSSLESS, folder / "l3")
  cells |= {name: speeds.cell(made, name) for name in _LOSSLESS}
  sizes |= made["image_bytes"]
  found = speeds.in_turn(setting, cells, batch_size=8, seconds=1.0, rounds=3)
  return {"image_bytes": sizes, **found}


parts = functools.partial(speeds.by_resolution, 8, _measure)


def _qualities(result: Mapping[str, Any]) -> list[int]:
  names = (name.partition(" ") for name in result["cells"])
  return [int(quality) for format, _, quality in names if format == "jpeg"]


def _crossing(result: Mapping[str, Any], name: str) -> str:
  """Up to which quality a lossy format is at least as fast as L3."""
  qualities = _qualities(result)
  fast = [q for q in qualities if speeds.times(result, f"{name} {q}", "l3") >= 1]
  return f"up to {max(fast)}" if fast else "never"


def table(found: Mapping[str, Any]) -> str:
  more = {
    "CPU ms": speeds.cpu,
    "times L3 by CPU": lambda *cell: f"{speeds.times(*cell, 'l3'):.2f}",
  }
  speed = speeds.table(found, "format, quality", more)
  paper = {"jpeg": "at low quality, on the GPU's decoder", "webp-lossy": "never"}
  crossings = [
    [
      f"{label} at least as fast as L3, by CPU",
      paper[name],
      *(_crossing(result, name) for result in found.values()),
    ]
    for name, label in _LOSSY.items()
  ]
  head = ["", "paper", *found]
  return f"{speed}\n\n{page.table(head, crossings, range(len(head)))}"


def words(found: Mapping[str, Any]) -> dict[str, Any]:
  ends = []
  for name, result in found.items():
    first, *_, last = (
      speeds.times(result, f"jpeg {q}", "l3") for q in _qualities(result)
    )
    ends.append(f"{first:.2f} to {last:.2f} at {name}")
  return {"ends": ", ".join(ends)}


def draw(found: Mapping[str, Any], canvas: Any) -> None:
  every = canvas.subplots(1, len(found), squeeze=False)[0]
  for axes, (name, result) in zip(every, found.items()):
    qualities = _qualities(result)
    for format, label in _LOSSY.items():
      rates = [speeds.median(result, f"{format} {quality}") for quality in qualities]
      axes.plot(qualities, rates, "o-", label=label)
    axes.axhline(speeds.median(result, "l3"), color="black", linestyle=":", label="L3")
    axes.set_ylim(bottom=0)
    show.style(axes, title=name, xlabel="quality")
  every[0].set_ylabel("load and decode, images/s")
  every[-1].legend(frameon=False, fontsize=8)
