"""A profile as one page of HTML that needs nothing else."""

import statistics
from typing import Any

from liquid_tf._cost.amounts import rate, size
from liquid_tf._profile import figures, names
from liquid_tf._profile.html_page import page, table, text
from liquid_tf._profile.names import describe

_STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; color: #1a202c; background: #fff;
  margin: 0 auto; max-width: 60rem; padding: 1.5rem 1rem 3rem; }
h1 { font-size: 1.5rem; margin: 0 0 .25rem; }
h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; }
p { max-width: 45rem; }
.source { color: #4a5568; overflow-wrap: anywhere; margin-top: 0; }
.verdict { font-size: 1.2rem; background: #e6f4f1; border-left: .3rem solid #4c9a8a;
  padding: .8rem 1rem; max-width: none; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .8rem .3rem 0; text-align: right; white-space: nowrap;
  border-bottom: 1px solid #e2e8f0; }
th:first-child, td:first-child { text-align: left; }
th { font-weight: 600; vertical-align: bottom; }
img { max-width: 100%; height: auto; display: block; }
footer { margin-top: 2rem; color: #4a5568; font-size: .85rem; overflow-wrap: anywhere; }
"""


def render(data: dict[str, Any]) -> str:
  """The page.

  Args:
    data: of a profile.

  Returns:
    HTML with its style and plots inside; no script, and nothing that is fetched.
  """
  devices = _devices(data)
  mix = names.profiled(data["mix"], data["fidelity"])
  parts = [
    f"<h1>Which formats, in what mix: {text(describe(mix))}</h1>",
    f'<p class="source">{text(data["samples"])} images of {text(data["source"])}; '
    f"{text(data['sampled'])} of them were looked at.</p>",
    f'<p class="verdict">{text(data["verdict"])}</p>',
    "<h2>The mix curve</h2>",
    _image(figures.curve(data), "images per second along the mixes"),
    "<p>Images per second that loading and decoding allow, predicted from what each "
    "format costs; a pipeline gets at most the lower of both"
    + (", and what the GPU and the bus allow.</p>" if devices else ".</p>"),
    "<h2>What is used</h2>",
    _image(figures.triangles(data), "use of processors and disk, by format"),
    "<p>At full speed: shares of the processors and of the disk that are busy, and "
    "images per second as a share of the best mix. A short corner is a resource that "
    "waits for the others.</p>",
    "<h2>What each format costs</h2>",
    _formats(data, devices),
    _disk(data),
    "<h2>Run in turn, with your cache, on all processors</h2>",
    _verified(data),
    "<h2>On another machine</h2>",
    _what_if(data),
    _memory(data),
    "<h2>Converting</h2>",
    f"<p>{size(data['convert']['bytes'])} on the disk, and about "
    f"{_duration(data['convert']['seconds'])} of this machine.</p>",
    _footer(data),
  ]
  return page(f"Profile of {data['source']}", _STYLE, parts)


def _devices(data: dict[str, Any]) -> list[str]:
  """Devices that decoding takes beside the processors; none in old files."""
  found = [entry.get("devices", {}) for entry in data["formats"].values()]
  return sorted({device for devices in found for device in devices})


def _formats(data: dict[str, Any], devices: list[str]) -> str:
  rows = []
  scans = any(entry["scans"] for entry in data["formats"].values())
  for name, entry in data["formats"].items():
    rows.append(
      [
        name,
        size(_read_bytes(entry)),
        f"{_read_bytes(entry) / data['pixel_bytes']:.3f}",
        f"{entry['load']:.0f}",
        f"{entry['decode']:.0f}",
        f"{1000 * entry['decode_cpu_seconds']:.2f}",
        *(f"{1000 * entry['devices'].get(device, 0):.3f}" for device in devices),
        f"{entry['predicted']:.0f}",
        size(entry["dataset_bytes"]),
        "yes" if entry["lossless"] else "no",
        *([_mssim(entry)] if scans else []),
      ]
    )
  head = ["format", "an image", "of raw", "loads /s", "decodes /s", "CPU ms an image"]
  head += [f"{device} ms an image" for device in devices]
  head += ["images/s", "the dataset", "lossless", *(["MSSIM"] if scans else [])]
  costs = table(head, rows) + (
    "<p>images/s is what each gives alone, as the model predicts it, corrected by what "
    "it had wrong of the best one's runs.</p>"
  )
  if scans:
    costs += (
      "<p>pcr@5 is pcr read through scan group 5. MSSIM is the similarity of such "
      "images with whole ones, which have 1.</p>"
    )
  return costs


def _read_bytes(entry: dict[str, Any]) -> float:
  """Bytes that are read of an image."""
  scans = entry["scans"]
  return scans["read_bytes"] if scans else entry["bytes"]


def _mssim(entry: dict[str, Any]) -> str:
  scans = entry["scans"]
  if scans is None:
    return ""
  return "unknown" if scans["mssim"] is None else f"{scans['mssim']:.4f}"


def _disk(data: dict[str, Any]) -> str:
  blocks = data["disk"]
  if blocks is None:
    return "<p>Reads of the disk cannot be counted here: it may be memory.</p>"
  rates = ", ".join(
    f"{rate(value)} by {int(block) >> 10} KiB" for block, value in blocks.items()
  )
  folder = text(data.get("directory", "an unknown folder"))
  return f"<p>The disk of {folder}, past the page cache: {rates}.</p>"


def _verified(data: dict[str, Any]) -> str:
  found = data["verified"]
  rows = [
    (describe(found["advised"]), found["mix"], found["predicted"]),
    (f"{data['best_single']['format']} alone", found["single"], None),
    (f"stock tf.data, {found['stock_format']} files", found["stock"], None),
  ]
  if found["advised"] == {data["best_single"]["format"]: 1.0}:
    del rows[1]
  runs_table = table(
    ["pipeline", "images/s", "least", "most", "by costs alone"],
    [
      [
        name,
        f"{statistics.median(runs):.0f}",
        f"{min(runs):.0f}",
        f"{max(runs):.0f}",
        "" if predicted is None else f"{predicted:.0f}",
      ]
      for name, runs, predicted in rows
      if runs
    ],
  )
  if found["stock_skipped"]:
    runs_table += f"<p>Stock tf.data was not run: {text(found['stock_skipped'])}.</p>"
  return runs_table


def _what_if(data: dict[str, Any]) -> str:
  mix = names.profiled(data["mix"], data["fidelity"])
  rows = [["this one", describe(mix), f"{data['predicted']:.0f}", "1.00"]]
  rows += [
    [
      row["change"],
      describe(row["mix"]),
      f"{row['predicted']:.0f}",
      f"{row['gain']:.2f}",
    ]
    for row in data["what_if"]
  ]
  return table(["machine", "best mix", "images/s, predicted", "times"], rows)


def _memory(data: dict[str, Any]) -> str:
  memory = data["memory"]
  if memory is None:
    return ""
  rows = [
    [
      kind,
      describe(memory[kind]["mix"]),
      f"{memory[kind]['hit_ratio']:.0%}",
      f"{memory[kind]['predicted']:.0f}",
    ]
    for kind in ("encoded", "pixels")
  ]
  words = {"encoded": "encoded bytes", "pixels": "decoded pixels"}
  return (
    "<h2>Memory</h2>"
    + table(["kept in memory", "best mix", "hits", "images/s, predicted"], rows)
    + f"<p>{size(data['cache']['bytes'])} are better spent on "
    f"{words[memory['better']]}.</p>"
  )


def _footer(data: dict[str, Any]) -> str:
  setting, evidence = data["setting"], data["evidence"]
  disk = evidence["disk"]
  where = f"{disk['filesystem']} on {disk['device']}" if disk else "an unknown disk"
  versions = ", ".join(f"{name} {v}" for name, v in evidence["versions"].items())
  return (
    "<footer>"
    + text(
      f"Batches of {setting['batch_size']}, {setting['threads']} threads, runs of "
      f"{setting['seconds']:g} s, {setting['trials']} at least, decoded by the "
      f"{setting.get('decode', 'cpu').upper()}; "
      f"{evidence['cpu'] or 'unknown processor'}, {evidence['cpus']} processors, "
      f"{where}; load before: {evidence['load_before']}. {versions}. Profiled in "
      f"{data['seconds']:.0f} s; {size(data['written_bytes'])} were written and "
      "removed."
    )
    + "</footer>"
  )


def _image(figure: Any, alternative: str) -> str:
  return f'<img src="{figures.data_uri(figure)}" alt="{text(alternative)}">'


def _duration(seconds: float) -> str:
  if seconds < 120:
    return f"{seconds:.0f} seconds"
  if seconds < 7200:
    return f"{seconds / 60:.0f} minutes"
  return f"{seconds / 3600:.1f} hours"
