"""The table and the plot of `liquid-tf bench codecs`."""

import os
from typing import Any

_NO_RATIO = "png tf.io"


def table(result: dict[str, Any]) -> str:
  """A Markdown table for each set and one for all of them together."""
  parts = [
    _set_table(name, entry, result["windows"] if name == "all" else None)
    for name, entry in [*result["sets"].items(), ("all", result["all"])]
  ]
  return "\n\n".join(parts)


def _set_table(
  name: str, entry: dict[str, Any], windows: dict[str, float] | None
) -> str:
  lines = [
    f"**{name}**: {entry['images']} photographs, "
    f"{entry['pixel_bytes'] / 1e6:.0f} MB of pixels",
    "",
    "| codec | of raw | of PNG | worst | decode GB/s (quartiles) | encode MB/s |"
    + (" window |" if windows is not None else ""),
    "| --- | ---: | ---: | ---: | ---: | ---: |"
    + (" ---: |" if windows is not None else ""),
  ]
  for codec, values in entry["codecs"].items():
    rate = values["decode_gb_per_s"]
    encode = "" if codec == _NO_RATIO else f"{values['encode_gb_per_s'] * 1000:.0f}"
    line = (
      f"| {codec} | {values['ratio']:.3f} | {values['to_png']:.3f} | "
      f"{values['worst_to_png']:.3f} | {rate['median']:.3f} "
      f"({rate['q1']:.3f} to {rate['q3']:.3f}) | {encode} |"
    )
    if windows is not None:
      line += f" {windows[codec]:.4f} |" if codec in windows else " |"
    lines.append(line)
  return "\n".join(lines)


def plot(result: dict[str, Any], path: str | os.PathLike) -> None:
  """Draws size against decoding speed, a point for each codec, to an image file.

  Raises:
    ImportError: matplotlib is not installed.
    ValueError: the extension of `path` is of no image format.
  """
  import matplotlib

  matplotlib.use("Agg")
  from matplotlib import pyplot

  figure, axes = pyplot.subplots(figsize=(7, 5))
  for name, values in result["all"]["codecs"].items():
    rate = values["decode_gb_per_s"]
    ours = name.startswith("l3")
    axes.errorbar(
      values["ratio"],
      rate["median"],
      yerr=[[rate["median"] - rate["q1"]], [rate["q3"] - rate["median"]]],
      fmt="o",
      color="tab:red" if ours else "tab:blue",
    )
    axes.annotate(
      name,
      (values["ratio"], rate["median"]),
      xytext=(5, 4),
      textcoords="offset points",
      fontweight="bold" if ours else "normal",
    )
  axes.set_yscale("log")
  axes.set_xlim(0, 1.15)
  axes.grid(True, which="both", alpha=0.3)
  axes.set_xlabel("size, of raw pixels")
  axes.set_ylabel("decoding, GB/s of pixels on one processor")
  axes.set_title(f"{result['all']['images']} photographs, {result['evidence']['cpu']}")
  figure.tight_layout()
  figure.savefig(path, dpi=150)
  pyplot.close(figure)


def verdicts(result: dict[str, Any]) -> list[str]:
  """What both profiles of L3 promise, with the figures of this run."""
  codecs = result["all"]["codecs"]

  def rate(name: str) -> float:
    return codecs[name]["decode_gb_per_s"]["median"]

  l3 = rate("l3 v2")
  lines = [f"l3 v2 decodes {l3:.2f} GB/s of pixels on one processor (promised: 2)"]
  for name, promised in (("png tf.io", 10), ("qoi", 3)):
    if name in codecs:
      lines.append(
        f"l3 v2 decodes {l3 / rate(name):.1f} x as fast as {name} "
        f"(promised: {promised})"
      )
  for name, entry in result["sets"].items():
    lines.append(
      f"l3 v2 takes {entry['codecs']['l3 v2']['to_png']:.3f} of PNG on {name} "
      "(promised: at most 1.00)"
    )
  lines.append(
    f"l3 v2 takes {codecs['l3 v2']['to_png']:.3f} of PNG over all (promised: .95)"
  )
  lines.append(
    f"a 224x224 window of 2048x1024 costs {result['windows']['l3 v2']:.3f} of the "
    "whole (promised: at most 0.125)"
  )
  compact, size = rate("l3-compact"), codecs["l3-compact"]
  lines += [
    f"l3-compact takes {size['to_png']:.3f} of PNG over all (promised: at most .74)",
    f"l3-compact decodes {compact / l3:.2f} x as fast as l3 v2 (promised: .35)",
    f"l3-compact decodes {compact / rate('png tf.io'):.1f} x as fast as png tf.io "
    "(promised: 6)",
    f"l3-compact encodes {1000 * size['encode_gb_per_s']:.0f} MB/s (promised: 60)",
    f"a 224x224 window of 2048x1024 costs {result['windows']['l3-compact']:.3f} of the "
    "whole in l3-compact (promised: at most 0.125)",
  ]
  return lines


def markdown(result: dict[str, Any], plot_name: str | None) -> str:
  """A whole page: what was measured, how and with what, the plot and the tables.

  Args:
    result: of `codecs.bench`.
    plot_name: of a file beside the page, or None.
  """
  evidence = result["evidence"]
  names = ",".join(f"{name}=FOLDER" for name in result["sets"])
  versions = ", ".join(f"{name} {v}" for name, v in evidence["versions"].items())
  codecs = "\n".join(f"* **{name}**: {what}" for name, what in result["codecs"].items())
  promises = "\n".join(f"* {line}" for line in verdicts(result))
  side = result["side"]
  return f"""# Image codecs side by side

This command measured the codecs, and wrote this page with `--report`:

```
python -m tools.bench codecs --sets={names} \\
  --squares={result["squares"]} --passes={result["passes"]} --rounds={result["rounds"]}
```

All photographs are read as RGB of 8 bits. Speeds are per second of processor time, of
all threads, on one processor: other programs disturb it less than wall-clock time.

* **of raw**, **of PNG**: bytes of all photographs, relative to their pixels and to PNG
  at Pillow's default level.
* **worst**: the photograph that is largest relative to its PNG.
* **decode**: GB of pixels per second, median and quartiles. Every codec in turn decodes
  {result["squares"]} squares of {side}x{side} pixels of each set into interleaved RGB,
  {result["passes"]} times; fresh processes for each set: {result["rounds"]}.
* **encode**: MB of pixels per second, over the whole photographs.
* **window**: time of a 224x224 window relative to its whole image of 2048x1024, for
  codecs that have windows.

The codecs:

{codecs}

{f"![size and speed]({plot_name})" if plot_name else ""}

The project's targets (*promised*) and what was measured:

{promises}

{table(result)}

| | |
| --- | --- |
| CPU | {evidence["cpu"]}, {evidence["cpus"]} processors |
| load before | {evidence["load_before"]}; above zero, other programs were running |
| versions | {versions} |
| revision | {evidence["revision"] or "unknown"} |
"""
