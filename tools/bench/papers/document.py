"""The page of the figures, made of nothing but their evidence."""

import os
import pathlib
import textwrap
from collections.abc import Mapping
from typing import Any

from tools.bench import page
from tools.bench.papers import runner
from tools.bench.papers.figure import FIGURES, Figure

# Processors that other programs keep busy, from which on a figure is not at rest.
_BUSY = 0.3


def markdown(folder: str | os.PathLike, path: str | os.PathLike) -> str:
  """The page.

  Args:
    folder: of the evidence.
    path: of the page, for its links; plots are in the folder of its name.

  Raises:
    ValueError: a file of the folder holds no evidence of its figure.
  """
  beside = pathlib.Path(path)
  link = os.path.relpath(folder, beside.parent)
  whole = runner.whole(folder)
  minutes = sum(map(runner.minutes, whole.values()))
  parts = [
    page.fill(
      "papers/page", link=link, whole=len(whole), figures=len(FIGURES), minutes=minutes
    )
  ]
  for name, figure in FIGURES.items():
    if name in whole:
      parts.append(_section(figure, whole[name], f"{beside.stem}/{name}.png"))
    else:
      command = f"`python -m tools.bench papers {name}`"
      parts.append(f"## {figure.title}\n\nNot run here yet: {command} does.")
  return "\n\n".join(parts) + "\n"


def write(folder: str | os.PathLike, path: str | os.PathLike) -> None:
  """Writes the page, and draws the plot of each figure that has evidence.

  Args:
    folder: of the evidence.
    path: of the page.

  Raises:
    ImportError: matplotlib is not installed.
    ValueError: a file of the folder holds no evidence of its figure.
  """
  place = pathlib.Path(path)
  plots = place.with_suffix("")
  for name, found in runner.whole(folder).items():
    plots.mkdir(parents=True, exist_ok=True)
    _draw(FIGURES[name], found, plots / f"{name}.png")
  place.parent.mkdir(parents=True, exist_ok=True)
  place.write_text(markdown(folder, path))


def _section(figure: Figure, found: Mapping[str, Any], image: str) -> str:
  quick = busy = ""
  if found["settings"]["quick"]:
    quick = "**A quick run, to try the command. Its numbers say nothing.**"
  most = max(part["others"] for part in found["parts"].values())
  if figure.timed and most > _BUSY:
    busy = (
      f"**Other programs kept up to {most} processors busy meanwhile. Compare ratios "
      "only, and run it again on a machine at rest.**"
    )
  return page.fill(
    "papers/section",
    title=figure.title,
    command=found["command"],
    quick=quick,
    busy=_wrapped(busy),
    table=figure.table(found),
    image=image,
    machine=_machine(found),
    **{name: _wrapped(text) for name, text in figure.said(found)._asdict().items()},
  )


def _wrapped(text: str) -> str:
  return textwrap.fill(text, 88, break_long_words=False, break_on_hyphens=False)


def _machine(found: Mapping[str, Any]) -> str:
  revisions = (part["revision"] or "unknown" for part in found["parts"].values())
  machine = found["evidence"] | {
    "load_before": _span(found, "load_before"),
    "revision": ", ".join(dict.fromkeys(revisions)),
  }
  others = f"| others meanwhile | {_span(found, 'others')} processors |"
  return (
    f"{page.machine(machine)}\n{others}\n| time | {runner.minutes(found):.1f} minutes |"
  )


def _span(found: Mapping[str, Any], key: str) -> str:
  """The least and the most of all parts."""
  values = [part[key] for part in found["parts"].values()]
  return " to ".join(dict.fromkeys(f"{end}" for end in (min(values), max(values))))


def _draw(figure: Figure, found: Mapping[str, Any], path: pathlib.Path) -> None:
  from matplotlib.figure import Figure as Canvas

  canvas = Canvas(figsize=figure.size, layout="constrained")
  figure.draw(found, canvas)
  # Without its version, the same evidence gives the same bytes.
  canvas.savefig(path, dpi=110, metadata={"Software": None})
