"""Runs benchmarks in this process, which has imported TensorFlow."""

import contextlib
import os
import pathlib
import sys
from collections.abc import Iterator
from typing import Any
from unittest import mock

import commands

from liquid_tf._measure import fresh
from tools.bench.commands import BENCH


def run(*words: str) -> commands.Done:
  """Runs `python -m tools.bench` with these words; what it measures, too, is here."""
  with here(), mock.patch.object(sys, "argv", ["tools.bench", *words]):
    return commands.run(*words, program=BENCH)


def papers(root: pathlib.Path, *words: str) -> commands.Done:
  """Runs `papers --quick` with a folder for all that it makes.

  That is `evidence`, `papers.md` with its plots, and `work`. What it measures is in
  processes of their own, but for importing TensorFlow; advice is for a machine whose
  speed is known.
  """
  places = {"evidence": "evidence", "page": "papers.md", "workdir": "work"}
  flags = [f"--{flag}={root}/{place}" for flag, place in places.items()]
  with commands.measuring_in_children("tools.bench.papers.core_aside:advise"):
    return commands.run("papers", *words, "--quick", "--json", *flags, program=BENCH)


@contextlib.contextmanager
def here() -> Iterator[None]:
  """Measures in this process what would be measured in fresh ones, and sooner."""
  processors = os.sched_getaffinity(0)
  with mock.patch.object(fresh, "run", _answer):
    yield
  os.sched_setaffinity(0, processors)


def _answer(request: dict[str, Any], environment: Any = None) -> dict[str, Any]:
  with mock.patch.dict(os.environ, environment or {}):
    return fresh.measurement(fresh.answer(request))
