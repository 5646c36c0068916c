"""The loader gives what the dataset of tf.data gives, to the byte, of all arguments."""

import dataclasses
import itertools
import os
import shutil
import tempfile
from collections.abc import Callable
from typing import Any

import damaged
import faces
import numpy as np
import tensorflow as tf
from absl.testing import parameterized

import liquid_tf
from liquid_tf import transforms
from liquid_tf.codecs import Limits
from liquid_tf.graph import Tuning

_EPOCHS = 3
_CROP = [transforms.RandomCrop(20), transforms.Mirror()]


@dataclasses.dataclass(frozen=True)
class _Case:
  """Arguments for both faces.

  Attributes:
    kind: of the dataset.
    batch: samples in a batch.
    options: further ones.
    view: makes what is read of the opened dataset; None for its directory.
  """

  kind: str
  batch: int | None = 7
  options: dict[str, Any] = dataclasses.field(default_factory=dict)
  view: Callable[[Any], Any] | None = None


def _weighted(view):
  weights = np.where(view.numbers % 3 == 0, 3.0, 1.0)
  return view.weighted(weights.tolist(), samples_per_epoch=40)


def _shards() -> dict[str, _Case]:
  found = {}
  for policy, index in itertools.product(("pad", "drop", "uneven"), (0, 2)):
    options = {"shard": (index, 3), "shard_policy": policy, "cache": "30%"}
    found[f"shard_{policy}_{index}"] = _Case("formats", 4, options)
  return found


def _fidelity(epoch: int, batch: int) -> int:
  return 1 + (epoch + batch) % 10


_CASES = {
  "formats": _Case("formats", options={"cache": "40%"}),
  "no_cache": _Case("formats", options={"cache": 0}),
  "all_cached": _Case("formats", options={"cache": "100%"}),
  "bytes_cached": _Case("formats", options={"cache": "40KiB"}),
  "auto_cache": _Case("formats", 3),
  "pixels_cached": _Case(
    "formats", options={"cache": liquid_tf.Cache("50%", form="pixels")}
  ),
  "stored_order": _Case("formats", options={"shuffle": False}),
  "seed": _Case("formats", 1, {"seed": 2**64 - 1}),
  "split": _Case("formats", 5, {"split": "val"}),
  "slices": _Case("formats", 5, {"split": "train[:30%]+val"}),
  "drop": _Case("formats", options={"last_batch": "drop"}),
  "repeat": _Case("formats", options={"last_batch": "repeat"}),
  "start": _Case("formats", options={"start": (1, 3), "cache": "30%"}),
  "start_after_others": _Case(
    "formats",
    4,
    {"start": (1, [(3, 2), (2, 1)]), "cache": "30%", "shard": (1, 4)},
  ),
  "one_reader": _Case(
    "formats", options={"tuning": Tuning(threads=1, reader="buffered", parallelism=1)}
  ),
  **_shards(),
  "l3": _Case("unequal", options={"transforms": _CROP, "cache": "30%"}),
  "replicated": _Case("replicated", options={"cache": "20%"}),
  "another_mix": _Case("replicated", options={"mix": "png:3,raw:1"}),
  "mixes": _Case(
    "replicated", options={"mix": ["png", {"png": 1, "raw": 1}, "raw"], "cache": "30%"}
  ),
  "mixes_with_pcr": _Case(
    "pcr_and_raw", options={"mix": ["pcr:1,raw:1", "pcr"], "cache": "30%"}
  ),
  "pcr": _Case("pcr", options={"cache": "30%"}),
  "fidelity": _Case("pcr", options={"fidelity": 2}),
  "fidelity_by_batch": _Case("pcr", options={"fidelity": _fidelity, "cache": "30%"}),
  "shares": _Case(
    "only_pcr", 10, {"fidelity": {2: 0.25, 10: 0.75}, "cache": "40%", "seed": 5}
  ),
  "chosen": _Case("formats", view=lambda view: view.take(view.numbers[::2])),
  "weights": _Case("formats", options={"cache": "20%"}, view=_weighted),
  "weights_of_a_shard": _Case(
    "formats", options={"shard": (1, 3), "cache": 0}, view=_weighted
  ),
  "mixture": _Case(
    "formats",
    view=lambda view: liquid_tf.mixture([(view, 1), (view.take(view.numbers[:20]), 2)]),
  ),
  "ragged": _Case("unequal", options={"transforms": [transforms.Ragged()]}),
  "ragged_of_one_size": _Case("formats", options={"transforms": [transforms.Ragged()]}),
  "ragged_crops": _Case(
    "unequal",
    options={"transforms": [transforms.RandomResizedCrop(None), transforms.Ragged()]},
  ),
  "samples": _Case("unequal", None),
  "samples_channels_first": _Case(
    "unequal", None, {"transforms": [transforms.ChannelsFirst()]}
  ),
  "samples_of_one_size": _Case("formats", None, {"features": ["id", "image"]}),
  "recipe": _Case(
    "jpeg",
    options={
      "transforms": [
        transforms.Orient(),
        transforms.RandomResizedCrop(24, scale=(0.2, 1.0)),
        transforms.Mirror(),
        transforms.Flip(),
        transforms.Rotate(15.0),
        transforms.AutoAugment("imagenet"),
        transforms.ColorJitter(0.4, 0.4, p=0.8),
        transforms.Grayscale(0.3),
        transforms.GaussianBlur(),
        transforms.Solarize(),
        transforms.Normalize((1.0, 2.0, 3.0), (4.0, 5.0, 6.0)),
        transforms.RandomErasing(0.5, value="noise"),
        transforms.ChannelsFirst(),
        transforms.Seed(9),
      ]
    },
  ),
  "mixed": _Case(
    "jpeg",
    options={
      "transforms": [
        transforms.RandomResizedCrop(24),
        transforms.Normalize((1.0, 2.0, 3.0), (4.0, 5.0, 6.0)),
        transforms.RandomErasing(0.5),
        transforms.Mix(mode="elem"),
        transforms.Cast("bfloat16"),
      ],
      "features": ["image", "label", "partner", "lam"],
    },
  ),
  "smoothed_samples": _Case(
    "unequal", None, {"transforms": [transforms.Mix(mixup=0, cutmix=0)]}
  ),
  "draft": _Case(
    "jpeg", options={"transforms": [transforms.Resize((20, 20), draft=True)]}
  ),
  "bfloat16": _Case(
    "unequal", options={"transforms": [*_CROP, transforms.Cast("bfloat16")]}
  ),
  "float16": _Case(
    "unequal", options={"transforms": [*_CROP, transforms.Cast("float16")]}
  ),
  "features": _Case(
    "unequal",
    options={
      "features": [
        *("label", "id", "format", "bytes", "window", "mirrored", "size", "affine"),
        *("orientation", "example", "image"),
      ],
      "transforms": _CROP,
    },
  ),
  "nothing_decoded": _Case("unequal", options={"features": ["id", "bytes"]}),
  "limits": _Case("formats", options={"limits": Limits(pixels=1 << 12)}),
  "masks": _Case("masks", 3, {"transforms": _CROP}),
  "boxes": _Case(
    "boxes",
    options={
      "features": [transforms.Boxes(), "image"],
      "transforms": [transforms.RandomResizedCrop(32), transforms.Mirror()],
    },
  ),
  "boxes_padded": _Case(
    "boxes",
    options={
      "features": ["image", transforms.Boxes(pad=3, min_visible=0.2)],
      "transforms": [transforms.RandomResizedCrop(32), transforms.Mirror()],
    },
  ),
  "boxes_of_samples": _Case("boxes", None, {"features": ["id", transforms.Boxes()]}),
  "parsed": _Case(
    "boxes",
    options={
      "features": ["id", "boxes", "box_labels", "name", "depth", "vector", "counts"]
    },
  ),
  "parsed_samples": _Case("boxes", None, {"features": ["name", "depth", "vector"]}),
}


class FacesTest(parameterized.TestCase, tf.test.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.root = tempfile.mkdtemp()
    cls.addClassCleanup(shutil.rmtree, cls.root)
    cls.paths = {}

  def _path(self, kind: str) -> str:
    if kind not in self.paths:
      self.paths[kind] = faces.make(self.root, kind)
    return self.paths[kind]

  def _both(self, source: Any, batch: int | None, options: dict[str, Any]):
    """A dataset and a loader of the same arguments."""
    options = {"memory": "64MiB", **options}
    loader = liquid_tf.loader(source, batch, **options)
    self.addCleanup(loader.close)
    return liquid_tf.dataset(source, batch, **options), loader

  @parameterized.named_parameters((name, name) for name in _CASES)
  def test_both_give_the_same(self, name):
    case = _CASES[name]
    source = self._path(case.kind)
    if case.view is not None:
      source = case.view(liquid_tf.open(source).split("train"))
    dataset, loader = self._both(source, case.batch, case.options)
    self.assertLen(loader, len(dataset))
    for epoch in range(_EPOCHS):
      given, wanted = faces.batches(loader), faces.batches(dataset)
      self.assertNotEmpty(wanted)
      self.assertEqual(given, wanted, f"epoch {epoch}")
    mine, others = loader.stats.summary(), liquid_tf.stats(dataset).summary()
    same = ("epochs", "batches", "samples", "hits", "loads", "shard")
    self.assertEqual(*({key: one[key] for key in same} for one in (mine, others)))

  def test_both_keep_the_same_on_a_disk(self):
    path = self._path("unequal")
    cache = liquid_tf.Cache("20%", disk=self.root, disk_size="64MiB")
    options = {"cache": cache, "transforms": _CROP, "features": ["id", "image"]}
    dataset, loader = self._both(path, 7, options)
    for _ in range(_EPOCHS):
      self.assertEqual(faces.batches(loader), faces.batches(dataset))
    self.assertGreater(loader.stats.summary()["tier"]["read"]["records"], 0)

  @parameterized.parameters("formats", "replicated")
  def test_both_skip_the_same(self, kind):
    path = os.path.join(self.root, f"damaged_{kind}")
    shutil.copytree(self._path(kind), path)
    format_name = "raw"
    for sample in damaged.samples(path, format_name)[3:20:4]:
      damaged.flip(path, sample, format_name)
    options = {
      "on_error": "skip",
      "cache": "30%",
      "features": ["id", "format", "image"],
    }
    for more in ({}, {"last_batch": "drop"}, {"shard": (0, 2)}, {"shuffle": False}):
      dataset, loader = self._both(path, 4, options | more)
      for epoch in range(_EPOCHS):
        given, wanted = faces.batches(loader), faces.batches(dataset)
        self.assertEqual(given, wanted, f"{more}, epoch {epoch}")
      mine, others = loader.stats.summary(), liquid_tf.stats(dataset).summary()
      for key in ("skipped", "fallbacks"):
        self.assertEqual(mine[key]["count"], others[key]["count"])
      self.assertGreater(mine["skipped"]["count"] + mine["fallbacks"]["count"], 0)

  def test_a_mix_that_was_chosen_gives_the_same_again(self):
    path = self._path("replicated")
    options = {"memory": "64MiB", "cache": "30%", "features": ["id", "format", "image"]}
    with liquid_tf.loader(path, 7, mix="auto", **options) as loader:
      given = [faces.batches(loader) for _ in range(_EPOCHS)]
      mixes = loader.stats.mixes
    dataset = liquid_tf.dataset(path, 7, mix=mixes, **options)
    self.assertEqual(given, [faces.batches(dataset) for _ in range(_EPOCHS)])


if __name__ == "__main__":
  tf.test.main()
