"""L3, figure 8: loading and decoding lossy formats by quality."""

import functools
import pathlib
import statistics
from collections.abc import Mapping
from typing import Any

from tools.bench import page
from tools.bench.papers import speeds
from tools.bench.papers.figure import Figure, Part, Setting, results

_QUALITIES = (50, 70, 80, 90, 95)
_QUICK_QUALITIES = (50, 95)
_LOSSY = {"jpeg": "JPEG", "webp-lossy": "lossy WebP"}
_LOSSLESS = ("l3", "l3-compact")
_IMAGES = 8
_HOW = {"batch_size": 8, "seconds": 1.0, "rounds": 3}


def _parts(setting: Setting) -> Mapping[str, Part]:
  return speeds.by_resolution(setting, _IMAGES, functools.partial(_measure, setting))


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
  how, found = speeds.in_turn(setting, cells, **_HOW)
  return {
    **how,
    "image_bytes": sizes,
    "cells": {name: entry["both"] for name, entry in found.items()},
  }


def _middle(result: Mapping[str, Any], name: str, key: str = "images_per_s") -> float:
  return statistics.median(result["cells"][name][key])


def _times(result: Mapping[str, Any], name: str) -> float:
  """How many times as fast as L3 a format is, by processor time."""
  return _middle(result, "l3", "cpu_ms") / _middle(result, name, "cpu_ms")


def _qualities(result: Mapping[str, Any]) -> list[int]:
  prefix = f"{next(iter(_LOSSY))} "
  return [int(n.removeprefix(prefix)) for n in result["cells"] if n.startswith(prefix)]


def _crossing(result: Mapping[str, Any], name: str) -> int | None:
  """The highest quality at which a lossy format is at least as fast as L3."""
  qualities = _qualities(result)
  return max((q for q in qualities if _times(result, f"{name} {q}") >= 1), default=None)


def _table(evidence: Mapping[str, Any]) -> str:
  found = results(evidence)
  rows = []
  for name in next(iter(found.values()))["cells"]:
    row = [name]
    for result in found.values():
      row += [*speeds.rates(result["cells"][name]), f"{_times(result, name):.2f}"]
    rows.append(row)
  head = ["format, quality"]
  for name in found:
    head += [f"**{name}**, images/s", "CPU ms", "times L3 by CPU"]
  words = [
    [
      f"{label} at least as fast as L3, by CPU",
      "at low quality, on the GPU's decoder" if name == "jpeg" else "never",
      *(f"up to {q}" if (q := _crossing(r, name)) else "never" for r in found.values()),
    ]
    for name, label in _LOSSY.items()
  ]
  second = ["", "paper", *found]
  return f"{page.table(head, rows)}\n\n{page.table(second, words, range(len(second)))}"


def _about(evidence: Mapping[str, Any]) -> str:
  first = next(iter(results(evidence).values()))
  name = next(iter(evidence["settings"]["sets"]))
  return (
    f"{first['images']} images of *{name}* as in figure 7 (a), as JPEG and lossy WebP "
    "of several qualities; WebP's scale is its own. Whole pipelines read from the "
    "disk, past the page cache and with nothing cached, and decode into batches of "
    f"{first['batch_size']}, each for {first['seconds']:g} s in turn, "
    f"{first['rounds']} times: the median (least to most). *CPU* is the "
    "processor time of all threads for an image. *l3* is version 2."
  )


def _why(evidence: Mapping[str, Any]) -> str:
  parts = []
  for name, result in results(evidence).items():
    qualities = _qualities(result)
    ends = (
      _times(result, f"jpeg {quality}") for quality in (qualities[0], qualities[-1])
    )
    parts.append(f"{' to '.join(f'{end:.2f}' for end in ends)} at {name}")
  return (
    "in the paper JPEG is decoded by the A100's own circuit and L3 by its cores; here "
    "one CPU decodes both. By processor time, from the lowest to the highest quality, "
    f"JPEG has {', '.join(parts)} of L3's speed."
  )


def _draw(evidence: Mapping[str, Any], canvas: Any) -> None:
  found = results(evidence)
  every = canvas.subplots(1, len(found), squeeze=False)[0]
  for axes, (name, result) in zip(every, found.items()):
    qualities = _qualities(result)
    for format, label in _LOSSY.items():
      rates = [_middle(result, f"{format} {quality}") for quality in qualities]
      axes.plot(qualities, rates, "o-", label=label)
    axes.axhline(_middle(result, "l3"), color="black", linestyle=":", label="L3")
    axes.set_ylim(bottom=0)
    axes.set_title(name)
    axes.set_xlabel("quality")
    axes.grid(True, alpha=0.3)
  every[0].set_ylabel("load and decode, images/s")
  every[-1].legend(frameon=False, fontsize=8)


FIGURE = Figure(
  name="l3-8",
  title="L3, figure 8: loading and decoding lossy formats by quality",
  paper="images per second of JPEG, which the GPU's own circuit decodes, and of lossy "
  "WebP, which the CPU decodes, by quality. WebP stays below L3 at every quality; JPEG "
  "passes it where its quality is low enough.",
  parts=_parts,
  about=_about,
  table=_table,
  why=_why,
  draw=_draw,
  size=(9.0, 3.2),
)
