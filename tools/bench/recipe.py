"""The recipes of ImageNet over a user's photographs: ours beside other loaders."""

import dataclasses
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from liquid_tf._measure import evidence, fresh
from liquid_tf._store.mix import TARGETS
from tools.bench import peers, recipe_sets, recipes, turns


@dataclasses.dataclass(frozen=True)
class Peer:
  """Another loader.

  Attributes:
    what: it reads, in words.
    script: of this folder, run by its interpreter; None for stock tf.data.
    module: that its interpreter must be able to import.
  """

  what: str
  script: str | None = None
  module: str = ""


PEERS = {
  "stock": Peer("tf.data, JPEG"),
  "dali": Peer("DALI, JPEG", "peer_dali.py", "nvidia.dali"),
  "ffcv": Peer("FFCV, its JPEG q90", "peer_ffcv.py", "ffcv"),
  "torchvision": Peer("torchvision, JPEG", "peer_torchvision.py", "torchvision"),
}

# Most that means of all values may differ, in deviations, where nothing is drawn by
# chance: how loaders resize differs, what JPEG at quality 90 loses, and DALI fills its
# last batch with photographs of the next epoch.
_MOST_OFF = 0.05


def bench(
  folder: str | os.PathLike,
  workdir: str | os.PathLike,
  *,
  images: int = 0,
  batch_size: int,
  epochs: int,
  rounds: int,
  threads: int,
  formats: Sequence[str] = ("jpeg", "l3"),
  sizes: Sequence[str] = recipes.STORED,
  of: Sequence[str] = recipes.RECIPES,
  pythons: Mapping[str, str | None] | None = None,
  say: Callable[[str], None] = lambda text: None,
) -> dict[str, Any]:
  """Measures every contestant of a recipe in turn, each time in a fresh process.

  Ours holds all records in its cache from the second epoch on; the peers find all
  files in a warm page cache. Nobody uses the batches, and first epochs do not count.

  Args:
    folder: of photographs; its RGB JPEG files are used.
    workdir: gets the files and datasets; those that are there are used.
    images: of an epoch; the photographs come again until there are so many. 0: as
      many as there are.
    batch_size: images in a batch.
    epochs: of each process, at least 2.
    rounds: processes of each contestant.
    threads: on all sides.
    formats: of ours.
    sizes: of `recipes.STORED`.
    of: of `recipes.RECIPES`.
    pythons: interpreters of PEERS but "stock".
    say: receives a line of progress.

  Returns:
    The settings; `distinct` and `left_out`, photographs; `rows` [{recipe, loader, what,
    format, stored, dtype, shape, mean, median, min, max, cpu_ms, bytes}]: rates in
    images per second over all counted epochs, milliseconds of processor time an image,
    bytes on disk, and the mean of all values; in rows of ours also `ratios` (see
    `ratios`); `skipped` {peer: reason}; `unlike`, sentences on who does not do what the
    others do; `others` {recipe: processors that others kept
    busy}; and `peers` {name: {versions, settings}}.

  Raises:
    ValueError: an argument is wrong.
    ChildProcessError: a measurement failed.
  """
  for name, given, known in (
    ("formats", formats, tuple(TARGETS)),
    ("sizes", sizes, recipes.STORED),
    ("recipes", of, recipes.RECIPES),
  ):
    wrong = [value for value in given if value not in known]
    if wrong or not given:
      raise ValueError(f"{name} ({','.join(wrong)}) must be of {', '.join(known)}")
  skipped = _skipped(pythons or {})
  peers = [name for name in PEERS if name not in skipped]
  say(f"preparing the photographs of {folder} in {workdir}")
  photographs = recipe_sets.prepare(
    folder, workdir, images=images, sizes=sizes, workers=threads
  )
  result: dict[str, Any] = {
    "images": len(photographs.files["full"]),
    "distinct": photographs.distinct,
    "left_out": photographs.left_out,
    "batch_size": batch_size,
    "threads": threads,
    "rounds": rounds,
    "epochs": epochs,
    "rows": [],
    "skipped": skipped,
    "unlike": [],
    "others": {},
    "peers": {},
  }
  common = {"batch_size": batch_size, "threads": threads, "epochs": epochs}
  for recipe in of:
    contestants = [
      *_ours(recipe, photographs, formats, sizes, common),
      *_theirs(recipe, photographs, peers, sizes, common, pythons or {}),
    ]
    others = evidence.Others()
    rates, answers = turns.alternate(
      {one.name: one.run for one in contestants}, rounds, f"{recipe}: ", say
    )
    result["others"][recipe] = round(others.busy(), 2)
    rows = [_row(recipe, c, rates[c.name], answers[c.name]) for c in contestants]
    result["unlike"] += _unlike(rows)
    for row in rows:
      if row["loader"] == "liquid":
        row["ratios"] = ratios(row, rows)
    result["rows"] += rows
    for contestant in contestants:
      answer = answers[contestant.name]
      if "versions" in answer:
        used = result["peers"].setdefault(contestant.loader, {"settings": {}})
        used["versions"] = answer["versions"]
        used["settings"][recipe] = answer["settings"]
  return result


def ratios(
  row: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]
) -> dict[str, dict[str, Any]]:
  """How much faster a row of ours is than others of its recipe.

  Returns:
    By whom it is compared with: "full", the fastest peer on files of full size;
    "same", the fastest on images stored as ours; "ffcv-256", FFCV's own set at 256
    pixels; and "uint8", ours without Normalize and Cast. Each {what, median, best},
    the ratios of medians and of the fastest epochs. Those that were not measured are
    left out.
  """

  def fastest(**wanted: str) -> Mapping[str, Any] | None:
    found = [
      other
      for other in rows
      if all(other[key] == value for key, value in wanted.items())
      and (other["loader"] == "liquid") == ("format" in wanted)
    ]
    return max(found, key=lambda other: other["median"], default=None)

  against = {
    "full": fastest(stored="full"),
    "same": fastest(stored=row["stored"]),
    "ffcv-256": fastest(loader="ffcv", stored="256"),
    "uint8": fastest(format=row["format"], stored=row["stored"], dtype="uint8"),
  }
  return {
    name: {
      "what": other["what"],
      "median": row["median"] / other["median"],
      "best": row["max"] / other["max"],
    }
    for name, other in against.items()
    if other is not None
  }


@dataclasses.dataclass(frozen=True)
class _Contestant:
  """Who is measured; `places` are on the disk, and there once it has run."""

  name: str
  loader: str
  what: str
  format: str
  stored: str
  places: Sequence[str | os.PathLike]
  run: turns.Measurement


def _skipped(pythons: Mapping[str, str | None]) -> dict[str, str]:
  """Peers that cannot be measured, and why."""
  skipped = {}
  for name, peer in PEERS.items():
    if peer.script is None:
      continue
    python = pythons.get(name)
    if not python:
      skipped[name] = f"no --{name}_python was given"
      continue
    try:
      reason = peers.why_not(python, peer.module)
    except OSError as error:
      raise ValueError(
        f'{name}_python ("{python}") must be a Python interpreter: {error.strerror}'
      ) from error
    if reason:
      skipped[name] = f"{python} cannot import {peer.module}: {reason}"
  return skipped


def _ours(
  recipe: str,
  photographs: recipe_sets.Photographs,
  formats: Sequence[str],
  sizes: Sequence[str],
  common: Mapping[str, Any],
) -> list[_Contestant]:
  found = []
  for format_name in formats:
    for stored in sizes:
      path = photographs.dataset(format_name, stored)
      for dtype in recipes.TYPES:
        request = {
          **common,
          "function": "tools.bench.recipe_stages:liquid",
          "path": os.fspath(path),
          "shuffle": recipe == "train",
          "transforms": recipes.steps(recipe, dtype),
        }
        found.append(
          _Contestant(
            name=f"ours, {format_name}, {stored}, {dtype}",
            loader="liquid",
            what=f"ours, {format_name}",
            format=format_name,
            stored=stored,
            places=[path],
            run=lambda request=request: fresh.run(request),
          )
        )
  return found


def _theirs(
  recipe: str,
  photographs: recipe_sets.Photographs,
  peers: Sequence[str],
  sizes: Sequence[str],
  common: Mapping[str, Any],
  pythons: Mapping[str, str | None],
) -> list[_Contestant]:
  found = []
  for name in peers:
    peer = PEERS[name]
    for stored in sizes:
      files = photographs.files[stored]
      places: Sequence[str] = files
      request = {**common, "files": files, "recipe": recipes.request(recipe)}
      if name == "ffcv":
        # It encodes by itself, so the smaller ones must not come from JPEG twice.
        request["files"] = photographs.files["full"]
        request["shorter"] = recipes.SHORTER if stored == "256" else None
        request["quality"] = recipe_sets.QUALITY
        request["dataset"] = os.fspath(photographs.root / f"{stored}.beton")
        places = [request["dataset"]]

      def run(name=name, peer=peer, request=request) -> dict[str, Any]:
        if peer.script is None:
          return fresh.run({**request, "function": "tools.bench.recipe_stages:stock"})
        return peers.run_peer(pythons[name], peer.script, request)

      found.append(
        _Contestant(
          name=f"{name}, {stored}",
          loader=name,
          what=peer.what,
          format="beton" if name == "ffcv" else "jpeg",
          stored=stored,
          places=places,
          run=run,
        )
      )
  return found


def _row(
  recipe: str,
  contestant: _Contestant,
  rates: Mapping[str, float],
  answer: Mapping[str, Any],
) -> dict[str, Any]:
  return {
    "recipe": recipe,
    "loader": contestant.loader,
    "what": contestant.what,
    "format": contestant.format,
    "stored": contestant.stored,
    **{key: answer[key] for key in ("dtype", "shape", "mean")},
    **{key: rates[key] for key in ("median", "min", "max")},
    "cpu_ms": 1e3 / rates["cpu"],
    "bytes": recipe_sets.size_of(contestant.places),
  }


def _unlike(rows: Sequence[Mapping[str, Any]]) -> list[str]:
  """Says of a recipe who gives other batches than the first row of float32.

  Layouts may differ, and so may single values, but not the mean of all: who forgets to
  normalise, or takes another mean, wins unfairly.
  """
  first = next(row for row in rows if row["dtype"] == "float32")
  found = []
  for row in rows:
    same = sorted(row["shape"]) == sorted(first["shape"])
    # Drawn by chance, windows of few photographs have other means.
    compared = row["dtype"] != "uint8" and row["recipe"] != "train"
    if not same or (compared and abs(row["mean"] - first["mean"]) > _MOST_OFF):
      found.append(
        f"{row['recipe']}: {row['what']}, {row['stored']}, gives {row['shape']} with "
        f"mean {row['mean']:.3f}, but {first['what']}, {first['stored']}, "
        f"{first['shape']} with mean {first['mean']:.3f}."
      )
  return found
