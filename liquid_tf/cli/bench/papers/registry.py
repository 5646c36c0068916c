"""Which figures of the papers there are, and which are not there yet."""

import importlib

from liquid_tf.cli.bench.papers.figure import Figure

# In the order of the page. Module NAME, with _ for -, has the figure.
FIGURES = (
  "liquid-3",
  "liquid-6-png",
  "liquid-6-jpeg",
  "l3-table-4",
  "l3-7a",
  "l3-8",
  "l3-9",
  "l3-10",
  "pcr-4",
  "pcr-5",
  "pcr-6",
  "pcr-8",
  "mxnet",
)

# What is missing, and why, by name.
WAITING = {
  "liquid-2": "use of CPU, disk and accelerator with PNG, raw, JPEG and the mix: it "
  "trains a network for minutes on a core set aside, and has not been built",
  "liquid-7": "training throughput of light and heavy networks: not built yet; it "
  "trains for a quarter of an hour",
  "l3-7b": "training throughput with lossless formats: not built yet; without a GPU "
  "the network decides the result",
}


def load(name: str) -> Figure:
  """The figure of a name in FIGURES; its module is imported now."""
  module = f"{__package__}.{name.replace('-', '_')}"
  return importlib.import_module(module).FIGURE


def every() -> list[Figure]:
  """All figures, in order."""
  return [load(name) for name in FIGURES]
