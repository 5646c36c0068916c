"""Makes what aarch64_check.py goes on with: datasets, saved runs, and what followed.

usage: aarch64_make.py FOLDER CASES SEED

Runs on x86-64, with TensorFlow. A run of `liquid_tf.dataset` goes on with other workers
by `loader`, and the other way round.
"""

import itertools
import json
import pathlib
import shutil
import sys
import tempfile
from typing import Any

import aarch64_check
import damaged
import faces
import golden_runs
import numpy as np
import photos

import liquid_tf


def _photos(output: pathlib.Path) -> None:
  """JPEGs of several kinds, and what they become in all other formats."""
  chance = np.random.default_rng(11)
  with tempfile.TemporaryDirectory() as source:
    for i in range(130):
      name = photos.COLOUR[i % 6]
      height, width = chance.integers(60, 240, 2)
      photos.save(
        f"{source}/{name}/{i:03}.jpg",
        photos.crop(photos.photo(name), (height, width), chance),
        quality=(75, 90, 97)[i // 18 % 3],
        subsampling=i // 6 % 3,
        progressive=i % 4 == 0,
      )
    others = dict.fromkeys(("bmp", "l3", "l3-compact", "png", "raw", "webp"), 1)
    mix = {"jpeg": 4, **others}
    liquid_tf.convert(
      source, str(output), mix, splits="train:.9,val:.1", progress=False
    )


def _make_dataset(folder: pathlib.Path, kind: str) -> None:
  output = folder / kind
  if output.exists():
    return
  if kind == "photos":
    _photos(output)
  elif kind == "damaged":
    _make_dataset(folder, "formats")
    shutil.copytree(folder / "formats", output)
    for sample in damaged.samples(str(output), "raw")[2::5]:
      damaged.flip(str(output), sample, "raw")
  else:
    with tempfile.TemporaryDirectory() as root:
      shutil.move(faces.make(root, kind), output)


def _going_on(
  run: aarch64_check.Case, folder: pathlib.Path, place: tuple[int, int], state: Any
) -> list[list[Any]] | str:
  """What a worker goes on with from a state, or why it does not."""
  of_loader = run.saving == "dataset" or run.kind == "damaged"
  make = liquid_tf.loader if of_loader else liquid_tf.dataset
  try:
    face: Any = make(
      run.source(folder), run.batch, shard=place, start=state, **run.options
    )
    return aarch64_check.rest(iter(face), face)
  except aarch64_check.REFUSED as error:
    return str(error)


def _case(folder: pathlib.Path, seed: int, number: int) -> dict[str, Any]:
  """What a case gives here: states, and what followed them."""
  run = aarch64_check.case(seed, number)
  _make_dataset(folder, run.kind)
  make = liquid_tf.loader if run.saving == "loader" else liquid_tf.dataset
  faces_ = [
    make(run.source(folder), run.batch, shard=(i, run.before), **run.options)
    for i in range(run.before)
  ]
  length = min(map(len, faces_))
  step = 1 + int(run.part * (length - 1))
  assert step < length, f"{run} leaves nothing of its epoch"
  before, states, own, later = [], [], [], []
  for face in faces_:
    if run.epoch:
      aarch64_check.noted(face)
    epoch = iter(face)
    done = aarch64_check.noted(itertools.islice(epoch, step))
    before += [n for ids, _ in done for n in ids]
    if run.saving == "loader":
      states.append(face.state_dict())
    else:
      states.append(liquid_tf.position(face, run.epoch, step))
    own.append(aarch64_check.rest(epoch, face))
    if run.saving == "loader":
      later.append(face.state_dict())
      face.close()
  rests = {str(run.before): own}
  for count in run.after[1:]:
    places = [(i, count) for i in range(count)]
    found = [_going_on(run, folder, place, states[0]) for place in places]
    rests[str(count)] = found
  return {
    "case": [seed, number],
    "before": before,
    "states": states,
    "rests": rests,
    "later": later,
  }


def _golden(folder: pathlib.Path) -> dict[str, Any]:
  """The runs of golden_test. It pins their orders; their pixels are of this machine."""
  found = {}
  for name, run in golden_runs.make(str(folder)).items():
    options = {**golden_runs.OPTIONS, **run.options, "features": ["id", "image"]}
    dataset = liquid_tf.dataset(run.source, 8, **options)
    aarch64_check.noted(dataset)
    found[name] = {
      "path": pathlib.Path(run.path).name,
      "weights": run.weights,
      "options": options,
      "order": golden_runs.BEFORE[name] + golden_runs.AFTER[name],
      "epoch": aarch64_check.noted(dataset),
    }
  return found


def main(folder: pathlib.Path, cases: int, seed: int) -> None:
  shutil.rmtree(folder, ignore_errors=True)
  (folder / "golden").mkdir(parents=True)
  found = {
    "golden": _golden(folder / "golden"),
    "position": golden_runs.POSITION,
    "cases": [],
  }
  for number in range(cases):
    found["cases"].append(_case(folder, seed, number))
    print(f"case {number}: {aarch64_check.case(seed, number)}", flush=True)
  (folder / "cases.json").write_text(json.dumps(found))


if __name__ == "__main__":
  main(pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
