"""Which figures of the papers there are."""

import importlib

from tools.bench.papers.figure import Figure

# In the order of the page. Module NAME, with _ for -, has the figure.
FIGURES = (
  "liquid-2",
  "liquid-3",
  "liquid-6-png",
  "liquid-6-jpeg",
  "liquid-7",
  "l3-table-4",
  "l3-7a",
  "l3-7b",
  "l3-8",
  "l3-9",
  "l3-10",
  "pcr-4",
  "pcr-5",
  "pcr-6",
  "pcr-8",
  "mxnet",
)


def load(name: str) -> Figure:
  """The figure of a name in FIGURES; its module is imported now."""
  module = f"{__package__}.{name.replace('-', '_')}"
  return importlib.import_module(module).FIGURE


def every() -> list[Figure]:
  """All figures, in order."""
  return [load(name) for name in FIGURES]
