"""L3, figure 7 (a): loading and decoding lossless formats at three resolutions."""

import functools
import os
import pathlib
from collections.abc import Mapping
from typing import Any

from PIL import Image

from tools.bench import page
from tools.bench.papers import show, speeds
from tools.bench.papers.figure import Setting

_PAPER = {"HD": (5.67, 2.41), "FHD": (9.29, 3.25), "UHD": (15.71, 4.51)}
_FORMATS = ("png", "webp", "raw", "bmp", "l3", "l3-compact")
_STOCK = "png, stock tf.data"
_V1 = "l3 version 1"


def _measure(
  setting: Setting, folder: pathlib.Path, files: pathlib.Path
) -> dict[str, Any]:
  """All formats at one resolution, in turn."""
  made = speeds.dataset(files, _FORMATS, folder / "all")
  version_1 = speeds.l3_files(files, folder / "files.l3", version=1)
  old = speeds.dataset(version_1, ["l3"], folder / "v1")
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


parts = functools.partial(speeds.by_resolution, 8, _measure)


def table(found: Mapping[str, Any]) -> str:
  """What was measured; the paper's ratios and ours."""
  rows = []
  for name, result in found.items():
    to_png, to_webp = _PAPER[name]
    for by, key in (("clock", "images_per_s"), ("CPU", "cpu_ms")):
      ours = [
        f"{speeds.times(result, side, other, key):.2f}"
        for other in ("png", _STOCK, "webp")
        for side in (_V1, "l3")
      ]
      rows.append([name, by, to_png, *ours[:4], to_webp, *ours[4:]])
  head = [
    "times as fast", "by", "paper: L3, PNG", "v1, png", "v2, png", "v1, stock png",
    "v2, stock png", "paper: L3, WebP", "v1, webp", "v2, webp",
  ]  # fmt: skip
  speed = speeds.table(found, "format", {"CPU ms an image": speeds.cpu})
  return f"{speed}\n\n{page.table(head, rows, (0, 1))}"


def words(found: Mapping[str, Any]) -> dict[str, Any]:
  last, result = list(found.items())[-1]
  ours, stock = (speeds.times(result, "l3", name) for name in ("png", _STOCK))
  return {"last": last, "ours": ours, "stock": stock, "theirs": _PAPER[last][0]}


def draw(found: Mapping[str, Any], canvas: Any) -> None:
  names = list(next(iter(found.values()))["cells"])
  axes = canvas.subplots()

  def heights(name: str, key: str) -> list[float]:
    return [speeds.times(result, name, "png", key) for result in found.values()]

  show.bars(axes, list(found), {name: heights(name, "images_per_s") for name in names})
  for i, name in enumerate(names):
    middles = [
      group + (i + 0.5) * 0.8 / len(names) - 0.4 for group in range(len(found))
    ]
    label = "by processor time" if i == 0 else None
    axes.plot(middles, heights(name, "cpu_ms"), "k.", markersize=4, label=label)
  for group, name in enumerate(found):
    place = (group - 0.4, group + 0.4)
    axes.plot(place, [_PAPER[name][0]] * 2, "k--", label=None if group else "paper, L3")
  show.style(axes, "y", 8, ylabel="load and decode, times PNG")
