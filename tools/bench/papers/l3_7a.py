"""L3, figure 7 (a): loading and decoding lossless formats at three resolutions."""

import functools
import os
import pathlib
import statistics
from collections.abc import Mapping
from typing import Any

from PIL import Image

from tools.bench import page
from tools.bench.papers import speeds
from tools.bench.papers.figure import Figure, Part, Setting, results

_PAPER = {"HD": (5.67, 2.41), "FHD": (9.29, 3.25), "UHD": (15.71, 4.51)}
_FORMATS = ("png", "webp", "raw", "bmp", "l3", "l3-compact")
_STOCK = "png, stock tf.data"
_V1 = "l3 version 1"
_IMAGES = 8
_HOW = {"batch_size": 8, "seconds": 2.0, "rounds": 3}


def _parts(setting: Setting) -> Mapping[str, Part]:
  return speeds.by_resolution(setting, _IMAGES, functools.partial(_measure, setting))


def _measure(
  setting: Setting, folder: pathlib.Path, files: pathlib.Path
) -> dict[str, Any]:
  """All formats at one resolution, in turn."""
  made = speeds.dataset(files, _FORMATS, folder / "all")
  old = speeds.dataset(speeds.version_1(files), ["l3"], folder / "v1")
  names = sorted(map(os.fspath, files.iterdir()))
  with Image.open(names[0]) as image:
    shape = [image.height, image.width, 3]
  how, found = speeds.in_turn(
    setting,
    {
      _STOCK: {"files": names, "shape": shape},
      _V1: speeds.cell(old, "l3"),
      **{name: speeds.cell(made, name) for name in _FORMATS},
    },
    **_HOW,
  )
  sizes = made["image_bytes"] | {_V1: old["image_bytes"]["l3"]}
  sizes[_STOCK] = sizes["png"]
  return {
    **how,
    "image_bytes": sizes,
    "cells": {name: cell["both"] for name, cell in found.items()},
  }


def _middle(result: Mapping[str, Any], name: str, key: str = "images_per_s") -> float:
  return statistics.median(result["cells"][name][key])


def _times(result: Mapping[str, Any], name: str, other: str, by_cpu: bool) -> float:
  """How many times as fast a format is, by the clock or by processor time."""
  if by_cpu:
    return _middle(result, other, "cpu_ms") / _middle(result, name, "cpu_ms")
  return _middle(result, name) / _middle(result, other)


def _table(evidence: Mapping[str, Any]) -> str:
  found = results(evidence)
  rows = []
  for name in next(iter(found.values()))["cells"]:
    row = [name]
    for result in found.values():
      row += speeds.rates(result["cells"][name])
    rows.append(row)
  head = ["format"]
  for name in found:
    head += [f"**{name}**, images/s", "CPU ms an image"]
  return f"{page.table(head, rows)}\n\n{_ratios(found)}"


def _ratios(found: Mapping[str, Any]) -> str:
  """The paper's ratios and ours."""
  rows = []
  for name, result in found.items():
    to_png, to_webp = _PAPER[name]
    for by_cpu in (False, True):
      row = [name, "CPU" if by_cpu else "clock", to_png]
      for other in ("png", _STOCK):
        row += [f"{_times(result, n, other, by_cpu):.2f}" for n in (_V1, "l3")]
      row.append(to_webp)
      row += [f"{_times(result, n, 'webp', by_cpu):.2f}" for n in (_V1, "l3")]
      rows.append(row)
  head = [
    "times as fast", "by", "paper: L3, PNG", "v1, png", "v2, png", "v1, stock png",
    "v2, stock png", "paper: L3, WebP", "v1, webp", "v2, webp",
  ]  # fmt: skip
  return page.table(head, rows, (0, 1))


def _about(evidence: Mapping[str, Any]) -> str:
  first = next(iter(results(evidence).values()))
  name = next(iter(evidence["settings"]["sets"]))
  return (
    f"{first['images']} images of *{name}*, turned to lie, cut to the ratio and scaled "
    "by Pillow's Lanczos filter, each in every format. Whole pipelines read them from "
    "the disk, past the page cache and with nothing cached, and decode them into "
    f"batches of {first['batch_size']}, each for {first['seconds']:g} s in turn, "
    f"{first['rounds']} times: the median (least to most). *CPU* is the processor time "
    "of all threads. *l3* (v2) and *l3-compact* are the profiles of version 2. Stock "
    "tf.data decodes the same PNG files by tf.io.decode_image, and has them in the "
    "page cache. Our pipeline has neither JPEG 2000 nor LZ4."
  )


def _why(evidence: Mapping[str, Any]) -> str:
  found = results(evidence)
  last = list(found)[-1]
  ours, stock = (_times(found[last], "l3", n, True) for n in ("png", _STOCK))
  return (
    "the paper decodes L3 on an A100 and PNG on a CPU; here the same processors do "
    f"both. At {last} PNG takes {ours:.1f} times the processor time of L3 version 2 in "
    f"our pipeline, and {stock:.1f} times in stock tf.data; the paper's PNG decoder is "
    f"neither, and its GPU {_PAPER[last][0]} times as fast. Rates by the clock also "
    "wait for the disk and for other programs. Processor time does not, though it "
    "grows where others fill the caches."
  )


def _draw(evidence: Mapping[str, Any], canvas: Any) -> None:
  found = results(evidence)
  names = list(next(iter(found.values()))["cells"])
  axes = canvas.subplots()
  width = 0.8 / len(names)
  for i, name in enumerate(names):
    places = [group + i * width - 0.4 for group in range(len(found))]
    heights = [_times(result, name, "png", False) for result in found.values()]
    axes.bar(places, heights, width, align="edge", label=name)
    by_cpu = [_times(result, name, "png", True) for result in found.values()]
    middles = [place + width / 2 for place in places]
    label = "by processor time" if i == 0 else None
    axes.plot(middles, by_cpu, "k.", markersize=4, label=label)
  for group, name in enumerate(found):
    place = (group - 0.4, group + 0.4)
    axes.plot(place, [_PAPER[name][0]] * 2, "k--", label=None if group else "paper, L3")
  axes.set_xticks(range(len(found)), list(found))
  axes.set_ylabel("load and decode, times PNG")
  axes.grid(True, axis="y", alpha=0.3)
  axes.legend(frameon=False, fontsize=8)


FIGURE = Figure(
  name="l3-7a",
  title="L3, figure 7 (a): loading and decoding lossless formats",
  paper="images per second that are loaded and decoded, of Cityscapes scaled to HD "
  "(1080x720), FHD and UHD. L3 reaches 5.67, 9.29 and 15.71 times PNG, and 2.41, 3.25 "
  "and 4.51 times lossless WebP.",
  parts=_parts,
  about=_about,
  table=_table,
  why=_why,
  draw=_draw,
)
