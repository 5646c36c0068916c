"""A dataset that changes, beside a plain model of what it must hold."""

import copy
import dataclasses
import os
from typing import Any

import numpy as np
import photos
from absl.testing import absltest

import liquid_tf
from liquid_tf._store import columns, labels, names, versions
from liquid_tf._store import manifest as manifests
from liquid_tf._view import inspection


@dataclasses.dataclass
class Sample:
  """What a model knows of a sample."""

  name: str
  label: str
  split: str
  values: dict[str, Any] = dataclasses.field(default_factory=dict)


def images(folder: str, random, counts: dict[str, int], side: int = 16) -> list[str]:
  """Writes crops of photographs below class folders; returns their paths there.

  Args:
    folder: where; new. Names of images begin with its name, so two folders share none.
    random: a NumPy generator.
    counts: of images by class, or by "split/class".
    side: of each image.
  """
  paths, name = [], os.path.basename(folder)
  for below, count in counts.items():
    pixels = photos.photo(photos.COLOUR[hash_of(below) % len(photos.COLOUR)])
    for i in range(count):
      paths.append(f"{below}/{name}-{i:03}.png")
      crop = photos.crop(pixels, (side, side), random)
      photos.save(os.path.join(folder, paths[-1]), crop)
  return sorted(paths, key=os.fsencode)


def hash_of(text: str) -> int:
  """A number of a text, the same in every process."""
  return sum(text.encode())


def held(path: str, version: int | None = None) -> dict[int, Sample]:
  """What a version of a dataset holds, by sample number."""
  loaded = manifests.load(path, version)
  index = manifests.load_index(loaded)
  values, called = labels.load(loaded), names.load(loaded)
  more = {name: columns.load(loaded, name) for name in loaded["columns"]}
  splits = {entry["index"]: name for name, entry in loaded["splits"].items()}
  result = {}
  for row in index:
    number = int(row["sample"])
    label = None if values is None else loaded.classes[values[number]]
    result[number] = Sample(
      called[number],
      label,
      splits[int(row["split"])],
      {name: plain(column[number]) for name, column in more.items()},
    )
  return result


def plain(value: Any) -> Any:
  """A NumPy scalar as Python's; NaN as None, which equals itself."""
  value = value.item() if isinstance(value, np.generic) else value
  return None if value != value else value


class Living:
  """A dataset and its model.

  Args:
    test: whose assertions are made.
    root: an empty folder.
    mix: of the dataset.
    counts: as `images` takes them.
    **options: of `convert`.
  """

  def __init__(
    self,
    test: absltest.TestCase,
    root: str,
    mix: str,
    counts: dict[str, int],
    **options: Any,
  ):
    self.random = np.random.default_rng(7)
    self.path = f"{root}/dataset"
    self._test, self._root = test, root
    self._sources = 0
    self.samples: dict[int, Sample] = {}
    self.past: dict[int, dict[int, Sample]] = {}
    self.hashes: dict[int, int] = {}
    self.next = 0
    source, paths = self.source(counts)
    liquid_tf.convert(source, self.path, mix, progress=False, **options)
    self.add(paths)
    self.check(1)

  def source(self, counts: dict[str, int]) -> tuple[str, list[str]]:
    """A new folder of images, and the paths in it."""
    self._sources += 1
    folder = f"{self._root}/source{self._sources}"
    return folder, images(folder, self.random, counts)

  def add(self, paths: list[str], **values: Any) -> None:
    """Adds samples of paths to the model."""
    for path in paths:
      *split, label, _ = path.split("/")
      split = split[0] if split else "train"
      self.samples[self.next] = Sample(path, label, split, dict(values))
      self.next += 1

  def check(self, version: int) -> None:
    """Compares every version with the model, and reads every record of the newest."""
    self._test.assertEqual(versions.in_directory(self.path)[-1], version)
    self.past[version] = copy.deepcopy(self.samples)
    found = inspection.verify(self.path)
    self._test.assertEqual(found["problems"], [])
    self._test.assertEqual(found["samples"], len(self.samples))
    for number in versions.in_directory(self.path):
      self._test.assertEqual(held(self.path, number), self.past[number])
    loaded = manifests.load(self.path)
    self._test.assertEqual(loaded["next_sample"], self.next)
    copies = len(loaded["formats"]) if loaded["replicated"] else 1
    self._test.assertEqual(loaded["index"]["rows"], copies * len(self.samples))
    # A number means the same image for ever.
    for row in manifests.load_index(loaded):
      if row["format"] != manifests.FORMATS.index("pcr"):
        known = self.hashes.setdefault(int(row["sample"]), int(row["pixels_hash"]))
        self._test.assertEqual(known, row["pixels_hash"])

  def check_delivery(self) -> None:
    """Compares what an epoch delivers with the model."""
    view = liquid_tf.open(self.path)
    found = []
    for batch in liquid_tf.dataset(view, 8, features=["id"], memory="64MB"):
      found += batch["id"].numpy().tolist()
    self._test.assertEqual(sorted(found), sorted(self.samples))
