"""Writes docs/benchmarks.md, codecs.md, papers.md and recipe.svg from their results.

  python -m tools.bench.render

A result is what a benchmark's --output wrote, with `notes`, sentences that its figures
bear out, and `earlier`, the figures of other runs, which stay in the JSON. Those of the
papers are in a folder of their own, and `python -m tools.bench papers` writes them.
"""

import json
import pathlib
import statistics
from collections.abc import Sequence
from typing import Any

from tools.bench import (
  codecs,
  compare,
  constancy,
  efficiency,
  formats,
  mix,
  page,
  recipe,
  recipe_report,
  remote,
  scale,
)
from tools.bench.papers import document

_HERE = pathlib.Path(__file__).resolve().parent
DOCS = _HERE.parents[1] / "docs"
_RESULTS = _HERE / "results"

_INTRODUCTION = """# Benchmarks

Timings differ between machines, and on a busy machine from minute to minute: look at
the ratios. Commands that begin with `python -m tools.bench` are of a checkout.
`python -m tools.bench.render` writes this page from [the
results](../tools/bench/results), which also have the figures of other runs.

To measure a dataset of your own:

```
liquid-tf measure --dataset=photos.liquid --cache=30% --cold
```

It measures the pipeline, and by the same code what loading and decoding reach by
themselves. `efficiency` is the share of the lower one. `--json` gives every figure of
every epoch, the disk bytes by the kernel's own count, and the least and most per full
batch of each format, of cache hits and of loads.

To repeat the comparison with other loaders, give each an environment of its own. FFCV
also wants Debian's `libopencv-dev libturbojpeg0-dev pkg-config`:

```
python3.11 -m venv dali && dali/bin/pip install nvidia-dali-cuda120==2.4.0
python3.11 -m venv ffcv && ffcv/bin/pip install torch==2.13.0 pillow ffcv==1.0.2
python3.11 -m venv torchvision && torchvision/bin/pip install torchvision==0.28.0
```"""


def _read(name: str) -> Any:
  return json.loads((_RESULTS / f"{name}.json").read_text())


def _command(*lines: str) -> str:
  return "\n".join(["```", *lines, "```"])


def _notes(result: dict[str, Any]) -> str:
  return "\n".join(f"* {note}" for note in result.get("notes", ()))


def _span(values: Sequence[float] | None, digits: int = 0) -> str:
  if not values:
    return ""
  ends = dict.fromkeys(f"{value:,.{digits}f}" for value in (values[0], values[-1]))
  return " to ".join(ends)


def _by(runs: Sequence[dict[str, Any]], key: str) -> dict[str, list[float]]:
  """Values of runs, by how busy the machine was."""
  found: dict[str, list[float]] = {}
  for run in runs:
    found.setdefault(run["machine"].partition(",")[0], []).append(run[key])
  return found


def _spread(values: Sequence[float]) -> list[str]:
  return [
    f"{value:.2f}" for value in (min(values), statistics.median(values), max(values))
  ]


def _range(runs: Sequence[dict[str, Any]], clock: str, machine: str, loop: str) -> str:
  found = [
    rate
    for run in runs
    if (run["machine"], run["loop"]) == (machine, loop)
    for rate in run.get(clock, ())
  ]
  return _span([min(found), max(found)]) if found else ""


def _median(values: Sequence[float], digits: int = 0) -> str:
  middle, least, most = (f"{value:.{digits}f}" for value in values)
  return f"{middle} ({least} to {most})"


def _fidelity() -> str:
  found = _read("fidelity")
  accuracy, speed, framing = found["accuracy"], found["speed"], found["framing"]
  least, most = framing["share_of_decoding"]
  return "\n\n".join(
    [
      _command(accuracy["command"]),
      "130 photographs of flowers in 5 classes, of 43,200 to 192,500 pixels: 91 to "
      "train on, 39 to test with at full fidelity. Three convolutions, 30 epochs, "
      "three seeds: the mean (least to most) of the accuracy after the last epoch. "
      "*plateau* begins with group 1 and goes on to 2, 5 and 10 when the loss stops "
      "falling. One image is 0.026.",
      page.table(
        ["scan group", "bytes an epoch", "of all", "accuracy"],
        (
          [
            r["group"],
            f"{r['bytes']:,}",
            f"{r['share']:.0%}",
            _median(r["accuracy"], 3),
          ]
          for r in accuracy["rows"]
        ),
      ),
      "Group 5 reaches the accuracy of full fidelity with half of the bytes, as in the "
      "paper; group 1 does not.",
      _command(speed["command"]),
      "Each file twenty times, on a disk that a blkio cgroup holds to 40 MB/s, nothing "
      "cached or decoded: the median (least to most) of three epochs.",
      page.table(
        ["scan group", "bytes an epoch", "images/s", "to full", "by bytes"],
        (
          [
            r["group"],
            f"{r['bytes']:,}",
            _median(r["rate"]),
            f"{r['to_full']:.2f}",
            f"{r['by_bytes']:.2f}",
          ]
          for r in speed["rows"]
        ),
      ),
      f"Taking images out of a record, checksums included, takes {least:.2%} (group 1) "
      f"to {most:.2%} of the processor time of decoding them "
      f"(`{framing['command']}`).",
    ]
  )


def _disk() -> str:
  disk, dispatch = _read("disk"), _read("dispatch")
  runs = dispatch["runs"]
  return "\n\n".join(
    [
      _command(disk["command"]),
      "1,024 raw images of 1024x1024, blocks of 4 MiB, at most 8 reads under way, ours "
      "and fio in turn. Ours checks every record's CRC-32C meanwhile, for which it "
      "needs a processor.",
      page.table(
        ["machine", "runs", "least of fio", "median", "most"],
        (
          [machine, len(ratios), *_spread(ratios)]
          for machine, ratios in _by(disk["runs"], "ratio").items()
        ),
      ),
      _command(dispatch["command"]),
      "Raw images of 18x18 in batches of 256, everything cached: what the pipeline "
      "costs beside reading and decoding. 400,000 images/s were promised.",
      page.table(
        ["machine", "loop over batches", "images/s", "by processor time"],
        (
          [
            machine,
            loop,
            _range(runs, "clock", machine, loop),
            _range(runs, "processor", machine, loop),
          ]
          for machine, loop in sorted({(r["machine"], r["loop"]) for r in runs})
        ),
        words=(0, 1),
      ),
      _notes(dispatch),
    ]
  )


def _recordio() -> str:
  found = _read("recordio")
  return "\n\n".join(
    [
      _command(*found["commands"]),
      "A file of records of 128 KiB. *Writing* ends when the file and its index are on "
      "the disk, as dd's does with `conv=fsync`; dd reads the same bytes from the page "
      "cache. *Reading* goes past the page cache in blocks of 4 MiB with at most 8 "
      "reads under way, as fio's, and makes a string of each record. Ours and the "
      "other in turn, medians:",
      page.table(
        ["", "ours, MB/s", "other, MB/s", "ratio"],
        (
          [
            f"{r['what']}, {r['other']}; {r['size']}",
            r["ours"],
            r["theirs"],
            f"{r['ratio']:.2f}",
          ]
          for r in found["rows"]
        ),
      ),
      f"In 8 parts one after another, the file of 4 GiB was read at "
      f"{_span(found['parts']['8'])} MB/s.",
      _notes(found),
    ]
  )


def _codecs() -> str:
  """The page of the codecs."""
  result = _read("codecs")
  body = codecs.section(result, "codecs.png").body
  return f"{body.rstrip()}\n\n{_notes(result)}\n"


def _of(module: Any, name: str, *image: str) -> list[str]:
  """The section that a benchmark writes itself, with the notes of its result."""
  result = _read(name)
  title, body = module.section(result, *image)
  first = result[0] if isinstance(result, list) else result
  return [f"## {title}", body, _notes(first)]


def _benchmarks() -> str:
  """The page of all other benchmarks."""
  parts = [
    _INTRODUCTION,
    *_of(compare, "compare"),
    *_of(recipe, "recipe", "recipe.svg"),
    *_of(efficiency, "efficiency"),
    *_of(constancy, "constancy"),
    *("## What a fidelity costs and gives", _fidelity()),
    *("## Beside fio, and dispatch", _disk()),
    *("## RecordIO beside fio and dd", _recordio()),
    *_of(scale, "scale"),
    *_of(mix, "mix", "mix.png"),
    *_of(formats, "formats"),
    *_of(remote, "remote"),
    *_of(remote, "remote_5gbit"),
  ]
  return "\n\n".join(part.strip() for part in parts if part) + "\n"


def papers() -> str:
  """The page of the papers' figures."""
  return document.markdown(_RESULTS / "papers", DOCS / "papers.md")


PAGES = {
  "benchmarks.md": _benchmarks,
  "codecs.md": _codecs,
  "papers.md": papers,
  "recipe.svg": lambda: recipe_report.draw(_read("recipe")),
}


if __name__ == "__main__":
  for name, make in PAGES.items():
    (DOCS / name).write_text(make())
