"""Compares image codecs: size, and speed on one processor.

python -m tools.bench codecs
python -m tools.bench codecs --sets=photos,textures=more/textures --plot=codecs.png
python -m tools.bench codecs --sets=photos --screens=screens --masks=masks --deep=scans
"""

import statistics
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tools.bench import codec_cases, codec_sets, codec_worker, instructions, turns
from tools.bench.codec_report import plot, section, text  # noqa: F401

_ENVIRONMENT = {
  # malloc keeps the memory of a freed image instead of giving it back, so that no codec
  # is measured by the page faults of its output. The same for all.
  "MALLOC_MMAP_THRESHOLD_": str(32 << 20),
  "MALLOC_TRIM_THRESHOLD_": str(4 << 30),
  "TF_NUM_INTRAOP_THREADS": "1",
  "TF_NUM_INTEROP_THREADS": "1",
}
_WINDOWS = 60


def _run(
  stage: Callable[..., Any], images: codec_sets.ImageSet, **arguments: Any
) -> dict[str, Any]:
  """Runs a function of `codec_worker` in a fresh process."""
  return turns.apart(stage, _ENVIRONMENT, images=images._asdict(), **arguments)


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
  kinds = (codec_sets.SCREENS, codec_sets.MASKS, codec_sets.DEEP)
  folders = dict(zip(kinds, (screens, masks, deep)))
  photographs = codec_sets.photographs(sets)
  measured: dict[str, dict[str, Any]] = {}
  found: dict[str, list[dict[str, Any]]] = {}
  entries = {}
  for images in (*photographs, *codec_sets.others(folders, drawings)):
    name = images.name
    say(f"{name}: sizes")
    measured[name], found[name] = _run(codec_worker.sizes, images), []
    for number in range(rounds):
      say(f"{name}: speeds, process {number + 1} of {rounds}")
      found[name].append(
        _run(codec_worker.speeds, images, side=side, squares=squares, passes=passes)
      )
    entries[name] = {"kind": images.kind, **_entry([measured[name]], found[name])}
  say("windows")
  names = [images.name for images in photographs]
  return {
    "instructions": instructions.runnable()[-1],
    "codecs": {case.name: case.what for case in codec_cases.cases()},
    "sets": entries,
    "all": _entry(
      [measured[name] for name in names],
      [rates for name in names for rates in found[name]],
    ),
    "windows": _run(codec_worker.windows, photographs[0], count=_WINDOWS),
  }


def _entry(
  measured: Sequence[dict[str, Any]], found: Sequence[dict[str, Any]]
) -> dict[str, Any]:
  """Sizes and speeds of sets together.

  Args:
    measured: what `codec_worker.sizes` gives of each.
    found: what every process of `codec_worker.speeds` gave.
  """
  raw = sum(one["pixel_bytes"] for one in measured)
  png = sum(one["codecs"]["png"]["bytes"] for one in measured)
  stored = [one["stored_png_bytes"] for one in measured]
  codecs = {}
  for name in found[0]["best"]:
    # Two decoders of one file.
    same = "png" if name == "png tf.io" else name
    sizes = [one["codecs"][same] for one in measured]
    total = sum(size["bytes"] for size in sizes)
    codecs[name] = {
      "bytes": total,
      "ratio": total / raw,
      "to_png": total / png,
      "worst_to_png": max(max(size["to_png"]) for size in sizes),
      "encode_gb_per_s": raw / sum(size["encode_seconds"] for size in sizes) / 1e9,
      "decode_gb_per_s": _spread(rate for one in found for rate in one["best"][name]),
    }
    if name in found[0]["avx2"]:
      rates = (rate for one in found for rate in one["avx2"][name])
      codecs[name]["avx2_gb_per_s"] = _spread(rates)
  return {
    "images": sum(one["images"] for one in measured),
    "pixel_bytes": raw,
    "stored_png_bytes": None if None in stored else sum(stored),
    "codecs": codecs,
  }


def _spread(rates: Iterable[float]) -> dict[str, float]:
  low, middle, high = statistics.quantiles(rates, n=4, method="inclusive")
  return {"median": middle, "q1": low, "q3": high}
