"""Times how fast JPEG files become a dataset, beside other writers.

  python -m tools.bench ingest --input=photos --webdataset_python=wds/bin/python

Each writer runs in a fresh process, in turn, and reads the same files from a warm page
cache. Ours is `convert` to JPEG, which copies files.
"""

import functools
import os
import pathlib
import shutil
import time
from collections.abc import Callable
from typing import Any

from liquid_tf._convert.convert import convert
from liquid_tf._measure import fresh
from liquid_tf.errors import WrongArgument
from tools.bench import page, turns

_PEER = pathlib.Path(__file__).with_name("peer_writers.py")
_EXTENSIONS = (".jpg", ".jpeg")


def ours(source: str, output: str, workers: int, check: str) -> dict[str, float]:
  """Converts once, from an empty output.

  Args:
    source: folder of images.
    output: of the dataset.
    workers: images at a time.
    check: as `convert` takes it.

  Returns:
    `images`, `seconds` and `cpu_seconds`.
  """
  shutil.rmtree(output, ignore_errors=True)
  begin, cpu = time.perf_counter(), time.process_time()
  report = convert(source, output, "jpeg", workers=workers, check=check, progress=False)
  seconds, cpu_seconds = time.perf_counter() - begin, time.process_time() - cpu
  return {
    "images": report.samples,
    "seconds": seconds,
    "cpu_seconds": cpu_seconds,
  }


def bench(
  folder: str,
  *,
  input: str,  # noqa: A002
  threads: int,
  rounds: int,
  webdataset_python: str | None,
  ffcv_python: str | None,
  say: Callable[[str], None],
) -> dict[str, Any]:
  """Writes the files with each writer in turn.

  Args:
    folder: gets what they write.
    input: folder of JPEG files.
    threads: images at a time, where a writer has such.
    rounds: of each.
    webdataset_python: interpreter that has webdataset; None leaves it out.
    ffcv_python: likewise, FFCV.
    say: is told of progress.

  Returns:
    `images`, `file_bytes` (mean), `threads` and `writers` [{name, rates, cpu}]: images
    a second of each round, and of processor time where that is known.

  Raises:
    ValueError: there are no JPEG files.
    ChildProcessError: a writer failed.
  """
  files = sorted(
    path
    for path in pathlib.Path(input).rglob("*")
    if path.suffix.lower() in _EXTENSIONS and path.is_file()
  )
  if not files:
    raise WrongArgument("input", input, "must be a folder of JPEG files")
  stored = sum(len(path.read_bytes()) for path in files)
  output = os.path.join(folder, "written")
  own = {"source": os.path.abspath(input), "output": output, "workers": threads}
  sides = {
    f"liquid_tf, {name}": functools.partial(turns.apart, ours, check=check, **own)
    for name, check in (("every image decoded once", "pixels"), ("headers", "headers"))
  }
  request = {"files": [os.fspath(file) for file in files], "output": output}
  request["threads"] = threads
  for name, python, writer in (
    ("webdataset, bytes copied", webdataset_python, "webdataset"),
    ("webdataset, every image decoded once", webdataset_python, "webdataset_decoded"),
    ("FFCV, JPEG encoded again", ffcv_python, "ffcv"),
  ):
    if python:
      # Isolated: neither this interpreter's packages nor this folder's modules.
      words = [python, "-I", os.fspath(_PEER)]
      peer = request | {"writer": writer}
      sides[name] = functools.partial(fresh.ask, words, peer, {})

  def told(name: str, answers: list[dict[str, Any]]) -> None:
    last = answers[-1]
    rate = last["images"] / last["seconds"]
    say(f"{name}, {len(answers)} of {rounds}: {rate:.0f} images/s")

  found = turns.in_turn(sides, rounds, told)
  return {
    "images": len(files),
    "file_bytes": stored / len(files),
    "threads": threads,
    "writers": [
      {
        "name": name,
        "rates": [one["images"] / one["seconds"] for one in answers],
        "cpu": [
          one["images"] / one["cpu_seconds"] for one in answers if one["cpu_seconds"]
        ],
        "versions": answers[-1].get("versions", {}),
      }
      for name, answers in found.items()
    ],
  }


def text(result: dict[str, Any]) -> str:
  """The table of writers."""
  return page.columns(
    result["writers"],
    [
      ("writer", lambda one: one["name"]),
      ("images/s", lambda one: page.span(one["rates"])),
      ("of a processor", lambda one: page.span(one["cpu"]) if one["cpu"] else ""),
    ],
  )


def section(result: dict[str, Any]) -> page.Section:
  """What was measured, how, with what, and the table."""
  versions = {}
  for one in result["writers"]:
    versions |= one["versions"]
  return page.section(
    "ingest",
    result,
    kilobytes=f"{result['file_bytes'] / 1e3:.0f}",
    table=text(result),
    versions=page.versions(versions) or "none",
  )
