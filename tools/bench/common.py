"""Flags of benchmarks, a folder to work in, and the page that gets a section."""

import contextlib
import os
import tempfile
from collections.abc import Iterator

from liquid_tf.cli import tool
from liquid_tf.cli.flag_values import Flags


def define_workdir(values: Flags) -> None:
  """Defines --workdir."""
  values.string(
    "workdir",
    None,
    "keep here what is made, and use it again; by default it is removed",
  )


def define_photographs(values: Flags, *, images: int = 256, side: int = 1024) -> None:
  """Defines which photographs a benchmark makes: --images, --side and --data."""
  values.integer("images", images, "photographs", 1)
  values.integer("side", side, "of each, in pixels", 1)
  values.string(
    "data", None, "folder of photographs to cut them from; by default scikit-image's"
  )


def define_reading(values: Flags) -> None:
  """Defines how files are read: --block, --depth and --reader."""
  values.integer("block", 4 << 20, "bytes of a read")
  values.integer("depth", 8, "most reads under way at once")
  values.choice(
    "reader", "auto", ["auto", "io_uring", "threads", "buffered"], "how to read"
  )


def define_rates(values: Flags) -> None:
  """Defines --rates."""
  values.words(
    "rates",
    ["0", "100", "400"],
    "MB/s that the disk is held to, which takes root; 0: as fast as it is",
  )


def numbers(name: str, values: list[str], most: float) -> list[float]:
  """Reads a list flag of numbers from 0 to `most`.

  Raises:
    tool.FlagsError: one is none, or there are none.
  """
  try:
    result = [float(value) for value in values]
  except ValueError:
    result = []
  if not result or not all(0 <= number <= most for number in result):
    raise tool.FlagsError(
      f"--{name} ({','.join(values)}) must be numbers from 0 to {most:g}"
    )
  return result


def rates(values: Flags) -> list[int]:
  """What --rates says, in bytes per second."""
  return [int(rate * 1e6) for rate in numbers("rates", values.rates, 1e6)]


@contextlib.contextmanager
def folder(workdir: str | None, *, beside: str | None = None) -> Iterator[str]:
  """A folder to work in: --workdir, or one that is removed at the end.

  Args:
    workdir: what --workdir says.
    beside: where the other one is made; None for the system's place.
  """
  with tempfile.TemporaryDirectory(prefix="liquid_bench_", dir=beside) as temporary:
    yield os.path.abspath(workdir or temporary)


def write_section(values: Flags, title: str, section: str) -> None:
  """Writes the section of a page where --report says."""
  from tools.bench import page

  if values.report:
    page.write_section(values.report, title, section)
