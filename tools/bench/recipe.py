"""The recipes of ImageNet over a user's photographs: ours beside other loaders."""

import dataclasses
import functools
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from liquid_tf._measure import evidence, fresh
from liquid_tf._store.mix import TARGETS
from liquid_tf._words import Shown
from liquid_tf.errors import WrongArgument
from tools.bench import imagenet, peers, recipe_sets, turns
from tools.bench.recipe_report import plot, section, text  # noqa: F401

# What each of `peers.PEERS` reads.
_READS = {
  "stock": "JPEG",
  "dali": "JPEG",
  "ffcv": "its JPEG q90",
  "torchvision": "JPEG",
}

# Most that means of all values may differ, in deviations, where nothing is drawn by
# chance: how loaders resize differs, what JPEG at quality 90 loses, and DALI fills its
# last batch with photographs of the next epoch.
_MOST_OFF = 0.05


def bench(
  workdir: str | os.PathLike,
  *,
  input: str | os.PathLike,
  images: int = 0,
  batch_size: int,
  epochs: int,
  rounds: int,
  threads: int,
  formats: Sequence[str] = ("jpeg", "l3"),
  sizes: Sequence[str] = imagenet.STORED,
  recipes: Sequence[str] = imagenet.RECIPES,
  pythons: Mapping[str, str | None] | None = None,
  say: Callable[[str], None] = lambda line: None,
) -> dict[str, Any]:
  """Measures every contestant of a recipe in turn, each time in a fresh process.

  Ours holds all records in its cache from the second epoch on; the peers find all
  files in a warm page cache. Nobody uses the batches, and first epochs do not count.

  Args:
    workdir: gets the files and datasets; those that are there are used.
    input: folder of photographs; its RGB JPEG files are used.
    images: of an epoch; the photographs come again until there are so many. 0: as
      many as there are.
    batch_size: images in a batch.
    epochs: of each process, at least 2.
    rounds: processes of each contestant.
    threads: on all sides.
    formats: of ours.
    sizes: of `imagenet.STORED`.
    recipes: of `imagenet.RECIPES`.
    pythons: interpreters of `peers.PEERS` but "stock".
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
  for name, given, of in (
    ("formats", formats, tuple(TARGETS)),
    ("sizes", sizes, imagenet.STORED),
    ("recipes", recipes, imagenet.RECIPES),
  ):
    wrong = [value for value in given if value not in of]
    if wrong or not given:
      raise WrongArgument(name, Shown(",".join(wrong)), f"must be of {', '.join(of)}")
  skipped = _skipped(pythons or {})
  found = [name for name in peers.PEERS if name not in skipped]
  say(f"preparing the photographs of {input} in {workdir}")
  photographs = recipe_sets.prepare(
    input, workdir, images=images, sizes=sizes, workers=threads
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
  for recipe in recipes:
    contestants = [
      *_ours(recipe, photographs, formats, sizes, common),
      *_theirs(recipe, photographs, found, sizes, common, pythons or {}),
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
  for name, peer in peers.PEERS.items():
    python = pythons.get(name)
    if peer.script is None:
      continue
    if not python:
      skipped[name] = f"no --{name}_python was given"
    elif reason := peers.why_not(name, python):
      skipped[name] = reason
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
      for dtype in imagenet.TYPES:
        request = {
          **common,
          "function": "tools.bench.imagenet:liquid",
          "path": os.fspath(path),
          "shuffle": recipe == "train",
          "transforms": imagenet.steps(recipe, dtype),
        }
        found.append(
          _Contestant(
            name=f"ours, {format_name}, {stored}, {dtype}",
            loader="liquid",
            what=f"ours, {format_name}",
            format=format_name,
            stored=stored,
            places=[path],
            run=functools.partial(fresh.run, request),
          )
        )
  return found


def _theirs(
  recipe: str,
  photographs: recipe_sets.Photographs,
  names: Sequence[str],
  sizes: Sequence[str],
  common: Mapping[str, Any],
  pythons: Mapping[str, str | None],
) -> list[_Contestant]:
  found = []
  for name in names:
    for stored in sizes:
      files = photographs.files[stored]
      places: Sequence[str] = files
      request = {**common, "recipe": imagenet.request(recipe)}
      if name == "ffcv":
        # It encodes by itself, so the smaller ones must not come from JPEG twice.
        request["files"] = photographs.files["full"]
        request["shorter"] = imagenet.SHORTER if stored == "256" else None
        request["quality"] = recipe_sets.QUALITY
        request["dataset"] = os.fspath(photographs.root / f"{stored}.beton")
        places = [request["dataset"]]
      else:
        request["files"] = files
      if name == "stock":
        request["function"] = "tools.bench.imagenet:stock"
      found.append(
        _Contestant(
          name=f"{name}, {stored}",
          loader=name,
          what=f"{peers.PEERS[name].title}, {_READS[name]}",
          format="beton" if name == "ffcv" else "jpeg",
          stored=stored,
          places=places,
          run=functools.partial(peers.run, name, pythons.get(name), request),
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
