"""What a figure of a paper is made of."""

import contextlib
import dataclasses
import importlib
import os
import pathlib
import shutil
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from tools.bench import page
from tools.bench.codec_sets import ImageSet

# In the order of the page: the module of each, and its name there.
FIGURES = {
  "liquid-2": ("liquid_2", "FIGURE"),
  "liquid-3": ("liquid_3", "FIGURE"),
  "liquid-6-png": ("liquid_6", "PNG"),
  "liquid-6-jpeg": ("liquid_6", "JPEG"),
  "liquid-7": ("liquid_7", "FIGURE"),
  "l3-table-4": ("l3_table_4", "FIGURE"),
  "l3-7a": ("l3_7a_8", "LOSSLESS"),
  "l3-7b": ("l3_7b", "FIGURE"),
  "l3-8": ("l3_7a_8", "LOSSY"),
  "l3-9": ("l3_9", "FIGURE"),
  "l3-10": ("l3_10", "FIGURE"),
  "pcr-4": ("scan_accuracy", "RESNET"),
  "pcr-5": ("pcr_5", "FIGURE"),
  "pcr-6": ("scan_accuracy", "SHUFFLENET"),
  "pcr-8": ("pcr_8", "FIGURE"),
  "mxnet": ("mxnet", "FIGURE"),
}

# Measures something and returns what JSON can hold.
Part = Callable[[], dict[str, Any]]


@dataclasses.dataclass(frozen=True)
class Setting:
  """What a run is given.

  Attributes:
    sets: images, as --data names them; the first stand for those of the paper.
    quick: whether to take the least that works: its numbers say nothing.
    folder: to work in, on the disk that is measured; each figure has its own.
    say: receives a line of progress.
    dali_python: interpreter that has DALI; None leaves it out.
  """

  sets: tuple[ImageSet, ...]
  quick: bool
  folder: pathlib.Path
  say: Callable[[str], None]
  dali_python: str | None = None

  @property
  def record(self) -> dict[str, Any]:
    """What must be the same where a run goes on; no paths of this machine."""
    return {
      "sets": {images.name: len(images.paths) for images in self.sets},
      "quick": self.quick,
      "dali": self.dali_python is not None,
    }

  def photographs(self) -> str | None:
    """Makes a folder of links to the images of all sets; None for scikit-image's."""
    paths = [(s.name, path) for s in self.sets for path in s.paths]
    if not paths:
      return None
    place = self.folder / "photographs"
    place.mkdir(parents=True, exist_ok=True)
    for name, path in paths:
      link = place / f"{name}-{os.path.basename(path)}"
      if not link.is_symlink():
        link.symlink_to(os.path.abspath(path))
    return os.fspath(place)


class Said(NamedTuple):
  """What the page says of a figure: of the paper, of the run here, and why they differ.

  The template `text/papers/NAME.md` has these paragraphs.
  """

  paper: str
  here: str
  why: str


@dataclasses.dataclass(frozen=True)
class Figure:
  """A figure or table of a paper, and how it is measured again.

  `Evidence` below is the content of a figure's JSON file; see `runner`.

  Attributes:
    name: as the command takes it, such as "l3-table-4".
    title: of its section, such as "L3, table 4: sizes".
    parts: what to run, by name, in this order.
    words: Evidence to what its text knows beside the values of the first part's result
      and `set`, the name of the first set.
    table: Evidence to Markdown, the paper's numbers beside ours.
    draw: draws Evidence into an empty matplotlib figure, in the paper's form.
    size: of that figure, in inches.
    timed: whether other programs change its numbers, as they do speeds.
    why_not: why it cannot be run on this machine, or None where it can.
    lacks: what the images of a Setting have not got that it needs, or None.
    text: name of the template, where another figure's says the same.
  """

  name: str
  title: str
  parts: Callable[[Setting], Mapping[str, Part]]
  words: Callable[[Mapping[str, Any]], dict[str, Any]]
  table: Callable[[Mapping[str, Any]], str]
  draw: Callable[[Mapping[str, Any], Any], None]
  size: tuple[float, float] = (7.0, 4.0)
  timed: bool = True
  why_not: Callable[[], str | None] = lambda: None
  lacks: Callable[[Setting], str | None] = lambda setting: None
  text: str = ""

  def said(self, evidence: Mapping[str, Any]) -> Said:
    """What the page says of it."""
    first_set = {"set": next(iter(evidence["settings"]["sets"]), "")}
    given = first_set | first_result(evidence) | self.words(evidence)
    text = page.fill(f"papers/{self.text or self.name}", **given)
    return Said(*(" ".join(each.split()) for each in text.split("\n\n")))


def results(evidence: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
  """What each part of a figure returned, by name."""
  return {name: part["result"] for name, part in evidence["parts"].items()}


def first_result(evidence: Mapping[str, Any]) -> dict[str, Any]:
  """What the first, or only, part of a figure returned."""
  return next(iter(results(evidence).values()))


def style(
  axes: Any, grid: str = "both", legend: int | None = None, **labels: Any
) -> None:
  """Gives a plot its labels, its grid, and a legend of some size of letters, or none.

  Args:
    axes: of matplotlib.
    grid: "x", "y" or "both".
    legend: in points.
    **labels: `xlabel`, `title` and the like, as `axes.set` takes them.
  """
  axes.set(**labels)
  axes.grid(True, axis=grid, alpha=0.3)
  if legend:
    axes.legend(frameon=False, fontsize=legend)


def load(name: str) -> Figure:
  """The figure of a name in FIGURES; its module is imported now."""
  module, attribute = FIGURES[name]
  return getattr(importlib.import_module(f"{__package__}.{module}"), attribute)


def every() -> list[Figure]:
  """All figures, in order."""
  return [load(name) for name in FIGURES]


@contextlib.contextmanager
def emptied(folder: pathlib.Path) -> Iterator[pathlib.Path]:
  """An empty folder to work in, which is removed again after a part that has ended."""
  shutil.rmtree(folder, ignore_errors=True)
  folder.mkdir(parents=True)
  yield folder
  shutil.rmtree(folder)
