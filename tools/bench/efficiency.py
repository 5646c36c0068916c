"""Puts mixes of PNG and raw beside the limits of loading and of decoding.

  python -m tools.bench efficiency --images=1024 --workdir=photos
  python -m tools.bench efficiency --rates=0 --mixes=0,.5,1

Root may hold the disk back to some MB/s (--rates).
"""

import os
import pathlib
from collections.abc import Callable, Sequence
from typing import Any

from tools.bench import page, photographs, stages, turns

PROMISED = 0.9
_PARTS = 1000  # A mix is given to this part of a sample.


def bench(
  workdir: str | os.PathLike,
  *,
  images: int,
  side: int,
  mixes: Sequence[float],
  rates: Sequence[int],
  batch_size: int,
  cache: int | str,
  rounds: int,
  threads: int,
  repeat: int,
  data: str | None = None,
  say: Callable[[str], None] = lambda text: None,
) -> dict[str, Any]:
  """Measures a cell for each disk and mix, each in a fresh process.

  Args:
    workdir: gets the images and datasets; those that are there are used.
    images: photographs.
    side: of each, in pixels.
    mixes: shares of raw, 0 to 1; the rest is PNG.
    rates: bytes per second that the disk gives; 0 for all it has.
    batch_size: images in a batch.
    cache: of load and pipeline, as `liquid_tf.dataset` takes it.
    rounds: counted epochs of each stage.
    threads: of tf.data.
    repeat: times that the images come in an epoch of load and pipeline, by links to the
      same files: how an epoch begins and ends counts as little as in a large dataset.
    data: folder of images to cut photographs from; None for scikit-image's.
    say: receives a line of progress.

  Returns:
    `cells` [{rate, raw, stored_bytes, load, pipeline, decode (each as
    `stages.measure` gives it), lower ("load" or "decode"), efficiency}], and `skipped`:
    why throttled disks were not measured, or None.

  Raises:
    ValueError: an argument is wrong.
    ChildProcessError: a measurement failed.
  """
  root = pathlib.Path(workdir, f"{images}x{side}")
  say(f"making {images} photographs of {side}x{side} in {root}")
  photographs.make(root, images, side, data, threads, ("png",))
  datasets = {share: _dataset(root, share) for share in mixes}
  usable, skipped = turns.disks(rates, say)
  cells = []
  for rate in usable:
    for share, path in datasets.items():
      long = path
      if repeat > 1:
        long = path.with_name(f"{path.stem}-x{repeat}.liquid")
        photographs.repeat(path, repeat, long)
      measured = turns.apart(
        stages.measure,
        path=long,
        short=path,
        rounds=rounds,
        threads=threads,
        cache=cache,
        batch_size=batch_size,
        read_bytes_per_s=rate or None,
      )
      size = sum(file.stat().st_size for file in path.glob("*.rec"))
      cells.append({"rate": rate, "raw": share, "stored_bytes": size, **measured})
      say(_judge(cells[-1]))
  return {"cells": cells, "skipped": skipped}


def _dataset(root: pathlib.Path, share: float) -> pathlib.Path:
  raw = round(_PARTS * share)
  mix = {"png": _PARTS - raw, "raw": raw}
  mix = {name: weight for name, weight in mix.items() if weight}
  return photographs.converted(root / "png", root / f"raw-{share:g}.liquid", mix)


def _judge(cell: dict[str, Any]) -> str:
  """Adds the lower limit and the share of it that is reached."""
  cell["lower"] = min(("load", "decode"), key=lambda name: cell[name]["images_per_s"])
  reached, limit = (cell[n]["images_per_s"] for n in ("both", cell["lower"]))
  cell["efficiency"] = reached / limit
  return (
    f"disk: {turns.disk_name(cell['rate'])}, {cell['raw']:.0%} raw: {reached:.1f} "
    f"images/s, {cell['efficiency']:.0%} of {cell['lower']}'s {limit:.1f}"
  )


def text(results: Sequence[dict[str, Any]]) -> str:
  """All cells of some runs, in the order of disks and mixes, in images per second."""
  every = [result | cell for result in results for cell in result["cells"]]
  every.sort(key=lambda cell: (cell["rate"] or float("inf"), cell["raw"]), reverse=True)
  cells = [
    ("disk", lambda cell: turns.disk_name(cell["rate"])),
    ("raw", lambda cell: f"{cell['raw']:.0%}"),
    ("cache", lambda cell: cell["cache"]),
    ("epoch", lambda cell: cell["images"] * cell["repeat"]),
    ("load", lambda cell: f"{cell['load']['images_per_s']:.0f}"),
    ("decode", lambda cell: f"{cell['decode']['images_per_s']:.0f}"),
    ("pipeline", lambda cell: f"{cell['both']['images_per_s']:.0f}"),
    ("of the lower", lambda cell: f"{cell['efficiency']:.2f}"),
    ("read MB/s", lambda cell: f"{cell['both']['disk_bytes_per_s'] / 1e6:.0f}"),
    ("busy", lambda cell: f"{cell['both']['busy']:.0%}"),
  ]
  return page.columns(every, cells)


def section(results: Sequence[dict[str, Any]]) -> page.Section:
  """What was measured, how, with what, and the table; a run or several in one."""
  reached = [c["efficiency"] >= PROMISED for r in results for c in r["cells"]]
  return page.section(
    "efficiency",
    results,
    promised=PROMISED,
    reached=sum(reached),
    rows=len(reached),
    left_out=turns.left_out(results),
    table=text(results),
  )
