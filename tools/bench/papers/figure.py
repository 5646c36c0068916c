"""What a figure of a paper is made of."""

import dataclasses
import pathlib
from collections.abc import Callable, Mapping
from typing import Any

from tools.bench.codec_sets import ImageSet

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


@dataclasses.dataclass(frozen=True)
class Figure:
  """A figure or table of a paper, and how it is measured again.

  `Evidence` below is the content of a figure's JSON file; see `runner`.

  Attributes:
    name: as the command takes it, such as "l3-table-4".
    title: of its section, such as "L3, table 4: sizes".
    paper: what the paper measured and found, in a sentence or two.
    parts: what to run, by name, in this order.
    about: Evidence to what was run here, in a sentence or two.
    table: Evidence to Markdown, the paper's numbers beside ours.
    why: Evidence to why they differ.
    draw: draws Evidence into an empty matplotlib figure, in the paper's form.
    size: of that figure, in inches.
    timed: whether other programs change its numbers, as they do speeds.
    why_not: why it cannot be run on this machine, or None where it can.
    lacks: what the images of a Setting have not got that it needs, or None.
  """

  name: str
  title: str
  paper: str
  parts: Callable[[Setting], Mapping[str, Part]]
  about: Callable[[Mapping[str, Any]], str]
  table: Callable[[Mapping[str, Any]], str]
  why: Callable[[Mapping[str, Any]], str]
  draw: Callable[[Mapping[str, Any], Any], None]
  size: tuple[float, float] = (7.0, 4.0)
  timed: bool = True
  why_not: Callable[[], str | None] = lambda: None
  lacks: Callable[[Setting], str | None] = lambda setting: None


def results(evidence: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
  """What each part of a figure returned, by name."""
  return {name: part["result"] for name, part in evidence["parts"].items()}
