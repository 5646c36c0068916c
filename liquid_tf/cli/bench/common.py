"""What benchmarks do alike: flags, a folder to work in, evidence, results."""

import contextlib
import json
import os
import pathlib
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

from liquid_tf.cli import tool
from liquid_tf.cli.flag_values import Flags


def define_results(values: Flags, *, report: bool = True) -> None:
  """Defines where a result goes: --output, --json and --report."""
  values.string("output", None, "write the JSON here too")
  values.switch("json", "print one JSON object to stdout")
  if report:
    values.string("report", None, "page of Markdown that gets the result as a section")


def define_rounds(values: Flags) -> None:
  """Defines --rounds."""
  values.integer("rounds", 2, "processes of each kind, in turn", 1)


def define_workdir(values: Flags) -> None:
  """Defines --workdir."""
  values.string(
    "workdir",
    None,
    "keep here what is made, and use it again; by default it is removed",
  )


def define_threads(values: Flags) -> None:
  """Defines --threads."""
  values.integer("threads", 0, "threads of tf.data; 0: one a processor", 0)


def define_photographs(values: Flags, *, images: int = 256, side: int = 1024) -> None:
  """Defines which photographs a benchmark makes: --images, --side and --data."""
  values.integer("images", images, "photographs", 1)
  values.integer("side", side, "of each, in pixels", 1)
  values.string(
    "data", None, "folder of photographs to cut them from; by default scikit-image's"
  )


def define_batch_size(values: Flags) -> None:
  """Defines --batch_size."""
  values.integer("batch_size", 32, "images in a batch", 1)


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


def threads(values: Flags) -> int:
  """What --threads says: by default the processors there are."""
  return values.threads or len(os.sched_getaffinity(0))


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


def with_evidence(place: str, measure: Callable[[], dict[str, Any]]) -> dict[str, Any]:
  """Measures; adds what shows how: machine, versions, command, load.

  Args:
    place: on the disk that is measured.
    measure: gives the result.
  """
  from liquid_tf._measure import evidence

  load = evidence.load()
  return measure() | {"evidence": {**evidence.evidence(place), "load_before": load}}


def finish(values: Flags, result: dict[str, Any]) -> int:
  """Writes a result where --output and --json say; returns the exit code."""
  if values.output:
    pathlib.Path(values.output).write_text(json.dumps(result, indent=1) + "\n")
  if values.json:
    tool.print_json(result)
  return 0


def write_section(values: Flags, title: str, section: str) -> None:
  """Writes the section of a page where --report says."""
  from liquid_tf.cli.bench import page

  if values.report:
    page.write_section(values.report, title, section)
