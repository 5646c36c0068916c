"""The section and the plot that `python -m tools.bench mix` writes."""

import os
from typing import Any

from liquid_tf._measure.stages import STAGES
from tools.bench import page

TITLE = "The mix curve"


def table(result: dict[str, Any]) -> str:
  """A line of Markdown for each cell."""
  lines = [
    "| disk | processors | with | best share | images/s | of PNG alone | "
    "of the better single |",
    "| --- | ---: | --- | ---: | ---: | ---: | ---: |",
  ]
  for cell in result["cells"]:
    rates = {row["share"]: row["both"] for row in cell["mixes"]}
    best, single = rates[cell["best"]], max(rates[0.0], rates[1.0])
    lines.append(
      f"| {_disk(cell)} | {cell['processors']} | {cell['other']} | "
      f"{cell['best']:.0%} | {best:.0f} | {best / rates[0.0]:.2f} | "
      f"{best / single:.2f} |"
    )
  return "\n".join(lines)


def section(result: dict[str, Any], image: str | None) -> str:
  """What was measured, how, with what, the table, and the plot where there is one."""
  parts = [
    f"""```
{result["evidence"]["command"]}
```

{result["images"]} photographs of {result["side"]}x{result["side"]} RGB pixels, each
in every format, in batches of {result["batch_size"]}. Each row is a fresh process,
held to so many processors. It runs eleven mixes of PNG and the other format, in
tenths, in turn, {result["rounds"]} times: loading alone, decoding alone (every record
in memory) and both, for {result["seconds"]:g} s each. Nothing is cached. Reads go
past the page cache, and a version 1 blkio cgroup holds the disk to the MB/s of the
row."""
  ]
  if result["skipped"]:
    parts.append(f"Throttled disks were left out: {result['skipped']}.")
  parts.append(table(result))
  if image is not None:
    parts.append(f"![Images per second along the mixes]({image})")
  parts.append(page.machine(result["evidence"]))
  return "\n\n".join(parts)


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
    axes.set_title(f"{_disk(cell)}, {cell['processors']} processors", fontsize=10)
    axes.set_xlabel(f"% {cell['other']}, the rest is png")
    axes.set_ylabel("images/s")
    axes.grid(True, which="both", alpha=0.3)
  every[0].legend(frameon=False)
  figure.savefig(path, dpi=110)


def _disk(cell: dict[str, Any]) -> str:
  return f"{cell['rate'] / 1e6:g} MB/s" if cell["rate"] else "whole"
