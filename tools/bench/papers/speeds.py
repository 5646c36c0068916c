"""Speeds of formats in the real pipeline, in turn, for figures that compare them."""

import functools
import pathlib
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from PIL import Image, ImageOps

from liquid_tf._measure import fresh
from tools.bench import codec_sets, page, photographs
from tools.bench.papers.figure import Part, Setting, emptied

_RESOLUTIONS = {"HD": (720, 1080), "FHD": (1080, 1920), "UHD": (2160, 3840)}
_QUICK_RESOLUTIONS = {"HD": (48, 72), "FHD": (72, 128)}

# An epoch, which a run should not come to the end of.
_EPOCH_IMAGES = 1024


def scaled(
  images: codec_sets.ImageSet, height: int, width: int, most: int, folder: pathlib.Path
) -> pathlib.Path:
  """Makes PNG files of one size of a set, scaled by Pillow's Lanczos as in L3's paper.

  Images are turned to lie, and cut to the size's ratio around their middle.

  Args:
    images: a set of photographs.
    height: of each file, in pixels.
    width: likewise.
    most: files.
    folder: gets the folder of them.

  Returns:
    That folder.
  """
  made = folder / f"{width}x{height}.png"
  made.mkdir(parents=True, exist_ok=True)
  for i, pixels in enumerate(codec_sets.load(images)[:most]):
    if pixels.shape[0] > pixels.shape[1]:
      pixels = np.rot90(pixels)
    image = Image.fromarray(np.ascontiguousarray(pixels))
    fitted = ImageOps.fit(image, (width, height), Image.Resampling.LANCZOS)
    fitted.save(made / f"{i:03}.png")
  return made


def l3_files(files: pathlib.Path, folder: pathlib.Path, **options: Any) -> pathlib.Path:
  """Makes L3 files of a folder of PNG files, which `dataset` stores byte for byte.

  Args:
    files: the folder.
    folder: gets them, and must not exist.
    **options: of the encoder.

  Returns:
    `folder`.
  """
  from liquid_tf import codecs

  folder.mkdir()
  for file in sorted(files.iterdir()):
    contents = codecs.encode_l3(np.asarray(Image.open(file)), **options)
    (folder / f"{file.stem}.l3").write_bytes(contents.numpy())
  return folder


def dataset(
  files: pathlib.Path,
  formats: Sequence[str],
  folder: pathlib.Path,
  encoders: Mapping[str, Mapping[str, Any]] | None = None,
) -> dict[str, Any]:
  """Makes a dataset with each image in each format: see `photographs.replicate`."""
  return photographs.replicate(files, formats, folder, _EPOCH_IMAGES, encoders=encoders)


def cell(made: Mapping[str, Any], name: str) -> dict[str, Any]:
  """One format of what `dataset` made, for `in_turn`."""
  return {"short": made["short"], "long": made["long"], "mix": {name: 1}}


def in_turn(
  setting: Setting,
  cells: Mapping[str, Mapping[str, Any]],
  *,
  seconds: float,
  rounds: int,
  **arguments: Any,
) -> dict[str, Any]:
  """Runs pipelines in turn in one fresh process: A, B, .., A, B, ..

  Args:
    setting: whether the run is a quick one, and shorter.
    cells: by name, what runs: see `stages.pipelines`, likewise the others.
    seconds: that a run lasts at least.
    rounds: runs of each.
    **arguments: other ones of `stages.pipelines`.

  Returns:
    `seconds` and `rounds` that were taken, and the other arguments; and `cells`, what
    `stages.pipelines` gives, of "both" alone where no stages were asked for.

  Raises:
    ChildProcessError: a measurement failed.
  """
  how = {"seconds": seconds, "rounds": rounds, **arguments}
  if setting.quick:
    how |= {"seconds": 0.01, "rounds": 1}
  function = "tools.bench.stages:pipelines"
  found = fresh.run({"function": function, "cells": dict(cells), **how})
  if "stages" not in arguments:
    found = {name: entry["both"] for name, entry in found.items()}
  return {**how, "cells": found}


def by_resolution(
  images: int,
  measure: Callable[[Setting, pathlib.Path, pathlib.Path], dict[str, Any]],
  setting: Setting,
) -> dict[str, Part]:
  """A part for each resolution of L3's paper.

  Args:
    images: at most.
    measure: takes a setting, a folder to work in, and in it that of the scaled images.
    setting: whose first set is scaled.

  Returns:
    Parts that give what `measure` does, with `images` and their `shape`.
  """

  def run(height: int, width: int) -> dict[str, Any]:
    with emptied(setting.folder / f"{width}x{height}") as folder:
      files = scaled(setting.sets[0], height, width, images, folder)
      count = len(list(files.iterdir()))
      found = measure(setting, folder, files)
      return {"images": count, "shape": [height, width], **found}

  return {
    name: functools.partial(run, *size) for name, size in resolutions(setting).items()
  }


def resolutions(setting: Setting) -> dict[str, tuple[int, int]]:
  """Height and width of the L3 paper's resolutions."""
  return _QUICK_RESOLUTIONS if setting.quick else _RESOLUTIONS


def median(result: Mapping[str, Any], name: str, key: str = "images_per_s") -> float:
  """What the runs of a cell have of one number: the median."""
  return statistics.median(result["cells"][name][key])


def times(
  result: Mapping[str, Any], name: str, other: str, key: str = "cpu_ms"
) -> float:
  """How many times as fast a cell is as another, by processor time or by the clock."""
  ours, theirs = (median(result, cell, key) for cell in (name, other))
  return theirs / ours if key == "cpu_ms" else ours / theirs


def cpu(result: Mapping[str, Any], name: str) -> str:
  """Processor milliseconds of an image."""
  return f"{median(result, name, 'cpu_ms'):.1f}"


def table(
  found: Mapping[str, Any],
  first: str,
  more: Mapping[str, Callable[[Mapping[str, Any], str], str]],
) -> str:
  """A table of all cells: by resolution images/s with their span, and more.

  Args:
    found: results of `by_resolution`.
    first: head of the first column.
    more: by head, a result and a cell's name to what stands there.
  """
  columns = [[first, *next(iter(found.values()))["cells"]]]
  for label, result in found.items():
    cells = result["cells"]
    rates = (page.span(cell["images_per_s"]) for cell in cells.values())
    columns.append([f"**{label}**, images/s", *rates])
    for head, value in more.items():
      columns.append([head, *(value(result, name) for name in cells)])
  head, *rows = zip(*columns)
  return page.table(head, rows)
