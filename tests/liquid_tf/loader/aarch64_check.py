"""Goes on where runs of x86-64 stand (`make aarch64-test`); no TensorFlow is needed.

usage: aarch64_check.py FOLDER

FOLDER is of aarch64_make.py: datasets, positions, and what x86-64 gave behind them. For
each case the loader goes on with the same number of workers and with others. It fails
unless every batch is the same to the bit: samples, windows, pixels and all else.
"""

import hashlib
import itertools
import json
import pathlib
import platform
import random
import sys
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

import liquid_tf
from liquid_tf import transforms
from liquid_tf.errors import RecordError

# Nothing is left for a worker, or only damaged samples, or it is not known what.
REFUSED = (ValueError, RecordError)
# Of the epoch after the one that goes on, which has all samples again.
_NEXT = 2
# Of one case after another.
_KINDS = (
  *("photos", "formats", "pcr", "photos", "replicated", "jpeg", "photos", "boxes"),
  *("only_pcr", "unequal", "masks", "damaged"),
)
_MEAN, _STD = (123.7, 116.3, 103.5), (58.4, 57.1, 57.4)
_STEPS: list[list[transforms.Step]] = [
  [
    transforms.RandomResizedCrop((40, 33)),
    transforms.Mirror(),
    transforms.Normalize(_MEAN, _STD),
  ],
  [
    transforms.RandomResizedCrop(33, interpolation="bicubic"),
    transforms.Mirror(),
    transforms.Flip(),
    transforms.ColorJitter(0.4, 0.4, 0.4, 0.1, p=0.8),
    transforms.Grayscale(0.2),
    transforms.GaussianBlur(),
    transforms.Solarize(),
    transforms.Normalize(_MEAN, _STD),
    transforms.RandomErasing(0.5, value="noise"),
    transforms.Cast("float16"),
    transforms.ChannelsFirst(),
  ],
  [transforms.RandomResizedCrop(20, antialias=False, draft=True), transforms.Mirror()],
  [
    transforms.Resize(shorter=40),
    transforms.RandomCrop(31),
    transforms.Mirror(),
    transforms.Rotate(15.0),
    transforms.Normalize(_MEAN, _STD),
  ],
  [transforms.RandomCrop(17), transforms.Mirror(), transforms.Seed(9)],
  [transforms.Mirror(), transforms.Ragged()],
]
# Images as they are stored, or not by chance.
_STORED: list[list[transforms.Step]] = [
  [transforms.Ragged()],
  [transforms.CenterCrop(17), transforms.Normalize(_MEAN, _STD)],
]


class Case(NamedTuple):
  """A run, where it is saved, and who goes on.

  Attributes:
    kind: of the dataset.
    weighted: whether its samples have weights.
    batch: samples in a batch.
    options: further arguments.
    saving: "loader" or "dataset", which saves.
    before: workers that run.
    epoch: in which they save.
    part: of a worker's batches that have been run.
    after: numbers of workers that go on.
  """

  kind: str
  weighted: bool
  batch: int
  options: dict[str, Any]
  saving: str
  before: int
  epoch: int
  part: float
  after: list[int]

  def source(self, folder: pathlib.Path) -> Any:
    """The dataset as `loader` takes it."""
    view = liquid_tf.open(str(folder / self.kind)).split("train")
    if not self.weighted:
      return view
    return view.weighted([1.0 + n % 3 for n in view.numbers.tolist()])

  @property
  def has_each_once(self) -> bool:
    """Whether all workers together draw each sample once in an epoch."""
    return (
      not self.weighted
      and self.kind != "damaged"
      and self.options["shard_policy"] == "uneven"
      and self.options["last_batch"] == "short"
    )


def case(seed: int, number: int) -> Case:
  """Case `number` of a seed."""
  chance = random.Random(f"{seed} {number}")
  kind = _KINDS[number % len(_KINDS)]
  shuffle = chance.random() < 0.9
  options: dict[str, Any] = {
    "memory": "64MiB",
    "seed": chance.randrange(1 << 63),
    "cache": chance.choice([0, "30%", "30%", "100%", "40KiB"]),
    "shuffle": shuffle,
    "last_batch": chance.choice(["short", "short", "short", "drop", "repeat"]),
    "shard_policy": chance.choice(["uneven", "uneven", "uneven", "pad", "drop"]),
    "features": ["id", "format", "window", "mirrored", "image"],
    "transforms": chance.choice(_STEPS if shuffle else _STORED),
  }
  weighted = kind == "formats" and shuffle and chance.random() < 0.4
  if kind == "replicated" and shuffle:
    options["mix"] = chance.choice([None, "png:1,raw:1", ["png:1,raw:1", "raw"]])
  if kind == "only_pcr" and shuffle:
    options["fidelity"] = chance.choice([2, {2: 0.25, 10: 0.75}])
  if kind == "boxes":
    options["features"] = ["id", transforms.Boxes(), "image"]
    options["transforms"] = [transforms.RandomResizedCrop(32), transforms.Mirror()]
    options["shuffle"] = True
  if kind == "masks":
    options["features"] = ["id", "mask", "image"]
    options["transforms"] = [transforms.RandomCrop(17), transforms.Mirror()]
    options["shuffle"] = True
  saving = chance.choice(["loader", "dataset"])
  if kind == "damaged":
    # What a dataset saves does not know what was left out.
    options["on_error"], saving = "skip", "loader"
  # These are small: more workers, or larger batches, would be through with them.
  is_small = kind in ("boxes", "masks")
  before = chance.choice([1, 4] if is_small else [1, 4, 8, 8, 8])
  others = chance.sample([n for n in (2, 6, 8, 16) if n != before], 2)
  if before == 8:
    others = [6, 16]
  return Case(
    kind=kind,
    weighted=weighted,
    batch=2 if is_small else chance.choice([2, 3]),
    options=options,
    saving=saving,
    before=before,
    epoch=chance.randrange(2),
    part=chance.random(),
    after=[before, *others],
  )


def _update(state: Any, value: Any, name: str) -> None:
  if isinstance(value, dict):
    for key in value:
      _update(state, value[key], f"{name}.{key}")
  elif hasattr(value, "row_splits"):
    _update(state, value.values, f"{name}.values")
    _update(state, np.asarray(value.row_splits, np.int64), f"{name}.splits")
  else:
    array = np.asarray(value)
    is_text = array.dtype == object
    data = b"\0".join(array.reshape(-1)) if is_text else array.tobytes()
    state.update(f"{name} {array.dtype} {array.shape} {len(data)}\n".encode() + data)


def noted(batches: Iterable[dict[str, Any]]) -> list[list[Any]]:
  """Of each batch, sample numbers and a hash of every dtype, shape and value."""
  found = []
  for batch in batches:
    state = hashlib.sha256()
    _update(state, batch, "")
    found.append([np.asarray(batch["id"]).tolist(), state.hexdigest()])
  return found


def rest(epoch: Iterable[Any], face: Any) -> list[list[Any]]:
  """What is left of an epoch, and the first batches of the next one."""
  return [noted(epoch), noted(itertools.islice(iter(face), _NEXT))]


def _plain(state: Any) -> Any:
  return json.loads(json.dumps(state))


class _Check:
  """Compares, and counts what was the same.

  Args:
    folder: of aarch64_make.py.
  """

  def __init__(self, folder: pathlib.Path):
    self._folder = folder
    self.wrong: list[str] = []
    self.rests = self.batches = self.once = self.refused = self.states = 0

  def _is(self, found: Any, wanted: Any, where: str) -> None:
    if found != wanted:
      self.wrong.append(where)
      print(f"{where}:\n  wanted {wanted}\n  found  {found}", flush=True)

  def _worker(
    self, run: Case, place: tuple[int, int], saved: dict[str, Any], where: str
  ) -> list[list[Any]] | str:
    """What a worker goes on with: its batches, or why it does not.

    Args:
      run: the case.
      place: of the worker, (index, count).
      saved: of aarch64_make.py.
      where: for messages.
    """
    index, count = place
    is_own = count == run.before
    state = saved["states"][index if is_own else 0]
    try:
      with liquid_tf.loader(
        run.source(self._folder), run.batch, shard=place, **run.options
      ) as face:
        face.load_state_dict(state)
        if is_own and run.saving == "loader":
          self._is(_plain(face.state_dict()), state, f"{where}, its state")
        found = rest(iter(face), face)
        if is_own and saved["later"]:
          self._is(_plain(face.state_dict()), saved["later"][index], f"{where}, later")
          self.states += 1
    except REFUSED as error:
      return str(error)
    return found

  def case(self, number: int, saved: dict[str, Any]) -> None:
    """A case: each of its numbers of workers goes on."""
    run = case(*saved["case"])
    said = f"case {number}, {run.kind}, {run.before} workers"
    for count in run.after:
      found = []
      for index in range(count):
        where = f"{said}, worker {index} of {count}"
        one = self._worker(run, (index, count), saved, where)
        self._is(one, saved["rests"][str(count)][index], where)
        if isinstance(one, list):
          found.append(one)
          self.rests += 1
          self.batches += len(one[0]) + len(one[1])
        else:
          self.refused += 1
      if found and run.has_each_once:
        numbers = saved["before"] + [
          n for one in found for ids, _ in one[0] for n in ids
        ]
        every = run.source(self._folder).numbers.tolist()
        self._is(sorted(numbers), sorted(every), f"{said}, {count} go on, each once")
        self.once += 1
    print(f"{said}: {run.after} went on", flush=True)

  def golden(self, name: str, saved: dict[str, Any], position: Any) -> None:
    """A run that golden_test pins, and the position that it pins of one."""
    path = str(self._folder / "golden" / saved["path"])
    source: Any = path
    if saved["weights"]:
      source = liquid_tf.open(path).weighted(saved["weights"])
    with liquid_tf.loader(source, 8, **saved["options"]) as face:
      noted(face)
      found = noted(face)
      self._is([ids for ids, _ in found], saved["order"], f"golden {name}, order")
      self._is(found, saved["epoch"], f"golden {name}")
      if name == "formats":
        face.load_state_dict(position)
        wanted = saved["epoch"][position["step"] :]
        self._is(noted(face), wanted, f"golden {name}, from the position")
    print(f"golden {name}: went on", flush=True)


def main(folder: pathlib.Path) -> None:
  check = _Check(folder)
  saved = json.loads((folder / "cases.json").read_text())
  for name, run in saved["golden"].items():
    check.golden(name, run, saved["position"])
  for number, one in enumerate(saved["cases"]):
    check.case(number, one)
  print(
    f"{platform.machine()}: {len(saved['cases'])} cases; workers went on "
    f"{check.rests} times, with {check.batches} batches, and were refused "
    f"{check.refused} times; each sample came once in all {check.once} epochs that "
    f"promise it; {check.states} states saved here are those of x86-64"
  )
  if check.wrong:
    sys.exit(f"{len(check.wrong)} differ, the first one: {check.wrong[0]}")
  if not (check.once and check.states):
    sys.exit("these cases compare too little: take more")


if __name__ == "__main__":
  main(pathlib.Path(sys.argv[1]))
