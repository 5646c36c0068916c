"""How much of the lower of its two limits a pipeline reaches, over mixes and disks."""

import os
import pathlib
import shutil
from collections.abc import Callable, Sequence
from typing import Any

from liquid_tf._convert.convert import convert
from liquid_tf._measure import fresh, repeated
from liquid_tf._store import manifest as manifests
from tools.bench import page, photographs, turns

PROMISED = 0.9
_PARTS = 1000  # A mix is given to this part of a sample.


def bench(
  workdir: str | os.PathLike,
  *,
  images: int,
  side: int,
  mixes: Sequence[float],
  rates: Sequence[int],
  batch_size: int,
  cache: int | str,
  rounds: int,
  threads: int,
  repeat: int,
  data: str | None = None,
  say: Callable[[str], None] = lambda text: None,
) -> dict[str, Any]:
  """Measures a cell for each disk and mix, each in a fresh process.

  Args:
    workdir: gets the images and datasets; those that are there are used.
    images: photographs.
    side: of each, in pixels.
    mixes: shares of raw, 0 to 1; the rest is PNG.
    rates: bytes per second that the disk gives; 0 for all it has.
    batch_size: images in a batch.
    cache: of load and pipeline, as `liquid_tf.dataset` takes it.
    rounds: counted epochs of each stage.
    threads: of tf.data.
    repeat: times that the images come in an epoch of load and pipeline, by links to the
      same files: how an epoch begins and ends counts as little as in a large dataset.
    data: folder of images to cut photographs from; None for scikit-image's.
    say: receives a line of progress.

  Returns:
    The settings, `cells` [{rate, raw, stored_bytes, load, pipeline, decode (each as
    `stages.measure` gives it), lower ("load" or "decode"), efficiency}], and `skipped`:
    why throttled disks were not measured, or None.

  Raises:
    ValueError: an argument is wrong.
    ChildProcessError: a measurement failed.
  """
  root = pathlib.Path(workdir, f"{images}x{side}")
  say(f"making {images} photographs of {side}x{side} in {root}")
  photographs.make(root, images, side, data, threads, ("png",))
  for share in mixes:
    _make(root, share)
  usable, skipped = turns.disks(rates, say)
  cells = []
  for rate in usable:
    for share in mixes:
      path = _dataset(root, share)
      long = _long(path, repeat)
      measured = fresh.run(
        {
          "function": "tools.bench.stages:measure",
          "path": os.fspath(long),
          "short": os.fspath(path),
          "rounds": rounds,
          "threads": threads,
          "cache": cache,
          "batch_size": batch_size,
          "read_bytes_per_s": rate or None,
        }
      )
      size = sum(file.stat().st_size for file in path.glob("*.rec"))
      cells.append({"rate": rate, "raw": share, "stored_bytes": size, **measured})
      say(_judge(cells[-1]))
  return {
    "images": images,
    "repeat": repeat,
    "side": side,
    "batch_size": batch_size,
    "cache": cache,
    "rounds": rounds,
    "threads": threads,
    "cells": cells,
    "skipped": skipped,
  }


def _dataset(root: pathlib.Path, share: float) -> pathlib.Path:
  return root / f"raw-{share:g}.liquid"


def _make(root: pathlib.Path, share: float) -> None:
  raw = round(_PARTS * share)
  mix = {"png": _PARTS - raw, "raw": raw}
  path = _dataset(root, share)
  if not (path / "dataset.json").exists():
    mix = {name: weight for name, weight in mix.items() if weight}
    convert(root / "png", path, mix, existing="resume", progress=False)


def _long(path: pathlib.Path, repeat: int) -> pathlib.Path:
  """The dataset, or one in which its samples come `repeat` times."""
  if repeat == 1:
    return path
  long = path.with_name(f"{path.stem}-x{repeat}.liquid")
  if not (long / manifests.MANIFEST).exists():
    shutil.rmtree(long, ignore_errors=True)
    long.mkdir()
    repeated.repeat(manifests.load(path), repeat, os.fspath(long))
  return long


def _judge(cell: dict[str, Any]) -> str:
  """Adds the lower limit and the share of it that is reached."""
  cell["lower"] = min(("load", "decode"), key=lambda name: cell[name]["images_per_s"])
  reached, limit = (cell[n]["images_per_s"] for n in ("both", cell["lower"]))
  cell["efficiency"] = reached / limit
  return (
    f"disk: {turns.disk_name(cell['rate'])}, {cell['raw']:.0%} raw: {reached:.1f} "
    f"images/s, {cell['efficiency']:.0%} of {cell['lower']}'s {limit:.1f}"
  )


def text(results: Sequence[dict[str, Any]]) -> str:
  """All cells of some runs, in the order of disks and mixes, in images per second."""
  every = [result | cell for result in results for cell in result["cells"]]
  every.sort(key=lambda cell: (cell["rate"] or float("inf"), cell["raw"]), reverse=True)
  cells = [
    ("disk", lambda cell: turns.disk_name(cell["rate"])),
    ("raw", lambda cell: f"{cell['raw']:.0%}"),
    ("cache", lambda cell: cell["cache"]),
    ("epoch", lambda cell: cell["images"] * cell["repeat"]),
    ("load", lambda cell: f"{cell['load']['images_per_s']:.0f}"),
    ("decode", lambda cell: f"{cell['decode']['images_per_s']:.0f}"),
    ("pipeline", lambda cell: f"{cell['both']['images_per_s']:.0f}"),
    ("of the lower", lambda cell: f"{cell['efficiency']:.2f}"),
    ("read MB/s", lambda cell: f"{cell['both']['disk_bytes_per_s'] / 1e6:.0f}"),
    ("busy", lambda cell: f"{cell['both']['busy']:.0%}"),
  ]
  return page.columns(every, cells)


def section(results: Sequence[dict[str, Any]]) -> page.Section:
  """What was measured, how, with what, and the table; a run or several in one."""
  reached = [c["efficiency"] >= PROMISED for r in results for c in r["cells"]]
  return page.section(
    "efficiency",
    results,
    promised=PROMISED,
    reached=sum(reached),
    rows=len(reached),
    left_out=turns.left_out(results),
    table=text(results),
  )
