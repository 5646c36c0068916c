"""Compares image codecs: size, and speed on one processor.

python -m tools.bench codecs
python -m tools.bench codecs --sets=photos,textures=more/textures --plot=codecs.png
python -m tools.bench codecs --sets=photos --screens=screens --masks=masks --deep=scans
"""

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any

from liquid_tf._native import instructions
from tools.bench import codec_sets
from tools.bench.codec_report import plot, section, text  # noqa: F401

# malloc keeps the memory of a freed image instead of giving it back, so that no codec
# is measured by the page faults of its output. The same for all.
_MALLOC = {
  "MALLOC_MMAP_THRESHOLD_": str(32 << 20),
  "MALLOC_TRIM_THRESHOLD_": str(4 << 30),
}
_WINDOWS = 60


def _run(stage: str, images: codec_sets.ImageSet, **arguments: Any) -> dict[str, Any]:
  """Runs a stage of `codec_worker` in a fresh process on one processor."""
  path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
  cpu = max(os.sched_getaffinity(0))
  done = subprocess.run(
    [sys.executable, "-m", "tools.bench.codec_worker"],
    input=json.dumps({"stage": stage, "set": codec_sets.request(images), **arguments}),
    env={**os.environ, **_MALLOC, "PYTHONPATH": path},
    capture_output=True,
    text=True,
    preexec_fn=lambda: os.sched_setaffinity(0, {cpu}),
  )
  if done.returncode != 0:
    last = (done.stderr.strip() or "it said nothing").splitlines()[-1]
    raise ChildProcessError(
      f"the measuring process ended with code {done.returncode}: {last}"
    )
  answer = json.loads(done.stdout.splitlines()[-1])
  if "error" in answer:
    raise ChildProcessError(answer["error"])
  return answer


def _spread(rates: list[float]) -> dict[str, float]:
  low, _, high = statistics.quantiles(rates, n=4, method="inclusive")
  return {"median": statistics.median(rates), "q1": low, "q3": high}


def bench(
  place: None = None,
  *,
  sets: Sequence[str] = (),
  screens: str | None = None,
  masks: str | None = None,
  deep: str | None = None,
  drawings: int = 0,
  side: int,
  squares: int,
  passes: int,
  rounds: int,
  say: Callable[[str], None],
) -> dict[str, Any]:
  """Measures every codec on every set that it can hold.

  Sizes are of whole images. Speeds are of squares, decoded by every codec in turn,
  `passes` times in each of `rounds` fresh processes that are pinned to one processor;
  time is processor time, of all threads.

  Args:
    place: as of all benchmarks; nothing is written.
    sets: folders of photographs, see `codec_sets.photographs`.
    screens: folder of screenshots, or None, as the next two.
    masks: folder of images of one channel.
    deep: folder of images, of which PNG files of 16 bits count.
    drawings: to make.
    side: of a square, in pixels.
    squares: cut from each set.
    passes: at least 2.
    rounds: processes for each set.
    say: takes a line of progress.

  Returns:
    `sets`, per name `kind`, `images`, `pixel_bytes`, `stored_png_bytes` and per codec
    `bytes`, `ratio` (to the pixels), `to_png` and `worst_to_png` (to PNG),
    `encode_gb_per_s`, `decode_gb_per_s` and for L3, where the machine has AVX2,
    `avx2_gb_per_s` (median and quartiles; pixels, one processor); `all`, the sets of
    photographs together; `windows`, per codec the time of a 224x224 window relative to
    its 2048x1024 image; `codecs`, what each name stands for; `instructions`, the best
    that L3 has here.

  Raises:
    ValueError: a folder has no such images.
    ChildProcessError: a measurement failed; the message says why.
  """
  from tools.bench import codec_cases

  kinds = (codec_sets.SCREENS, codec_sets.MASKS, codec_sets.DEEP)
  others = dict(zip(kinds, (screens, masks, deep)))
  every = [*codec_sets.photographs(sets), *codec_sets.others(others, drawings)]
  result = {"side": side, "squares": squares, "passes": passes, "rounds": rounds}
  result["instructions"] = instructions.runnable()[-1]
  result["codecs"] = {case.name: case.what for case in codec_cases.cases()}
  result["sets"] = {}
  pooled: dict[str, dict[str, list[float]]] = {"best": {}, "avx2": {}}
  for images in every:
    say(f"{images.name}: sizes")
    measured = _run("sizes", images)
    rates: dict[str, dict[str, list[float]]] = {"best": {}, "avx2": {}}
    for number in range(rounds):
      say(f"{images.name}: speeds, process {number + 1} of {rounds}")
      found = _run("speeds", images, side=side, squares=squares, passes=passes)
      _extend(rates, found)
      if images.kind == codec_sets.PHOTOGRAPHS:
        _extend(pooled, found)
    result["sets"][images.name] = {"kind": images.kind, **_entry(measured, rates)}
  photographs = [
    entry
    for entry in result["sets"].values()
    if entry["kind"] == codec_sets.PHOTOGRAPHS
  ]
  result["all"] = _together(photographs, pooled)
  say("windows")
  first = next(images for images in every if images.kind == codec_sets.PHOTOGRAPHS)
  result["windows"] = _run("windows", first, count=_WINDOWS)
  return result


def _extend(
  rates: dict[str, dict[str, list[float]]], found: dict[str, dict[str, list[float]]]
) -> None:
  for way, values in found.items():
    for codec, each in values.items():
      rates[way].setdefault(codec, []).extend(each)


def _speeds(name: str, rates: dict[str, dict[str, list[float]]]) -> dict[str, Any]:
  speeds = {"decode_gb_per_s": _spread(rates["best"][name])}
  if name in rates["avx2"]:
    speeds["avx2_gb_per_s"] = _spread(rates["avx2"][name])
  return speeds


def _entry(
  measured: dict[str, Any], rates: dict[str, dict[str, list[float]]]
) -> dict[str, Any]:
  codecs = {}
  raw = measured["pixel_bytes"]
  png = measured["codecs"]["png"]["bytes"]
  for name in rates["best"]:
    # Two decoders of one file.
    size = measured["codecs"]["png" if name == "png tf.io" else name]
    codecs[name] = {
      "bytes": size["bytes"],
      "ratio": size["bytes"] / raw,
      "to_png": size["bytes"] / png,
      "worst_to_png": max(size["to_png"]),
      "encode_gb_per_s": size["encode_gb_per_s"],
      **_speeds(name, rates),
    }
  kept = ("images", "pixel_bytes", "stored_png_bytes")
  return {**{key: measured[key] for key in kept}, "codecs": codecs}


def _together(
  entries: list[dict[str, Any]], rates: dict[str, dict[str, list[float]]]
) -> dict[str, Any]:
  raw = sum(entry["pixel_bytes"] for entry in entries)
  png = sum(entry["codecs"]["png"]["bytes"] for entry in entries)
  stored = [entry["stored_png_bytes"] for entry in entries]
  codecs = {}
  for name in rates["best"]:
    parts = [entry["codecs"][name] for entry in entries]
    size = sum(part["bytes"] for part in parts)
    seconds = sum(
      entry["pixel_bytes"] / part["encode_gb_per_s"]
      for entry, part in zip(entries, parts)
    )
    codecs[name] = {
      "bytes": size,
      "ratio": size / raw,
      "to_png": size / png,
      "worst_to_png": max(part["worst_to_png"] for part in parts),
      "encode_gb_per_s": raw / seconds,
      **_speeds(name, rates),
    }
  return {
    "images": sum(entry["images"] for entry in entries),
    "pixel_bytes": raw,
    "stored_png_bytes": None if None in stored else sum(stored),
    "codecs": codecs,
  }
