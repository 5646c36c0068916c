"""Ours beside other loaders, on the same photographs."""

import dataclasses
import os
import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from liquid_tf._convert.convert import convert
from liquid_tf._measure import evidence, fresh
from tools.bench import peers, photographs, turns


@dataclasses.dataclass(frozen=True)
class Peer:
  """Another loader of what one of our formats holds.

  Attributes:
    name: "stock", "dali" or "ffcv".
    files: extension of the files that it reads, or is made from.
    what: which of its parts reads what.
    wanted: the least ratio, ours to its, that is promised.
  """

  name: str
  files: str
  what: str
  wanted: float


PEERS = {
  "png": (
    Peer("stock", "png", "tf.data, tf.io.decode_image on png", 1.7),
    Peer("dali", "png", "DALI, decoders.image on png", 1.7),
  ),
  "raw": (
    Peer("stock", "raw", "tf.data, tf.io.decode_raw on raw", 1.0),
    Peer("ffcv", "png", "FFCV, raw", 1.0),
    Peer("dali", "npy", "DALI, readers.numpy on npy", 1.3),
  ),
  "jpeg": (
    Peer("stock", "jpeg", "tf.data, tf.io.decode_image on jpeg", 1.0),
    Peer("dali", "jpeg", "DALI, decoders.image on jpeg", 1.0),
  ),
}
# What our dataset of each format is made from.
_SOURCES = {"png": "png", "raw": "png", "jpeg": "jpeg"}
_SCRIPTS = {"dali": "peer_dali.py", "ffcv": "peer_ffcv.py"}


def compare(
  workdir: str | os.PathLike,
  *,
  images: int,
  side: int,
  batch_size: int,
  epochs: int,
  rounds: int,
  threads: int,
  data: str | None = None,
  formats: Sequence[str] = tuple(PEERS),
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
    formats: which of `PEERS` to compare.
    pythons: interpreters of "dali" and "ffcv"; those not given are left out.
    say: receives a line of progress.

  Returns:
    The settings; `pairs` [{format, peer, what, ours, theirs, ratio, ratio_best,
    ratio_cpu, wanted, reached}]: `ours` and `theirs` are {median, min, max} in images
    per second over all counted epochs, and `cpu`, the median per second of processor
    time; `ratio` is that of the medians, `ratio_best` of the most, `ratio_cpu` of
    `cpu`; `others` {format: processors that others kept busy meanwhile}; `left_out`,
    the peers without an interpreter; and `peers` {name: {versions, [settings]}}.

  Raises:
    ValueError: an argument is wrong.
    ChildProcessError: a measurement failed.
  """
  unknown = [name for name in formats if name not in PEERS]
  if unknown:
    raise ValueError(f'formats ("{unknown[0]}") must be of {", ".join(PEERS)}')
  pythons = {"stock": "", **(pythons or {})}
  root = pathlib.Path(workdir, f"{images}x{side}")
  say(f"making {images} photographs of {side}x{side} in {root}")
  extensions = {_SOURCES[name] for name in formats}
  extensions |= {p.files for name in formats for p in PEERS[name] if p.name in pythons}
  files = photographs.make(root, images, side, data, threads, sorted(extensions))
  result: dict[str, Any] = {
    "images": images,
    "side": side,
    "batch_size": batch_size,
    "threads": threads,
    "rounds": rounds,
    "epochs": epochs,
    "pairs": [],
    "others": {},
    "left_out": sorted(_SCRIPTS.keys() - pythons.keys()),
    "peers": {},
  }
  common = {"batch_size": batch_size, "threads": threads, "epochs": epochs}
  for name in formats:
    peers = [peer for peer in PEERS[name] if peer.name in pythons]
    dataset = root / f"{name}.liquid"
    if not (dataset / "dataset.json").exists():
      source = root / _SOURCES[name]
      convert(source, dataset, {name: 1}, existing="resume", progress=False)
    sides = {"ours": _ours(dataset, common)}
    for peer in peers:
      request = {**common, "files": [os.fspath(file) for file in files[peer.files]]}
      if peer.name == "ffcv":
        request["dataset"] = os.fspath(root / f"{name}.beton")
      else:
        request["extension"] = peer.files
      sides[peer.name] = _theirs(peer.name, pythons[peer.name], request, side)
    others = evidence.Others()
    rates, answers = turns.alternate(sides, rounds, f"{name}: ", say)
    result["others"][name] = round(others.busy(), 2)
    for peer in peers:
      result["pairs"].append(_pair(name, peer, rates))
      if peer.name in _SCRIPTS:
        answer = answers[peer.name]
        used = result["peers"].setdefault(peer.name, {"settings": []})
        used["versions"] = answer["versions"]
        if answer["settings"] not in used["settings"]:
          used["settings"].append(answer["settings"])
  return result


def _ours(dataset: pathlib.Path, common: Mapping[str, Any]) -> turns.Measurement:
  request = {"path": os.fspath(dataset), "cache": "100%", "features": ["image"]}
  return lambda: fresh.run({**common, **request, "function": fresh.OURS})


def _theirs(
  name: str, python: str, request: Mapping[str, Any], side: int
) -> turns.Measurement:
  if name == "stock":
    return lambda: fresh.run(
      {
        **request,
        "function": fresh.STOCK,
        "shape": [side, side, 3],
      }
    )
  return lambda: peers.run_peer(python, _SCRIPTS[name], request)


def _pair(
  name: str, peer: Peer, rates: Mapping[str, dict[str, float]]
) -> dict[str, Any]:
  ours, theirs = rates["ours"], rates[peer.name]
  ratio, best, cpu = (ours[key] / theirs[key] for key in ("median", "max", "cpu"))
  return {
    "format": name,
    "peer": peer.name,
    "what": peer.what,
    "ours": ours,
    "theirs": theirs,
    "ratio": ratio,
    "ratio_best": best,
    "ratio_cpu": cpu,
    "wanted": peer.wanted,
    "reached": ratio >= peer.wanted,
  }
