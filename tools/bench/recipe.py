"""Compares the recipes of ImageNet over your own photographs with other loaders.

  python -m tools.bench recipe --input=photos --plot=recipe.svg
  python -m tools.bench recipe --input=photos --formats=jpeg,l3,raw --workdir=work
    --dali_python=dali/bin/python --grain_python=grain/bin/python

Training takes a random window resized to 224x224, mirrors half of them and normalises;
`trivial` and `rand` are training with TrivialAugmentWide and RandAugment before that,
which DALI and torchvision have, too. Evaluation resizes the shorter side to 256, takes
the 224x224 in the centre and normalises. Ours runs with every format and stored size:
`dataset` as uint8 (not normalised), float32 and bfloat16, and `loader`, without
TensorFlow, as float32. Beside it stand stock tf.data, DALI, FFCV, torchvision, Grain
and SPDL, which give float32. All take turns, each time in a fresh process.
"""

import functools
import itertools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from liquid_tf._store.mix import TARGETS
from liquid_tf._words import Shown
from liquid_tf.errors import WrongArgument
from tools.bench import imagenet, imagenet_loader, machine, peers, recipe_sets, turns
from tools.bench.recipe_report import plot, section, text  # noqa: F401

# What each of `peers.PEERS` reads.
_READS = {
  "stock": "JPEG",
  "dali": "JPEG",
  "ffcv": "its JPEG q90",
  "torchvision": "JPEG",
  "grain": "JPEG",
  "spdl": "JPEG",
}

# Of these, those that have the policies of `imagenet.POLICIES`.
_HAVE_POLICIES = ("dali", "torchvision")

# Most that means of all values may differ, in deviations, where nothing is drawn by
# chance: how loaders resize differs, what JPEG at quality 90 loses, and DALI fills its
# last batch with photographs of the next epoch, as do Grain and SPDL.
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
  recipes: Sequence[str] = ("train", "evaluate"),
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
    `images` of an epoch; `distinct` and `left_out`, photographs; `rows` [{recipe,
    loader, what, format, stored, dtype, shape, mean, median, min, max, cpu_ms, bytes}]:
    rates in images per second over all counted epochs, milliseconds of processor time
    an image, bytes on disk, and the mean of all values; in rows of ours also `face`,
    "dataset" or "loader", and `ratios` (see `ratios`); `skipped` {peer: reason};
    `unlike`, sentences on who does not do what the others do; `others` {recipe:
    processors that others kept busy}; and `peers` {name: {versions, settings}}.

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
  pythons = pythons or {}
  skipped = _skipped(pythons)
  found = {name: pythons.get(name) for name in peers.PEERS if name not in skipped}
  say(f"preparing the photographs of {input} in {workdir}")
  photographs = recipe_sets.prepare(
    input, workdir, images=images, sizes=sizes, workers=threads
  )
  result: dict[str, Any] = {
    "images": len(photographs.files["full"]),
    "distinct": photographs.distinct,
    "left_out": photographs.left_out,
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
      *_theirs(recipe, photographs, found, sizes, common),
    ]
    others = machine.Others()
    rates, answers = turns.alternate(
      {one.name: one.run for one in contestants}, rounds, f"{recipe}: ", say
    )
    result["others"][recipe] = round(others.busy(), 2)
    rows = []
    for row, name, places, _ in contestants:
      rate, answer = rates[name], answers[name]
      row = {"recipe": recipe, **row, "bytes": recipe_sets.size_of(places)}
      row |= {key: answer[key] for key in ("dtype", "shape", "mean")}
      row |= {key: rate[key] for key in ("median", "min", "max")}
      rows.append(row | {"cpu_ms": 1e3 / rate["cpu"]})
      if "versions" in answer:
        used = result["peers"].setdefault(row["loader"], {"settings": {}})
        used["versions"] = answer["versions"]
        used["settings"][recipe] = answer["settings"]
    result["unlike"] += _unlike(rows)
    for row in rows:
      if row["loader"] == "liquid":
        row["ratios"] = ratios(row, rows)
    result["rows"] += rows
  return result


def ratios(
  row: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]
) -> dict[str, dict[str, Any]]:
  """How much faster a row of ours is than others of its recipe.

  Returns:
    By whom it is compared with: "full", the fastest peer on files of full size;
    "same", the fastest on images stored as ours; "ffcv-256", FFCV's own set at 256
    pixels; and "uint8", the same face without Normalize and Cast. Each {what, median,
    best}, the ratios of medians and of the fastest epochs. Those that were not measured
    are left out.
  """

  def fastest(**wanted: str) -> Mapping[str, Any] | None:
    found = [
      other
      for other in rows
      if all(other.get(key) == value for key, value in wanted.items())
      and (other["loader"] == "liquid") == ("format" in wanted)
    ]
    return max(found, key=lambda other: other["median"], default=None)

  against = {
    "full": fastest(stored="full"),
    "same": fastest(stored=row["stored"]),
    "ffcv-256": fastest(loader="ffcv", stored="256"),
    "uint8": fastest(
      **{key: row[key] for key in ("face", "format", "stored")}, dtype="uint8"
    ),
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


class _Contestant(NamedTuple):
  """Who is measured.

  Attributes:
    row: of the result, as far as it is known before.
    name: of its runs.
    places: on the disk, where it reads; there once it has run.
    run: measures it.
  """

  row: dict[str, Any]
  name: str
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
) -> Iterator[_Contestant]:
  for name, stored in itertools.product(formats, sizes):
    path = photographs.dataset(name, stored)
    faces = (
      ("dataset", f"ours, {name}", imagenet.TYPES, (turns.apart, imagenet.liquid)),
      ("loader", f"ours, {name}, loader", ("float32",), (imagenet_loader.apart,)),
    )
    for face, what, dtypes, function in faces:
      row = {"loader": "liquid", "face": face, "what": what, "format": name}
      for dtype in dtypes:
        run = functools.partial(
          *function,
          path=os.fspath(path),
          shuffle=imagenet.is_training(recipe),
          transforms=imagenet.steps(recipe, dtype),
          **common,
        )
        title = f"{what}, {stored}, {dtype}"
        yield _Contestant(row | {"stored": stored}, title, [path], run)


def _theirs(
  recipe: str,
  photographs: recipe_sets.Photographs,
  pythons: Mapping[str, str | None],
  sizes: Sequence[str],
  common: Mapping[str, Any],
) -> Iterator[_Contestant]:
  for (name, python), stored in itertools.product(pythons.items(), sizes):
    if recipe in imagenet.POLICIES and name not in _HAVE_POLICIES:
      continue
    request = {**common, "recipe": imagenet.request(recipe)}
    request["files"] = places = photographs.files[stored]
    if name == "ffcv":
      # It encodes by itself, so the smaller ones must not come from JPEG twice.
      request["files"] = photographs.files["full"]
      request["shorter"] = imagenet.SHORTER if stored == "256" else None
      request["quality"] = recipe_sets.QUALITY
      request["dataset"] = os.fspath(photographs.root / f"{stored}.beton")
      places = [request["dataset"]]
    run = functools.partial(peers.run, name, python, request)
    if name == "stock":
      run = functools.partial(turns.apart, imagenet.stock, **request)
    row = {
      "loader": name,
      "what": f"{peers.PEERS[name].title}, {_READS[name]}",
      "format": "beton" if name == "ffcv" else "jpeg",
      "stored": stored,
    }
    yield _Contestant(row, f"{name}, {stored}", places, run)


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
    compared = row["dtype"] != "uint8" and not imagenet.is_training(row["recipe"])
    if not same or (compared and abs(row["mean"] - first["mean"]) > _MOST_OFF):
      found.append(
        f"{row['recipe']}: {row['what']}, {row['stored']}, gives {row['shape']} with "
        f"mean {row['mean']:.3f}, but {first['what']}, {first['stored']}, "
        f"{first['shape']} with mean {first['mean']:.3f}."
      )
  return found
