"""L3, figures 7 (a) and 8: loading and decoding at three resolutions.

Of lossless formats, and of lossy ones by quality.
"""

import functools
import os
import pathlib
from collections.abc import Mapping
from typing import Any

from PIL import Image

from tools.bench import page
from tools.bench.papers import speeds
from tools.bench.papers.figure import Figure, Part, Setting, results, style

_PAPER = {"HD": (5.67, 2.41), "FHD": (9.29, 3.25), "UHD": (15.71, 4.51)}
_FORMATS = ("png", "webp", "raw", "bmp", "l3", "l3-compact")
_STOCK = "png, stock tf.data"
_V1 = "l3 version 1"
_QUALITIES = (50, 70, 80, 90, 95)
_QUICK_QUALITIES = (50, 95)
_LOSSY = {"jpeg": "JPEG", "webp-lossy": "lossy WebP"}
_LOSSLESS = ("l3", "l3-compact")
_IMAGES = 8


def _lossless_parts(setting: Setting) -> Mapping[str, Part]:
  measure = functools.partial(_measure_lossless, setting)
  return speeds.by_resolution(setting, _IMAGES, measure)


def _measure_lossless(
  setting: Setting, folder: pathlib.Path, files: pathlib.Path
) -> dict[str, Any]:
  """All lossless formats at one resolution, in turn."""
  made = speeds.dataset(files, _FORMATS, folder / "all")
  old = speeds.dataset(speeds.version_1(files), ["l3"], folder / "v1")
  names = sorted(map(os.fspath, files.iterdir()))
  with Image.open(names[0]) as image:
    shape = [image.height, image.width, 3]
  cells = {
    _STOCK: {"files": names, "shape": shape},
    _V1: speeds.cell(old, "l3"),
    **{name: speeds.cell(made, name) for name in _FORMATS},
  }
  sizes = made["image_bytes"] | {_V1: old["image_bytes"]["l3"]}
  sizes[_STOCK] = sizes["png"]
  found = speeds.in_turn(setting, cells, batch_size=8, seconds=2.0, rounds=3)
  return {"image_bytes": sizes, **found}


def _times(
  result: Mapping[str, Any], name: str, other: str, by_cpu: bool = True
) -> float:
  """How many times as fast a format is, by processor time or by the clock."""
  if by_cpu:
    return speeds.median(result, other, "cpu_ms") / speeds.median(
      result, name, "cpu_ms"
    )
  return speeds.median(result, name) / speeds.median(result, other)


def _lossless_table(evidence: Mapping[str, Any]) -> str:
  """What was measured; the paper's ratios and ours."""
  found = results(evidence)
  rows = []
  for name, (to_png, to_webp) in ((n, _PAPER[n]) for n in found):
    for by_cpu in (False, True):
      row = [name, "CPU" if by_cpu else "clock", to_png]
      for other in ("png", _STOCK, "webp"):
        row += [to_webp] if other == "webp" else []
        row += [f"{_times(found[name], n, other, by_cpu):.2f}" for n in (_V1, "l3")]
      rows.append(row)
  head = [
    "times as fast", "by", "paper: L3, PNG", "v1, png", "v2, png", "v1, stock png",
    "v2, stock png", "paper: L3, WebP", "v1, webp", "v2, webp",
  ]  # fmt: skip
  speed = speeds.table(found, "format", ["CPU ms an image"])
  return f"{speed}\n\n{page.table(head, rows, (0, 1))}"


def _lossless_words(evidence: Mapping[str, Any]) -> dict[str, Any]:
  last, result = list(results(evidence).items())[-1]
  ours, stock = (_times(result, "l3", n) for n in ("png", _STOCK))
  return {"last": last, "ours": ours, "stock": stock, "theirs": _PAPER[last][0]}


def _draw_lossless(evidence: Mapping[str, Any], canvas: Any) -> None:
  found = results(evidence)
  names = list(next(iter(found.values()))["cells"])
  axes = canvas.subplots()
  width = 0.8 / len(names)
  for i, name in enumerate(names):
    places = [group + i * width - 0.4 for group in range(len(found))]
    heights = [_times(result, name, "png", False) for result in found.values()]
    axes.bar(places, heights, width, align="edge", label=name)
    by_cpu = [_times(result, name, "png") for result in found.values()]
    middles = [place + width / 2 for place in places]
    label = "by processor time" if i == 0 else None
    axes.plot(middles, by_cpu, "k.", markersize=4, label=label)
  for group, name in enumerate(found):
    place = (group - 0.4, group + 0.4)
    axes.plot(place, [_PAPER[name][0]] * 2, "k--", label=None if group else "paper, L3")
  axes.set_xticks(range(len(found)), list(found))
  style(axes, "y", 8, ylabel="load and decode, times PNG")


LOSSLESS = Figure(
  "l3-7a",
  "L3, figure 7 (a): loading and decoding lossless formats",
  _lossless_parts,
  _lossless_words,
  _lossless_table,
  _draw_lossless,
)


def _lossy_parts(setting: Setting) -> Mapping[str, Part]:
  measure = functools.partial(_measure_lossy, setting)
  return speeds.by_resolution(setting, _IMAGES, measure)


def _measure_lossy(
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


def _qualities(result: Mapping[str, Any]) -> list[int]:
  names = (name.partition(" ") for name in result["cells"])
  return [int(quality) for format, _, quality in names if format == "jpeg"]


def _crossing(result: Mapping[str, Any], name: str) -> str:
  """Up to which quality a lossy format is at least as fast as L3."""
  qualities = _qualities(result)
  fast = [q for q in qualities if _times(result, f"{name} {q}", "l3") >= 1]
  return f"up to {max(fast)}" if fast else "never"


def _lossy_table(evidence: Mapping[str, Any]) -> str:
  found = results(evidence)
  heads = ["CPU ms", "times L3 by CPU"]
  speed = speeds.table(
    found,
    "format, quality",
    heads,
    lambda result, name: [f"{_times(result, name, 'l3'):.2f}"],
  )
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


def _lossy_words(evidence: Mapping[str, Any]) -> dict[str, Any]:
  parts = []
  for name, result in results(evidence).items():
    first, *_, last = (_times(result, f"jpeg {q}", "l3") for q in _qualities(result))
    parts.append(f"{first:.2f} to {last:.2f} at {name}")
  return {"ends": ", ".join(parts)}


def _draw_lossy(evidence: Mapping[str, Any], canvas: Any) -> None:
  found = results(evidence)
  every = canvas.subplots(1, len(found), squeeze=False)[0]
  for axes, (name, result) in zip(every, found.items()):
    qualities = _qualities(result)
    for format, label in _LOSSY.items():
      rates = [speeds.median(result, f"{format} {quality}") for quality in qualities]
      axes.plot(qualities, rates, "o-", label=label)
    axes.axhline(speeds.median(result, "l3"), color="black", linestyle=":", label="L3")
    axes.set_ylim(bottom=0)
    style(axes, title=name, xlabel="quality")
  every[0].set_ylabel("load and decode, images/s")
  every[-1].legend(frameon=False, fontsize=8)


LOSSY = Figure(
  "l3-8",
  "L3, figure 8: loading and decoding lossy formats by quality",
  _lossy_parts,
  _lossy_words,
  _lossy_table,
  _draw_lossy,
  size=(9.0, 3.2),
)
