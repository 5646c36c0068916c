"""The section that `python -m tools.bench formats` writes."""

from collections.abc import Sequence
from typing import Any

from tools.bench import formats, page

TITLE = "Formats on slow disks"


def table(results: Sequence[dict[str, Any]]) -> str:
  """A line of Markdown for each format and advised mix of each disk."""
  lines = [
    "| disk | stored as | KB an image | images/s (least to most) | to the best single "
    "| read MB/s | busy |",
    "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
  ]
  cells = [cell for result in results for cell in result["cells"]]
  for cell in sorted(cells, key=lambda cell: cell["rate"] or float("inf")):
    singles = [row["images_per_s"] for row in cell["rows"] if len(row["mix"]) == 1]
    for row in cell["rows"]:
      rates = [one["images_per_s"] for one in row["rounds"]]
      mark = " (advised)" if row["mix"].keys() == cell["advised"].keys() else ""
      lines.append(
        f"| {formats.disk_name(cell['rate'])} | {row['name']}{mark} | "
        f"{row['image_bytes'] / 1e3:.0f} | {row['images_per_s']:.0f} "
        f"({min(rates):.0f} to {max(rates):.0f}) | "
        f"{row['images_per_s'] / max(singles):.2f} | "
        f"{row['disk_bytes_per_s'] / 1e6:.0f} | {row['busy']:.0%} |"
      )
  return "\n".join(lines)


def section(results: Sequence[dict[str, Any]]) -> str:
  """What was measured, how, with what, and the table; a run or several in one."""
  first = results[0]
  commands = "\n".join(result["evidence"]["command"] for result in results)
  revisions = sorted({r["evidence"]["revision"] or "unknown" for r in results})
  skipped = sorted({r["skipped"] for r in results if r["skipped"]})
  return "\n\n".join(
    [
      f"""```
{commands}
```

{first["images"]} photographs of {first["side"]}x{first["side"]} RGB pixels, each stored
in every format of the table, in batches of {first["batch_size"]}, by
{first["threads"]} threads. A version 1 blkio cgroup holds the disk to the MB/s of the
row, and reads go past the page cache. First `profile` measures the formats on that
disk, and advises one of them or a mix. Then whole epochs of
`dataset(path, {first["batch_size"]}, mix=…, shuffle=False, cache=0)`, of
{first["epoch_images"]} images, take turns in one process, {first["rounds"]} of each.
The table gives medians. *Busy* is the share of all processors that the process
used.""",
      *(f"Throttled disks were left out: {reason}." for reason in skipped),
      table(results),
      page.machine(first["evidence"] | {"revision": ", ".join(revisions)}),
    ]
  )
