"""Compares decoding with stock tf.data, and with DALI and FFCV where they are.

  python -m tools.bench compare
  python -m tools.bench compare --formats=png,raw --dali_python=dali/bin/python

Each format runs beside the peers that read the nearest to it, on photographs in memory:
ours, peers, ours, peers, each in a fresh process.
"""

import functools
import os
import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from liquid_tf._measure import pipeline
from liquid_tf.errors import WrongArgument
from tools.bench import machine, page, peers, photographs, turns


class Side(NamedTuple):
  """What another loader reads, and how much faster we are to be.

  Attributes:
    peer: of `peers.PEERS`.
    files: extension of the files that it reads, or is made from.
    what: which of its parts reads what.
    wanted: the least ratio, ours to its, that is promised.
  """

  peer: str
  files: str
  what: str
  wanted: float


# Beside what one of our formats holds.
SIDES = {
  "png": (
    Side("stock", "png", "tf.io.decode_image on png", 1.7),
    Side("dali", "png", "decoders.image on png", 1.7),
  ),
  "raw": (
    Side("stock", "raw", "tf.io.decode_raw on raw", 1.0),
    Side("ffcv", "png", "raw", 1.0),
    Side("dali", "npy", "readers.numpy on npy", 1.3),
  ),
  "jpeg": (
    Side("stock", "jpeg", "tf.io.decode_image on jpeg", 1.0),
    Side("dali", "jpeg", "decoders.image on jpeg", 1.0),
  ),
}
# What our dataset of each format is made from.
_SOURCES = {"png": "png", "raw": "png", "jpeg": "jpeg"}


def bench(
  workdir: str | os.PathLike,
  *,
  images: int,
  side: int,
  batch_size: int,
  epochs: int,
  rounds: int,
  threads: int,
  data: str | None = None,
  formats: Sequence[str] = tuple(SIDES),
  pythons: Mapping[str, str] | None = None,
  say: Callable[[str], None] = lambda text: None,
) -> dict[str, Any]:
  """Measures ours, peer, peer, ours, peer, peer, .. in fresh processes.

  Ours holds all records in its cache from the second epoch on; the peers find all
  files in a warm page cache. All deliver batches of uint8 pixels that nobody uses, and
  have a first epoch that does not count. PNG and JPEG records are the files' bytes.

  Args:
    workdir: gets the images and datasets; those that are there are used.
    images: photographs.
    side: of each, in pixels.
    batch_size: images in a batch.
    epochs: of each process, at least 2.
    rounds: processes of each side.
    threads: on all sides.
    data: folder of images to cut photographs from; None for scikit-image's.
    formats: which of `SIDES` to compare.
    pythons: interpreters of "dali" and "ffcv"; those not given are left out.
    say: receives a line of progress.

  Returns:
    `pairs` [{format, peer, what, ours, theirs, ratio, ratio_best,
    ratio_cpu, wanted, reached}]: `ours` and `theirs` are {median, min, max} in images
    per second over all counted epochs, and `cpu`, the median per second of processor
    time; `ratio` is that of the medians, `ratio_best` of the most, `ratio_cpu` of
    `cpu`; `others` {format: processors that others kept busy meanwhile}; `left_out`,
    the peers without an interpreter; and `peers` {name: {versions, [settings]}}.

  Raises:
    ValueError: an argument is wrong.
    ChildProcessError: a measurement failed.
  """
  unknown = [name for name in formats if name not in SIDES]
  if unknown:
    raise WrongArgument("formats", unknown[0], f"must be of {', '.join(SIDES)}")
  pythons = {"stock": "", **(pythons or {})}
  of = {name: [one for one in SIDES[name] if one.peer in pythons] for name in formats}
  root = pathlib.Path(workdir, f"{images}x{side}")
  say(f"making {images} photographs of {side}x{side} in {root}")
  extensions = {_SOURCES[name] for name in formats}
  extensions |= {one.files for name in formats for one in of[name]}
  files = photographs.make(root, images, side, data, threads, sorted(extensions))
  result: dict[str, Any] = {"pairs": [], "others": {}}
  common = {"batch_size": batch_size, "threads": threads, "epochs": epochs}
  told: dict[str, list[dict[str, Any]]] = {}
  for name in formats:
    path = root / f"{name}.liquid"
    photographs.converted(root / _SOURCES[name], path, name)
    ours = {"path": path, "cache": "100%", "features": ["image"]}
    sides = {"ours": functools.partial(turns.apart, pipeline.measure, **ours, **common)}
    for one in of[name]:
      request = {**common, "files": [os.fspath(file) for file in files[one.files]]}
      if one.peer == "ffcv":
        request["dataset"] = os.fspath(root / f"{name}.beton")
      else:
        request["extension"] = one.files
      if one.peer == "stock":
        request["shape"] = [side, side, 3]
      python = pythons[one.peer]
      sides[one.peer] = functools.partial(peers.run, one.peer, python, request)
    others = machine.Others()
    rates, answers = turns.alternate(sides, rounds, f"{name}: ", say)
    result["others"][name] = round(others.busy(), 2)
    for one in of[name]:
      result["pairs"].append(_pair(name, one, rates))
      if "settings" in answers[one.peer]:
        told.setdefault(one.peer, []).append(answers[one.peer])
  result["left_out"] = sorted({"dali", "ffcv"} - pythons.keys())
  result["peers"] = {peer: peers.used(answers) for peer, answers in told.items()}
  return result


def _pair(
  name: str, side: Side, rates: Mapping[str, dict[str, float]]
) -> dict[str, Any]:
  ours, theirs = rates["ours"], rates[side.peer]
  ratio, best, cpu = (ours[key] / theirs[key] for key in ("median", "max", "cpu"))
  return {
    "format": name,
    "peer": side.peer,
    "what": f"{peers.PEERS[side.peer].title}, {side.what}",
    "ours": ours,
    "theirs": theirs,
    "ratio": ratio,
    "ratio_best": best,
    "ratio_cpu": cpu,
    "wanted": side.wanted,
    "reached": ratio >= side.wanted,
  }


def text(result: dict[str, Any]) -> str:
  """The comparison as a Markdown table, in images per second."""
  cells = [
    ("ours", lambda pair: pair["format"]),
    ("images/s", lambda pair: _rate(pair["ours"])),
    ("peer", lambda pair: pair["what"]),
    ("images/s", lambda pair: _rate(pair["theirs"])),
    ("ratio", lambda pair: f"{pair['ratio']:.2f}"),
    ("of the best", lambda pair: f"{pair['ratio_best']:.2f}"),
    ("by processor time", lambda pair: f"{pair['ratio_cpu']:.2f}"),
    (
      "promised",
      lambda pair: f"{pair['wanted']:.1f}{'' if pair['reached'] else ', missed'}",
    ),
  ]
  return page.columns(result["pairs"], cells, (0, 2))


def _rate(rates: dict[str, float]) -> str:
  return f"{rates['median']:.0f} ({rates['min']:.0f} to {rates['max']:.0f})"


def section(result: dict[str, Any]) -> page.Section:
  """What was measured, how, with what, and the table."""
  said = [
    f"*{page.versions(peer['versions'])}*: `{settings}`."
    for peer in result["peers"].values()
    for settings in peer["settings"]
  ]
  said += [
    f"*{name}* was left out: no interpreter with it was given."
    for name in result["left_out"]
  ]
  others = result["others"].items()
  return page.section(
    "compare",
    result,
    busy=", ".join(f"{busy} for {name}" for name, busy in others),
    table=text(result),
    said=page.bullets([*said, ""])[:-2],
  )
