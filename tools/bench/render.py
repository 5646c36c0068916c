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
  ingest,
  jpeg,
  mix,
  page,
  recipe,
  recipe_report,
  remote,
  scale,
  training,
)
from tools.bench.papers import document

_HERE = pathlib.Path(__file__).resolve().parent
DOCS = _HERE.parents[1] / "docs"
RESULTS = _HERE / "results"


def _read(name: str) -> Any:
  return json.loads((RESULTS / f"{name}.json").read_text())


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


_GROUP_BYTES = [
  ("scan group", lambda r: r["group"]),
  ("bytes an epoch", lambda r: f"{r['bytes']:,}"),
]


def _accuracies(rows: Sequence[dict[str, Any]]) -> str:
  cells = [
    ("of all", lambda r: f"{r['share']:.0%}"),
    ("accuracy", lambda r: _median(r["accuracy"], 3)),
  ]
  return page.columns(rows, [*_GROUP_BYTES, *cells])


def _fidelity_speeds(rows: Sequence[dict[str, Any]]) -> str:
  cells = [
    ("images/s", lambda r: _median(r["rate"])),
    ("to full", lambda r: f"{r['to_full']:.2f}"),
    ("by bytes", lambda r: f"{r['by_bytes']:.2f}"),
  ]
  return page.columns(rows, [*_GROUP_BYTES, *cells])


def _disks(runs: Sequence[dict[str, Any]]) -> str:
  cells = [
    ("machine", lambda one: one[0]),
    ("runs", lambda one: len(one[1])),
    ("least of fio", lambda one: f"{min(one[1]):.2f}"),
    ("median", lambda one: f"{statistics.median(one[1]):.2f}"),
    ("most", lambda one: f"{max(one[1]):.2f}"),
  ]
  return page.columns(_by(runs, "ratio").items(), cells)


def _loops(runs: Sequence[dict[str, Any]]) -> str:
  cells = [
    ("machine", lambda one: one[0]),
    ("loop over batches", lambda one: one[1]),
    ("images/s", lambda one: _range(runs, "clock", *one)),
    ("by processor time", lambda one: _range(runs, "processor", *one)),
  ]
  return page.columns(sorted({(r["machine"], r["loop"]) for r in runs}), cells, (0, 1))


def _records(rows: Sequence[dict[str, Any]]) -> str:
  cells = [
    ("", lambda r: f"{r['what']}, {r['other']}; {r['size']}"),
    ("ours, MB/s", lambda r: r["ours"]),
    ("other, MB/s", lambda r: r["theirs"]),
    ("ratio", lambda r: f"{r['ratio']:.2f}"),
  ]
  return page.columns(rows, cells)


def _codecs() -> str:
  """The page of the codecs."""
  page_of_all = codecs.section(_read("codecs"), "codecs.png").body
  title, body = jpeg.section(_read("jpeg"))
  return f"{page_of_all}\n\n## {title}\n\n{body}\n"


def _benchmarks() -> str:
  """The page of all other benchmarks."""
  sections = {
    "compare": compare.section(_read("compare")),
    "recipe": recipe.section(_read("recipe"), "recipe.svg"),
    "policies": recipe.section(_read("policies"), None)._replace(
      title="Recipes of ImageNet with a policy"
    ),
    "training": training.section(_read("training")),
    "efficiency": efficiency.section(_read("efficiency")),
    "constancy": constancy.section(_read("constancy")),
    "scale": scale.section(_read("scale")),
    "mix": mix.section(_read("mix"), "mix.png"),
    "formats": formats.section(_read("formats")),
    "ingest": ingest.section(_read("ingest")),
    "remote": remote.section(_read("remote")),
    "remote_5gbit": remote.section(_read("remote_5gbit")),
  }
  names = ("fidelity", "disk", "dispatch", "recordio")
  fidelity, disk, dispatch, recordio = found = [_read(name) for name in names]
  return (
    page.fill(
      "benchmarks",
      **{name: f"## {title}\n\n{body}" for name, (title, body) in sections.items()},
      **dict(zip(names, found)),
      accuracies=_accuracies(fidelity["accuracy"]["rows"]),
      fidelity_speeds=_fidelity_speeds(fidelity["speed"]["rows"]),
      disks=_disks(disk["runs"]),
      loops=_loops(dispatch["runs"]),
      dispatch_notes=page.bullets(dispatch.get("notes", ())),
      records=_records(recordio["rows"]),
      parts=_span(recordio["parts"]["8"]),
      recordio_notes=page.bullets(recordio.get("notes", ())),
    )
    + "\n"
  )


def papers() -> str:
  """The page of the papers' figures."""
  return document.markdown(RESULTS / "papers", DOCS / "papers.md")


PAGES = {
  "benchmarks.md": _benchmarks,
  "codecs.md": _codecs,
  "papers.md": papers,
  "recipe.svg": lambda: recipe_report.draw(_read("recipe")),
}


if __name__ == "__main__":
  for name, make in PAGES.items():
    (DOCS / name).write_text(make())
