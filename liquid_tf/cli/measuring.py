"""Flags and results that all measuring commands share."""

import json
import os
import pathlib
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


def define_threads(values: Flags) -> None:
  """Defines --threads."""
  values.integer("threads", 0, "threads of tf.data; 0: one a processor", 0)


def define_batch_size(values: Flags) -> None:
  """Defines --batch_size."""
  values.integer("batch_size", 32, "images in a batch", 1)


def threads(values: Flags) -> int:
  """The value of --threads: by default the processors there are."""
  return values.threads or len(os.sched_getaffinity(0))


def finish(values: Flags, result: dict[str, Any]) -> int:
  """Writes a result where --output and --json say; returns the exit code."""
  if values.output:
    pathlib.Path(values.output).write_text(json.dumps(result, indent=1) + "\n")
  if values.json:
    tool.print_json(result)
  return 0
