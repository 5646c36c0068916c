"""Size and decoding speed of image codecs, side by side on one processor."""

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import Any

from liquid_tf._measure import evidence
from liquid_tf.cli import wheel_images

# malloc keeps the memory of a freed image instead of giving it back, so that no codec
# is measured by the page faults of its output. The same for all.
_MALLOC = {
  "MALLOC_MMAP_THRESHOLD_": str(32 << 20),
  "MALLOC_TRIM_THRESHOLD_": str(4 << 30),
}


def _run(stage: str, **arguments: Any) -> dict[str, Any]:
  """Runs a stage of `codec_worker` in a fresh process on one processor."""
  path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
  cpu = max(os.sched_getaffinity(0))
  done = subprocess.run(
    [sys.executable, "-m", "liquid_tf.cli.bench.codec_worker"],
    input=json.dumps({"stage": stage, **arguments}),
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


def parse_sets(folders: list[str]) -> dict[str, list[str]]:
  """Finds the files of each set.

  Args:
    folders: "FOLDER", named by its last part, or "NAME=FOLDER"; none for the
      photographs of scikit-image.

  Returns:
    Paths by name of set; no paths mean scikit-image's.

  Raises:
    ValueError: a folder without images, or a name twice.
  """
  if not folders:
    return {"skimage": []}
  sets = {}
  for text in folders:
    name, equals, folder = text.partition("=")
    if not equals:
      name, folder = os.path.basename(os.path.normpath(text)), text
    if name in sets:
      raise ValueError(f'sets name "{name}" twice; "NAME=FOLDER" gives another name')
    sets[name] = [os.fspath(path) for path in wheel_images.image_files(folder)]
  return sets


def _spread(rates: list[float]) -> dict[str, float]:
  low, _, high = statistics.quantiles(rates, n=4, method="inclusive")
  return {"median": statistics.median(rates), "q1": low, "q3": high}


def bench(
  sets: Mapping[str, list[str]],
  *,
  side: int,
  images: int,
  passes: int,
  rounds: int,
  say: Callable[[str], None],
) -> dict[str, Any]:
  """Measures every codec on every set.

  Sizes are of whole photographs. Speeds are of squares, decoded by every codec in turn,
  `passes` times in each of `rounds` fresh processes that are pinned to one processor;
  time is processor time, of all threads.

  Args:
    sets: paths by name; see `parse_sets`.
    side: of a square, in pixels.
    images: squares of each set.
    passes: at least 2.
    rounds: processes for each set.
    say: takes a line of progress.

  Returns:
    `sets`, per name `images`, `pixel_bytes` and per codec `ratio` (bytes of files to
    bytes of pixels), `to_png` and `worst_to_png` (bytes to those of PNG),
    `encode_gb_per_s` and `decode_gb_per_s` (median and quartiles; pixels, one
    processor); `all`, the sets together; `windows`, per codec the time of a 224x224
    window relative to its 2048x1024 image; `codecs`, what each name stands for;
    `evidence`.

  Raises:
    ChildProcessError: a measurement failed; the message says why.
  """
  from liquid_tf.cli.bench import codec_cases

  before = {**evidence.evidence(), "load_before": evidence.load()}
  result = {"side": side, "squares": images, "passes": passes, "rounds": rounds}
  result["codecs"] = {case.name: case.what for case in codec_cases.cases()}
  result["sets"] = {}
  pooled: dict[str, list[float]] = {}
  for name, paths in sets.items():
    say(f"{name}: sizes")
    measured = _run("sizes", paths=paths)
    rates: dict[str, list[float]] = {}
    for number in range(rounds):
      say(f"{name}: speeds, process {number + 1} of {rounds}")
      found = _run("speeds", paths=paths, side=side, images=images, passes=passes)
      for codec, values in found.items():
        rates.setdefault(codec, []).extend(values)
        pooled.setdefault(codec, []).extend(values)
    result["sets"][name] = _entry(measured, rates)
  result["all"] = _together(list(result["sets"].values()), pooled)
  say("windows")
  result["windows"] = _run("windows", paths=next(iter(sets.values())), count=60)
  result["evidence"] = before
  return result


def _entry(measured: dict[str, Any], rates: dict[str, list[float]]) -> dict[str, Any]:
  codecs = {}
  raw = measured["pixel_bytes"]
  png = measured["codecs"]["png"]["bytes"]
  for name, values in rates.items():
    # Two decoders of one file.
    size = measured["codecs"]["png" if name == "png tf.io" else name]
    codecs[name] = {
      "bytes": size["bytes"],
      "ratio": size["bytes"] / raw,
      "to_png": size["bytes"] / png,
      "worst_to_png": max(size["to_png"]),
      "encode_gb_per_s": size["encode_gb_per_s"],
      "decode_gb_per_s": _spread(values),
    }
  return {"images": measured["images"], "pixel_bytes": raw, "codecs": codecs}


def _together(
  entries: list[dict[str, Any]], pooled: dict[str, list[float]]
) -> dict[str, Any]:
  raw = sum(entry["pixel_bytes"] for entry in entries)
  codecs = {}
  for name, values in pooled.items():
    parts = [entry["codecs"][name] for entry in entries]
    size = sum(part["bytes"] for part in parts)
    png = sum(entry["codecs"]["png"]["bytes"] for entry in entries)
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
      "decode_gb_per_s": _spread(values),
    }
  images = sum(entry["images"] for entry in entries)
  return {"images": images, "pixel_bytes": raw, "codecs": codecs}
