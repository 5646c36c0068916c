"""The section that `python -m tools.bench efficiency --report` writes."""

from collections.abc import Sequence
from typing import Any

from tools.bench import efficiency, page

TITLE = "Beside the limits of its stages"


def table(results: Sequence[dict[str, Any]]) -> str:
  """All cells of some runs, in the order of disks and mixes, in images per second."""
  cells = [
    (cell["rate"] or float("inf"), cell["raw"], result, cell)
    for result in results
    for cell in result["cells"]
  ]
  lines = [
    "| disk | raw | cache | epoch | load | decode | pipeline | of the lower "
    "| read MB/s | busy |",
    "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
  ]
  for rate, raw, result, cell in sorted(
    cells, key=lambda entry: entry[:2], reverse=True
  ):
    pipeline = cell["both"]
    disk = "whole" if rate == float("inf") else f"{rate / 1e6:g} MB/s"
    lines.append(
      f"| {disk} | {raw:.0%} | {result['cache']} | "
      f"{result['images'] * result['repeat']} | {cell['load']['images_per_s']:.0f} | "
      f"{cell['decode']['images_per_s']:.0f} | {pipeline['images_per_s']:.0f} | "
      f"{cell['efficiency']:.2f} | {pipeline['disk_bytes_per_s'] / 1e6:.0f} | "
      f"{pipeline['busy']:.0%} |"
    )
  return "\n".join(lines)


def section(results: Sequence[dict[str, Any]]) -> str:
  """What was measured, how, with what, and the table; a run or several in one."""
  first = results[0]
  cells = [cell for result in results for cell in result["cells"]]
  reached = sum(cell["efficiency"] >= efficiency.PROMISED for cell in cells)
  commands = "\n".join(result["evidence"]["command"] for result in results)
  revisions = sorted(
    {result["evidence"]["revision"] or "unknown" for result in results}
  )
  skipped = sorted({r["skipped"] for r in results if r["skipped"]})
  left_out = [f"Throttled disks were left out: {reason}." for reason in skipped]
  return "\n\n".join(
    [
      f"""```
{commands}
```

{first["images"]} photographs of {first["side"]}x{first["side"]} RGB pixels (at most
256 different ones) as PNG and raw, in batches of {first["batch_size"]}, by
{first["threads"]} threads. Each row is a fresh process. It runs an epoch of each of
three pipelines in turn, `--rounds` times after one that does not count. The table
gives medians in images per second:

* *load*: the same pipeline with `decode="none"`;
* *decode*: the same pipeline with every record in memory (`cache="100%"`);
* *pipeline*: both together, with the cache of the row.

*Epoch* is the number of images in an epoch of load and pipeline: the photographs
once, or `--repeat` times through links to the same files, which are read from the
disk each time.

*Of the lower* is pipeline divided by the smaller of load and decode.
{efficiency.PROMISED} is promised; {reached} of {len(cells)} rows reach it. *Busy* is
the share of all processors that the pipeline's process used. Near 100%, load and
decode share processors that each had to itself before, so the smaller of both is out
of reach. Reads go past the page cache. A version 1 blkio cgroup holds the disk to the
MB/s of the row. Epochs are whole, with the wait for the first batch.""",
      *left_out,
      table(results),
      page.machine(first["evidence"] | {"revision": ", ".join(revisions)}),
    ]
  )
