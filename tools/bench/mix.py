"""Measures loading, decoding and both along the mixes of PNG and another format.

  python -m tools.bench mix --images=64 --rates=50,100 --processors=1,2 --plot=mix.png

Root may hold the disk back to some MB/s (--rates).
"""

import os
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from liquid_tf._measure.epochs import STAGES
from liquid_tf._profile import search
from liquid_tf._store.mix import parse_mix
from liquid_tf._words import Shown
from liquid_tf.errors import WrongArgument
from tools.bench import page, photographs, stages, turns

_ENCODED = "png"


def bench(
  workdir: str | os.PathLike,
  *,
  images: int,
  side: int,
  others: Sequence[str],
  rates: Sequence[int],
  processors: Sequence[int],
  batch_size: int,
  seconds: float,
  rounds: int,
  data: str | None = None,
  say: Callable[[str], None] = lambda text: None,
) -> dict[str, Any]:
  """Measures a cell for each disk, number of processors and partner of PNG.

  Args:
    workdir: gets the photographs and datasets; those that are there are used.
    images: photographs.
    side: of each, in pixels.
    others: formats that PNG is mixed with.
    rates: bytes per second that the disk gives; 0 for all it has.
    processors: numbers of processors that a process is held to.
    batch_size: images in a batch.
    seconds: that a run lasts at least.
    rounds: runs of everything.
    data: folder of images to cut photographs from; None for scikit-image's.
    say: receives a line of progress.

  Returns:
    `cells` [{rate, processors, other, mixes: [{share of the other format,
    load, decode, both: medians; rounds}], best: share}], and `skipped`: why throttled
    disks were not measured, or None.

  Raises:
    ValueError: a format cannot be mixed with PNG here.
    ChildProcessError: a measurement failed.
    ConvertError: photographs cannot be converted.
  """
  if {"png", "pcr"} & set(others):
    raise WrongArgument("others", Shown(",".join(others)), "must not be png or pcr")
  formats = (_ENCODED, *others)
  parse_mix(dict.fromkeys(formats, 1))
  say(f"making {images} photographs of {side}x{side} as {', '.join(formats)}")
  _, made = photographs.replicated(
    workdir,
    images=images,
    side=side,
    formats=formats,
    data=data,
    workers=len(os.sched_getaffinity(0)),
  )
  place = {key: made[key] for key in ("short", "long")}
  usable, skipped = turns.disks(rates, say)
  shares = [tenths / search.STEPS for tenths in range(search.STEPS + 1)]
  cells = []
  for rate in usable:
    for threads in processors:
      for other in others:
        found = turns.apart(
          stages.pipelines,
          cells={f"{s}": place | {"mix": _mix(other, s)} for s in shares},
          stages=STAGES,
          batch_size=batch_size,
          threads=threads,
          read_bytes_per_s=rate or None,
          seconds=seconds,
          rounds=rounds,
        )
        rows = [_row(share, found[f"{share}"]) for share in shares]
        best = max(rows, key=lambda row: row["both"])["share"]
        cell = {"rate": rate, "processors": threads, "other": other}
        cells.append(cell | {"mixes": rows, "best": best})
        say(_line(cells[-1]))
  return {"cells": cells, "skipped": skipped}


def _mix(other: str, share: float) -> dict[str, float]:
  weights = {_ENCODED: round(1 - share, 1), other: share}
  return {name: weight for name, weight in weights.items() if weight}


def _row(share: float, found: Mapping[str, Any]) -> dict[str, Any]:
  rounds = {stage: found[stage]["images_per_s"] for stage in STAGES}
  medians = {stage: statistics.median(rates) for stage, rates in rounds.items()}
  return {"share": share, **medians, "rounds": rounds}


def _best(cell: Mapping[str, Any]) -> tuple[float, float, float]:
  """Images per second at best, to PNG alone and to the better of both alone."""
  rates = {row["share"]: row["both"] for row in cell["mixes"]}
  best = rates[cell["best"]]
  return best, best / rates[0.0], best / max(rates[0.0], rates[1.0])


def _line(cell: Mapping[str, Any]) -> str:
  best, to_png, to_single = _best(cell)
  return (
    f"{turns.disk_name(cell['rate'], 'whole disk')}, {cell['processors']} processors, "
    f"png and {cell['other']}: best at {cell['best']:.0%} {cell['other']}, {best:.1f} "
    f"images/s: {to_png:.2f} times png alone, {to_single:.2f} times the better of both"
  )


def text(result: dict[str, Any]) -> str:
  """A line of Markdown for each cell."""
  cells = [
    ("disk", lambda cell: turns.disk_name(cell["rate"])),
    ("processors", lambda cell: cell["processors"]),
    ("with", lambda cell: cell["other"]),
    ("best share", lambda cell: f"{cell['best']:.0%}"),
    ("images/s", lambda cell: f"{_best(cell)[0]:.0f}"),
    ("of PNG alone", lambda cell: f"{_best(cell)[1]:.2f}"),
    ("of the better single", lambda cell: f"{_best(cell)[2]:.2f}"),
  ]
  return page.columns(result["cells"], cells, (0, 2))


def section(result: dict[str, Any], image: str | None) -> page.Section:
  """What was measured, how, with what, the table, and the plot where there is one."""
  return page.section(
    "mix",
    result,
    left_out=turns.left_out([result]),
    table=text(result),
    picture=page.picture("Images per second along the mixes", image),
  )


def plot(result: dict[str, Any], path: str | os.PathLike) -> None:
  """Draws a curve for each cell to an image file.

  Raises:
    ImportError: matplotlib is not installed.
    ValueError: the extension of `path` is of no image format.
  """
  from matplotlib.figure import Figure

  cells = result["cells"]
  columns = min(3, len(cells))
  rows = -(-len(cells) // columns)
  figure = Figure(figsize=(4 * columns, 3 * rows), layout="constrained")
  every = figure.subplots(rows, columns, squeeze=False).flatten()
  for axes in every[len(cells) :]:
    axes.set_axis_off()
  for axes, cell in zip(every, cells):
    share = [100 * row["share"] for row in cell["mixes"]]
    for stage in STAGES:
      both = stage == "both"
      axes.plot(
        share,
        [row[stage] for row in cell["mixes"]],
        "o-" if both else "--",
        color="black" if both else None,
        label=stage,
      )
    axes.set_yscale("log")
    disk = turns.disk_name(cell["rate"])
    axes.set_title(f"{disk}, {cell['processors']} processors", fontsize=10)
    axes.set_xlabel(f"% {cell['other']}, the rest is png")
    axes.set_ylabel("images/s")
    axes.grid(True, which="both", alpha=0.3)
  every[0].legend(frameon=False)
  figure.savefig(path, dpi=110)
