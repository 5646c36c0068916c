"""The section that `python -m tools.bench scale --report` writes."""

from typing import Any

from tools.bench import page

TITLE = "Very many samples and workers"


def table(result: dict[str, Any]) -> str:
  """What opening and planning cost, as a Markdown table."""
  rows = 2 * result["samples"]
  lines = [
    "| worker | opened in | memory held | bytes an encoding | draws of its epoch "
    "| planned in | draws/s |",
    "| ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
  ]
  for each in result["opened"]:
    lines.append(
      f"| {each['index']} | {each['seconds']:.2f} s | "
      f"{each['held_bytes'] / 2**20:.1f} MiB | {each['held_bytes'] / rows:.2f} | "
      f"{each['draws']} | {each['plan_seconds'] * 1e3:.1f} ms | "
      f"{each['draws'] / each['plan_seconds'] / 1e6:.1f} million |"
    )
  return "\n".join(lines)


def view_table(result: dict[str, Any]) -> str:
  """What choosing costs, as a Markdown table."""
  lines = [
    "| | samples | chosen in | opened in | memory held | bytes a sample |",
    "| --- | ---: | ---: | ---: | ---: | ---: |",
  ]
  for each in result["views"]:
    lines.append(
      f"| {each['view']} | {each['samples']} | {each['choose_seconds']:.2f} s | "
      f"{each['open_seconds']:.2f} s | {each['held_bytes'] / 2**20:.1f} MiB | "
      f"{each['held_bytes'] / (2 * result['samples']):.2f} |"
    )
  return "\n".join(lines)


def section(result: dict[str, Any]) -> str:
  """What was measured, how, with what, and the table."""
  parts, batches = result["balance"]["samples"], result["balance"]["batches"]
  formats = "; ".join(
    f"{each['min']} to {each['max']}" for each in result["balance"]["formats"]
  )
  return f"""```
{result["evidence"]["command"]}
```

A simulation: two formats of {result["samples"]} samples each, in an index of
{result["index_bytes"] / 1e9:.2f} GB as a conversion would write it; the shard files
are holes. The first and the last of {result["workers"]} workers each open their part
in a fresh process. The whole index is checked by its CRC-32C and row by row, and
stays mapped. Then the part's epoch is planned.

{table(result)}

Then one worker opens all samples, those of every second class, and all with 1,000
classes in equal shares, each in a fresh process.

{view_table(result)}

Over all workers, a part has {parts["min"]} to {parts["max"]} encodings in
{batches["min"]} to {batches["max"]} batches. By format these are {formats}.
{result["balance"]["repeated"]} samples are repeated in all.

{page.machine(result["evidence"])}"""
