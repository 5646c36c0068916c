"""The figures of the papers, and what each is made of."""

import contextlib
import dataclasses
import functools
import importlib
import os
import pathlib
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from liquid_tf._measure import fresh, throttle
from tools.bench import instructions, memory_group, page
from tools.bench.codec_sets import ImageSet

_Item = TypeVar("_Item")
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

  def few(self, items: Sequence[_Item]) -> Sequence[_Item]:
    """These items, or only the first one where the run is quick."""
    return items[:1] if self.quick else items

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

  Its module in this package, which is imported when it is needed, has these functions.
  `found` is what each part returned, by name; where there is one part, only that.
    parts(setting, *of): what to run, by name, in this order; where there is one part,
      measure(setting) runs it.
    words(found, *of): what the text knows beside the values of the first part's result
      and `set`, the name of the first set.
    table(found): Markdown, the paper's numbers beside ours.
    draw(found, canvas): draws into an empty matplotlib figure, in the paper's form.
    lacks(setting), where there is one: what these images have not got that it needs, or
      None.

  `evidence` below is the content of a figure's JSON file; see `runner`.

  Attributes:
    name: as the command takes it, such as "l3-table-4"; that of its module and of its
      text.
    title: of its section, such as "L3, table 4: sizes".
    size: of the plot, in inches.
    part: name of the only part; "" where there are several.
    needs: of the machine, of _NEEDS.
    base: name of the module and of the text, where it is not the figure's.
    of: which of the figures of one module it is.
    timed: whether other programs change its numbers, as they do speeds.
  """

  name: str
  title: str
  size: tuple[float, float] = (7.0, 4.0)
  part: str = ""
  needs: Sequence[str] = ()
  base: str = ""
  of: tuple[str, ...] = ()
  timed: bool = True

  def why_not(self) -> str | None:
    """Why it cannot be run on this machine, or None where it can."""
    return next(filter(None, (_NEEDS[need]() for need in self.needs)), None)

  def lacks(self, setting: Setting) -> str | None:
    """What the images of a Setting have not got that it needs, or None."""
    return getattr(self._module, "lacks", lambda setting: None)(setting)

  def parts(self, setting: Setting) -> Mapping[str, Part]:
    """What to run, by name, in this order."""
    if self.part:
      return {self.part: functools.partial(self._module.measure, setting)}
    return self._module.parts(setting, *self.of)

  def said(self, evidence: Mapping[str, Any]) -> Said:
    """What the page says of it."""
    first_set = {"set": next(iter(evidence["settings"]["sets"]), "")}
    first_result = next(iter(results(evidence).values()))
    words = self._module.words(self._found(evidence), *self.of)
    name = f"papers/{self.base or self.name}"
    text = page.fill(name, **first_set | first_result | words)
    return Said(*(" ".join(each.split()) for each in text.split("\n\n")))

  def table(self, evidence: Mapping[str, Any]) -> str:
    """Its numbers, in Markdown."""
    return self._module.table(self._found(evidence))

  def draw(self, evidence: Mapping[str, Any], canvas: Any) -> None:
    """Draws it into an empty matplotlib figure."""
    self._module.draw(self._found(evidence), canvas)

  @property
  def _module(self) -> Any:
    name = (self.base or self.name).replace("-", "_")
    return importlib.import_module(f"{__package__}.{name}")

  def _found(self, evidence: Mapping[str, Any]) -> dict[str, Any]:
    found = results(evidence)
    return found[self.part] if self.part else found


def _two_cores() -> str | None:
  if len(os.sched_getaffinity(0)) > 1:
    return None
  return "it takes two processors, of which one is the accelerator"


def _vectors() -> str | None:
  if instructions.runnable() != ["scalar"]:
    return None
  return "this processor has none of the vector instructions that L3 is decoded with"


# Why a machine has none of these, or None where it has: two cores, a disk that can be
# held to a rate, memory that can be, and vector instructions.
_NEEDS: dict[str, Callable[[], str | None]] = {
  "cores": _two_cores,
  "disk": lambda: throttle.why_not(),
  "memory": lambda: memory_group.why_not(),
  "vectors": _vectors,
}
_DISK, _CACHES = ("disk",), ("disk", "memory")
_TRAINING = ("cores", *_CACHES)

# By name, in the order of the page.
FIGURES = {
  figure.name: figure
  for figure in (
    Figure("liquid-2", "Liquid, figure 2: use of CPU, disk and accelerator by format",
           (11.0, 3.0), "training", _TRAINING),
    Figure("liquid-3", "Liquid, figure 3: loading and decoding along mixes",
           (9.0, 4.0), needs=_DISK),
    Figure("liquid-6-png", "Liquid, figure 6: preparing PNG with a cache of 30 %",
           (9.0, 4.0), needs=_CACHES, base="liquid-6", of=("png",)),
    Figure("liquid-6-jpeg", "Liquid, figure 6: preparing JPEG with a cache of 30 %",
           (9.0, 4.0), needs=_CACHES, base="liquid-6", of=("jpeg",)),
    Figure("liquid-7", "Liquid, figure 7: training light and heavy networks",
           (8.0, 4.0), needs=_TRAINING),
    Figure("l3-table-4", "L3, table 4: sizes of lossless formats",
           (9.0, 4.0), timed=False),
    Figure("l3-7a", "L3, figure 7 (a): loading and decoding lossless formats"),
    Figure("l3-7b", "L3, figure 7 (b): training with lossless formats",
           part="training", needs=_TRAINING),
    Figure("l3-8", "L3, figure 8: loading and decoding lossy formats by quality",
           (9.0, 3.2)),
    Figure("l3-9", "L3, figure 9 and tables 1 and 3: training on lossy formats",
           (9.0, 3.6)),
    Figure("l3-10", "L3, figure 10: the decoder without its parts",
           (7.0, 3.6), needs=("vectors",)),
    Figure("pcr-4", "PCR, figure 4: ResNet-18, accuracy against time",
           needs=_DISK, of=("resnet18",)),
    Figure("pcr-5", "PCR, figures 5 and 7: bytes and similarity of scan groups",
           (8.0, 3.2), "scan groups", timed=False),
    Figure("pcr-6", "PCR, figure 6: ShuffleNetV2, accuracy against time",
           needs=_DISK, base="pcr-4", of=("shufflenet_v2",)),
    Figure("pcr-8", "PCR, figure 8: stalls of each batch by scan groups",
           (9.0, 3.0), "stalls", _DISK),
    Figure("mxnet", "MXNet: from a cold .rec file to batches, and packing", (8.0, 3.2)),
  )
}  # fmt: skip


def results(evidence: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
  """What each part of a figure returned, by name."""
  return {name: part["result"] for name, part in evidence["parts"].items()}


def apart(function: str, **arguments: Any) -> dict[str, Any]:
  """Calls a function of this package, MODULE:NAME, in a fresh process.

  Raises:
    ChildProcessError: it failed.
  """
  return fresh.run({"function": f"{__package__}.{function}", **arguments})


@contextlib.contextmanager
def emptied(folder: pathlib.Path) -> Iterator[pathlib.Path]:
  """An empty folder to work in, which is removed again after a part that has ended."""
  shutil.rmtree(folder, ignore_errors=True)
  folder.mkdir(parents=True)
  yield folder
  shutil.rmtree(folder)
